import type { Environment } from '../store/environments.ts';
import type { Built } from './build.ts';
import type { Builds } from './builds.ts';
import { overlayIn, type Parts } from './parts.ts';
import type { Version } from './custom-rows.ts';

/** Longer sources are checked in a process of their own, because a megabyte of YAML takes two seconds. */
const LARGE_CHARS = 100_000;

type Checked = Pick<Built, 'connectorId' | 'columns' | 'unused'>;

interface MakeContext {
  readonly builds: Builds;
}

/** A source with its kind, and the id that it must have. */
interface SourceToMake extends Omit<Parts, 'overlay'> {
  id?: string;
}

/** Returns the version of a source with the overlay of the version before. */
export async function makeFromSource(
  context: MakeContext,
  environment: Environment,
  { id, before, ...given }: SourceToMake & { before: Version | undefined },
): Promise<Checked> {
  const overlay = overlayIn(before?.overlay ?? null);
  return makeFromParts(context, environment, { parts: { ...given, overlay }, id });
}

/** Returns the checked version of a source and an overlay. */
export async function makeFromParts(
  { builds }: MakeContext,
  environment: Environment,
  { parts, id }: { parts: Parts; id: string | undefined },
): Promise<Checked> {
  const { kind, source, overlay, isStored } = parts;
  const text = JSON.stringify(source);
  if (text.length > LARGE_CHARS) {
    const overlayText = overlay === undefined ? null : JSON.stringify(overlay);
    const task = { type: 'check', id, kind, source: text, overlay: overlayText, isStored } as const;
    return builds.run(environment, task);
  }
  const { columnsOf, requireDefinition } = await import('./custom-definition.ts');
  const made = requireDefinition(parts, id);
  return { connectorId: made.file.id, columns: columnsOf(made), unused: made.unused };
}
