import type { Updateable } from 'kysely';
import { z } from 'zod';
import type { Base } from '../../base.ts';
import { hashToken } from '../../crypto/tokens.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Tables } from '../../store/schema.ts';
import type { Source } from '../source.ts';
import { boundTo } from '../../store/sealed-columns.ts';

/** Result of registering at an app: the token of our address, the secret, and the registration ids. */
export type Hook = z.infer<typeof hook>;

const hook = z.object({
  token: z.string(),
  secret: z.string(),
  /** Registration id at the app by topic; `*` when one serves all topics. */
  ids: z.record(z.string(), z.string()),
  /** Topics that were registered last. */
  topics: z.array(z.string()),
  /** Facts of registrations, by registration id. */
  facts: z
    .record(
      z.string(),
      z.object({
        /** Time of the registration and of its expiry, epoch ms; undefined when it does not expire. */
        lifetime: z.object({ from: z.number(), until: z.number() }).optional(),
        /** Further values of the app's answer. */
        kept: z.record(z.string(), z.string()),
      }),
    )
    .optional(),
  /** True when the operator was notified that a renewal failed. */
  isTroubled: z.boolean().optional(),
});

/** Facts of a registration at the app. */
export type HookFacts = NonNullable<Hook['facts']>[string];

export function openHook(
  { keys }: Pick<Base, 'keys'>,
  { sourceId, hookSealed }: Pick<Source, 'sourceId' | 'hookSealed'>,
): Hook | undefined {
  return hookSealed === null ? undefined : keys.openJson(hook, hookSealed, binding(sourceId));
}

/**
 * Stores the result of a registration, with the hash that finds it. It replaces only the value that `source`
 * was read with. A job that began before an account switch therefore writes nothing.
 * @throws GatehouseError `unavailable` when another value is stored by now.
 */
export async function saveHook(
  { db, clock, keys, hashKey }: Pick<Base, 'db' | 'clock' | 'keys' | 'hashKey'>,
  source: Source,
  { value, more = {} }: { value: Hook; more?: Updateable<Tables['sources']> | undefined },
): Promise<void> {
  const sealed = keys.sealJson(value, binding(source.sourceId));
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
    throw new GatehouseError(
      'unavailable',
      'Another process changed the webhook registrations of this source.',
    );
  source.hookSealed = sealed;
}

/**
 * Returns the path for an app's webhooks below our public address. It is unguessable, and each source has its
 * own.
 */
export function hookPath(connectorId: string, token: string): string {
  return `/hooks/${connectorId}/${token}`;
}

function binding(sourceId: string): string {
  return boundTo('sources.hook_sealed', { source_id: sourceId });
}
