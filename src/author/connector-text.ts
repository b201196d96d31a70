import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { Written } from '../openapi/context.ts';

/* The text of an imported connector file: a head of comments that describes the import, and the definition. */

/** Longer definitions are JSON, which is YAML too and is read a hundred times faster. */
const MAX_YAML = 100_000;
const HEAD = '# import: ';

const note = z.strictObject({
  /** Name of the imported document. */
  document: z.string(),
  include: z.strictObject({
    tags: z.array(z.string()).readonly().optional(),
    paths: z.array(z.string()).readonly().optional(),
    methods: z.array(z.string()).readonly().optional(),
  }),
  /** SHA-256 of the definition's text, which shows changes by hand. */
  digest: z.string(),
});
export type ImportNote = z.infer<typeof note>;

/** Returns the text of a connector file. */
export function connectorText(written: Written, { document, include }: Omit<ImportNote, 'digest'>): string {
  const json = JSON.stringify(written);
  const body =
    json.length > MAX_YAML
      ? `${JSON.stringify(written, null, 1)}\n`
      : stringify(written, { aliasDuplicateObjects: false, lineWidth: 110 });
  const facts: ImportNote = { document, include, digest: digestOf(body) };
  return [
    '# Written by `gatehouse connectors import`. Put your changes into overlay.yaml, because the next import replaces',
    '# this file.',
    HEAD + JSON.stringify(facts),
    body,
  ].join('\n');
}

/**
 * Returns the facts of an import from the text that connectorText() wrote, and whether the definition is unchanged;
 * undefined for any other text.
 */
export function readNote(text: string): { note: ImportNote; isUnchanged: boolean } | undefined {
  const at = text.indexOf(HEAD);
  const end = text.indexOf('\n', at);
  if (
    at < 0 ||
    end < 0 ||
    !text
      .slice(0, at)
      .split('\n')
      .every((line) => line === '' || line.startsWith('#'))
  )
    return undefined;
  try {
    const parsed = note.safeParse(JSON.parse(text.slice(at + HEAD.length, end)));
    if (!parsed.success) return undefined;
    return { note: parsed.data, isUnchanged: digestOf(text.slice(end + 1)) === parsed.data.digest };
  } catch {
    return undefined;
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
