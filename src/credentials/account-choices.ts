import { z } from 'zod';
import type { Connector } from '../connectors/catalog.ts';
import type { OAuth } from '../connectors/format/format.ts';
import { GatehouseError } from '../lib/errors.ts';
import { withoutHidden } from '../lib/hidden-characters.ts';
import { valueAt, type Json } from '../lib/json.ts';
import { accountOf, captureValues, type CaptureSource } from './oauth-capture.ts';

/** One of the accounts that a consent reaches, with the values that a credential for it stores. */
export const accountChoice = z.object({
  accountId: z.string(),
  label: z.string(),
  detail: z.string().optional(),
  captured: z.record(z.string(), z.string()),
  account: z.object({ id: z.string(), name: z.string().optional() }).optional(),
});
export type AccountChoice = z.infer<typeof accountChoice>;

/** A person cannot choose among more, and the sealed choices stay small. */
const MAX_CHOICES = 500;
const MAX_CHARS = 200;

/**
 * Returns the accounts that a consent reaches, in the app's order, each id once: some apps list an account for each
 * product. Leaves out entries without an id or a required value.
 * @throws GatehouseError `upstream_failed` when every entry is left out, as captureValues() of the first.
 */
export function choicesOf(connector: Connector, scheme: OAuth, source: CaptureSource): AccountChoice[] {
  const found = new Map<string, AccountChoice>();
  let fault: GatehouseError | undefined;
  for (const entry of entriesOf(source.lookup ?? null)) {
    if (found.size === MAX_CHOICES) break;
    const read = choiceOf(connector, scheme, { ...source, lookup: entry });
    if (read instanceof GatehouseError) fault ??= read;
    else if (!found.has(read.accountId)) found.set(read.accountId, read);
  }
  if (found.size === 0 && fault) throw fault;
  return [...found.values()];
}

/** Returns the entries of a list. JSONata gives a list of one as its entry, and an empty one as null. */
function entriesOf(value: Json): Json[] {
  if (value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function choiceOf(
  connector: Connector,
  scheme: OAuth,
  source: CaptureSource & { lookup: Json },
): AccountChoice | GatehouseError {
  const { id, label, detail } = scheme.lookup?.choose ?? { id: '', label: '' };
  const accountId = textAt(source.lookup, id);
  if (accountId === undefined || accountId.length > MAX_CHARS) return withoutId(connector, id);
  const about = detail === undefined ? undefined : shown(textAt(source.lookup, detail));
  try {
    const account = accountOf(scheme, source);
    return {
      accountId,
      label: shown(textAt(source.lookup, label)) ?? accountId,
      ...(about === undefined ? {} : { detail: about }),
      captured: captureValues(connector, scheme, { source, complete: true }),
      ...(account ? { account } : {}),
    };
  } catch (error) {
    if (error instanceof GatehouseError) return error;
    throw error;
  }
}

function withoutId({ connectorId, name }: Connector, path: string): GatehouseError {
  return new GatehouseError(
    'upstream_failed',
    `${name} granted access, but to accounts without a usable id. Look at lookup.choose.id of its connector file (${path}).`,
    { details: { connectorId, reason: 'lookup' } },
  );
}

function textAt(value: Json, path: string): string | undefined {
  const found = valueAt(value, path);
  if (typeof found === 'number') return String(found);
  return typeof found === 'string' && found.trim() !== '' ? found : undefined;
}

/** Returns a name as a person sees it: hidden characters could make it look like another account's. */
function shown(text: string | undefined): string | undefined {
  return text === undefined ? undefined : withoutHidden(text.trim()).slice(0, MAX_CHARS).toWellFormed();
}
