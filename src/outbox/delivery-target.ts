import type { Selectable } from 'kysely';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { memoByObject } from '../lib/memo.ts';
import { inTexts, perDatabase, runPrepared, textsFor } from '../store/prepared.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { signingKey, type SigningKey } from './signature.ts';
import { boundTo } from '../store/sealed-columns.ts';

export type SubscriptionRow = Selectable<Tables['subscriptions']>;

const eventsText = z.array(z.string());

/** Returns the event types in the column `events` of a subscription, or of a workflow installation. */
export function eventsIn(text: string): string[] {
  return eventsText.parse(JSON.parse(text));
}

/** A subscription with opened secrets and headers, ready to send to. */
export interface DeliveryTarget {
  subscriptionId: string;
  environment: Environment;
  /** User id, or the environment for its own events. Owners share the capacity of this process fairly. */
  owner: string;
  active: boolean;
  address: string;
  scope: string;
  /** Connection that the subscription listens to; null for events of the environment itself. */
  connectionId: string | null;
  /** Headers that the subscriber set. */
  headers: Readonly<Record<string, string>>;
  /** The signing key, then the replaced ones. */
  keys: readonly SigningKey[];
  /** Texts that must never be logged: the secrets, and the values of the headers. */
  secrets: readonly string[];
  /** Whether deliveries are sent one at a time, in order. */
  ordered: boolean;
  ratePerSecond: number | null;
  /** End of the pause that the receiver asked for, epoch ms; 0 without one. */
  holdUntil: number;
}

export const headersShape = z.record(z.string(), z.string());
const previousShape = z.array(z.strictObject({ secret: z.string(), until: z.number() }));

/** A replaced secret. It signs next to the new one until `until` (epoch milliseconds). */
export type PreviousSecret = z.infer<typeof previousShape>[number];

/** Returns the additional data that binds a sealed text of a subscription to its row. */
export function sealBinding(subscriptionId: string, part: 'secret' | 'previous' | 'headers'): string {
  const column = (
    { secret: 'secret_sealed', previous: 'previous_secrets_sealed', headers: 'headers_sealed' } as const
  )[part];
  return boundTo(`subscriptions.${column}`, { subscription_id: subscriptionId });
}

/** Opened secrets and headers, cached by subscription until the sealed text changes. Opening costs 35 µs each. */
const MAX_OPENED = 10_000;
const openedWith = memoByObject(
  (_keys: Base['keys']) =>
    new LRUCache<string, { row: SubscriptionRow; target: DeliveryTarget }>({ max: MAX_OPENED }),
);

/**
 * Returns the target of a subscription row, with its secrets and headers opened.
 * @throws KeyError when the row was altered or moved.
 */
export function toTarget({ keys }: Pick<Base, 'keys'>, row: SubscriptionRow): DeliveryTarget {
  const opened = openedWith(keys);
  const known = opened.get(row.subscription_id);
  const unsealed = known && hasSameSeals(known.row, row) ? known.target : unseal({ keys }, row);
  const target: DeliveryTarget = {
    subscriptionId: row.subscription_id,
    environment: row.environment,
    owner: row.user_id ?? row.environment,
    active: row.status === 'active',
    address: row.address,
    scope: row.scope,
    connectionId: row.credential_id,
    headers: unsealed.headers,
    keys: unsealed.keys,
    secrets: unsealed.secrets,
    ordered: row.ordered === 1,
    ratePerSecond: row.rate_per_second,
    holdUntil: row.hold_until ?? 0,
  };
  if (unsealed !== known?.target) opened.set(row.subscription_id, { row, target });
  return target;
}

function hasSameSeals(a: SubscriptionRow, b: SubscriptionRow): boolean {
  return (
    a.secret_sealed === b.secret_sealed &&
    a.previous_secrets_sealed === b.previous_secrets_sealed &&
    a.headers_sealed === b.headers_sealed
  );
}

function unseal(
  { keys }: Pick<Base, 'keys'>,
  row: SubscriptionRow,
): Pick<DeliveryTarget, 'headers' | 'keys' | 'secrets'> {
  const id = row.subscription_id;
  const secrets = [
    { secret: keys.open(row.secret_sealed, sealBinding(id, 'secret')), until: Infinity },
    ...previousSecrets({ keys }, row),
  ];
  const headers =
    row.headers_sealed === null
      ? {}
      : keys.openJson(headersShape, row.headers_sealed, sealBinding(id, 'headers'));
  return {
    headers,
    keys: secrets.map(({ secret, until }) => ({ key: signingKey(secret), until })),
    secrets: [...secrets.map(({ secret }) => secret), ...Object.values(headers)],
  };
}

/** Returns the replaced secrets, newest first. Some may have expired. */
export function previousSecrets({ keys }: Pick<Base, 'keys'>, row: SubscriptionRow): PreviousSecret[] {
  if (row.previous_secrets_sealed === null) return [];
  const bound = sealBinding(row.subscription_id, 'previous');
  return keys.openJson(previousShape, row.previous_secrets_sealed, bound);
}

const subscriptionsIn = perDatabase((db) =>
  db.selectFrom('subscriptions').selectAll().where('subscription_id', 'in', inTexts(db)).compile(),
);

/**
 * Returns the current targets of subscriptions. Omits deleted ones. Also omits and logs those that targetOf() cannot
 * open.
 */
export async function readTargets(
  db: DbOrTx,
  context: Pick<Base, 'db' | 'keys' | 'log'>,
  subscriptionIds: readonly string[],
): Promise<DeliveryTarget[]> {
  if (subscriptionIds.length === 0) return [];
  const ids = textsFor(context.db, subscriptionIds);
  const { rows } = await runPrepared(db, subscriptionsIn(context.db), [ids]);
  return rows.map((row) => targetOf(context, row)).filter((target) => target !== undefined);
}

/** Returns the target of a row. If it cannot be opened, logs that and returns undefined, so that others are not stopped. */
export function targetOf(
  context: Pick<Base, 'keys' | 'log'>,
  row: SubscriptionRow,
): DeliveryTarget | undefined {
  try {
    return toTarget(context, row);
  } catch (error) {
    context.log.error({ err: error, subscriptionId: row.subscription_id }, 'subscription not opened');
    return undefined;
  }
}
