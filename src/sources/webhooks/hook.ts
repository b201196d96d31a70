import type { Updateable } from 'kysely';
import { z } from 'zod';
import type { Context } from '../../context.ts';
import { hashToken } from '../../crypto/tokens.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Tables } from '../../store/schema.ts';
import type { Source } from '../source.ts';

/** What registering at an app left: the token of our address there, the secret, and the ids of the registrations. */
export interface Hook {
  token: string;
  secret: string;
  /** Registration id at the app by topic; `*` when one serves all. */
  ids: Record<string, string>;
  /** What was registered last; of earlier releases it is not known. */
  topics?: string[] | undefined;
}

const hook = z.object({
  token: z.string(),
  secret: z.string(),
  ids: z.record(z.string(), z.string()),
  topics: z.array(z.string()).optional(),
});

export function openHook(
  { keys }: Pick<Context, 'keys'>,
  { sourceId, hookSealed }: Pick<Source, 'sourceId' | 'hookSealed'>,
): Hook | undefined {
  return hookSealed === null ? undefined : hook.parse(JSON.parse(keys.open(hookSealed, binding(sourceId))));
}

/**
 * Stores what a registration left, with the hash that leads to it. Only in place of what `source` was read with, so that
 * who began before the source was listened to anew writes nothing into it.
 * @throws GatehouseError `unavailable` when something else is stored by now.
 */
export async function saveHook(
  { db, clock, keys, hashKey }: Pick<Context, 'db' | 'clock' | 'keys' | 'hashKey'>,
  source: Source,
  value: Hook,
  more: Updateable<Tables['sources']> = {},
): Promise<void> {
  const sealed = keys.seal(JSON.stringify(value), binding(source.sourceId));
  const { numUpdatedRows } = await db
    .updateTable('sources')
    .set({
      hook_hash: hashToken(hashKey, value.token),
      hook_sealed: sealed,
      updated_at: clock.now(),
      ...more,
    })
    .where('source_id', '=', source.sourceId)
    .where('hook_sealed', 'is not distinct from', source.hookSealed)
    .executeTakeFirst();
  if (numUpdatedRows === 0n)
    throw new GatehouseError('unavailable', 'The webhooks of this source were begun anew meanwhile.');
  source.hookSealed = sealed;
}

/** Where an app sends its webhooks, below our public address: unguessable, and one for each source. */
export function hookPath(connectorId: string, token: string): string {
  return `/hooks/${connectorId}/${token}`;
}

function binding(sourceId: string): string {
  return `source|${sourceId}`;
}
