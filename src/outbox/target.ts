import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { inTexts, perDatabase, runKept, textsFor } from '../store/kept.ts';
import type { DbOrTx, Environment, Tables } from '../store/schema.ts';
import { signingKey, type SigningKey } from './signature.ts';

export type SubscriptionRow = Selectable<Tables['subscriptions']>;

/** Where deliveries of a subscription go, opened and ready to send. */
export interface Target {
  subscriptionId: string;
  environment: Environment;
  /** A user, or the environment: who shares this process fairly with others. */
  owner: string;
  active: boolean;
  address: string;
  scope: string;
  /** The connection it listens to; null for events of the environment itself. */
  connectionId: string | null;
  /** Headers that the subscriber wants. */
  headers: Readonly<Record<string, string>>;
  /** The signing key, and the one before it. */
  keys: readonly SigningKey[];
  /** What must never be in a log: the secrets, and the values of the headers. */
  secrets: readonly string[];
  /** One at a time, in order. */
  ordered: boolean;
  ratePerSecond: number | null;
  /** It asked for nothing at all until then. */
  holdUntil: number;
}

const headersText = z.record(z.string(), z.string());
const previousText = z.array(z.strictObject({ secret: z.string(), until: z.number() }));

/** A secret that was replaced signs beside the new one until then (epoch milliseconds). */
export type PreviousSecret = z.infer<typeof previousText>[number];

/** What binds a sealed text of a subscription to its row. */
export function sealBinding(subscriptionId: string, part: 'secret' | 'previous' | 'headers'): string {
  return `subscription|${subscriptionId}|${part}`;
}

/** Opened boxes cost 35 µs each and change hardly ever; kept per row as it was sealed. */
const opened = new WeakMap<Context['keys'], Map<string, { row: SubscriptionRow; target: Target }>>();
const MAX_OPENED = 10_000;

/** @throws KeyError when the row was altered or moved. */
export function toTarget({ keys }: Pick<Context, 'keys'>, row: SubscriptionRow): Target {
  let kept = opened.get(keys);
  if (!kept) opened.set(keys, (kept = new Map()));
  const known = kept.get(row.subscription_id);
  const boxes = known && isSealedAlike(known.row, row) ? known.target : openBoxes({ keys }, row);
  const target: Target = {
    subscriptionId: row.subscription_id,
    environment: row.environment,
    owner: row.user_id ?? row.environment,
    active: row.status === 'active',
    address: row.address,
    scope: row.scope,
    connectionId: row.credential_id,
    headers: boxes.headers,
    keys: boxes.keys,
    secrets: boxes.secrets,
    ordered: row.ordered === 1,
    ratePerSecond: row.rate_per_second,
    holdUntil: row.hold_until ?? 0,
  };
  if (boxes !== known?.target) {
    if (kept.size >= MAX_OPENED) kept.delete(kept.keys().next().value ?? '');
    kept.set(row.subscription_id, { row, target });
  }
  return target;
}

function isSealedAlike(a: SubscriptionRow, b: SubscriptionRow): boolean {
  return (
    a.secret_sealed === b.secret_sealed &&
    a.previous_secrets_sealed === b.previous_secrets_sealed &&
    a.headers_sealed === b.headers_sealed
  );
}

function openBoxes(
  { keys }: Pick<Context, 'keys'>,
  row: SubscriptionRow,
): Pick<Target, 'headers' | 'keys' | 'secrets'> {
  const id = row.subscription_id;
  const secrets = [
    { secret: keys.open(row.secret_sealed, sealBinding(id, 'secret')), until: Infinity },
    ...previousSecrets({ keys }, row),
  ];
  const headers =
    row.headers_sealed === null
      ? {}
      : headersText.parse(JSON.parse(keys.open(row.headers_sealed, sealBinding(id, 'headers'))));
  return {
    headers,
    keys: secrets.map(({ secret, until }) => ({ key: signingKey(secret), until })),
    secrets: [...secrets.map(({ secret }) => secret), ...Object.values(headers)],
  };
}

/** Newest first; their time may be over. */
export function previousSecrets({ keys }: Pick<Context, 'keys'>, row: SubscriptionRow): PreviousSecret[] {
  if (row.previous_secrets_sealed === null) return [];
  const text = keys.open(row.previous_secrets_sealed, sealBinding(row.subscription_id, 'previous'));
  return previousText.parse(JSON.parse(text));
}

const subscriptionsIn = perDatabase((db) =>
  db.selectFrom('subscriptions').selectAll().where('subscription_id', 'in', inTexts(db)).compile(),
);

/**
 * Targets of subscriptions as they are now. One that is gone is not among them, nor is one whose boxes do not open: it stops
 * nobody else, and is logged.
 */
export async function readTargets(
  db: DbOrTx,
  context: Pick<Context, 'db' | 'keys' | 'log'>,
  subscriptionIds: readonly string[],
): Promise<Target[]> {
  if (subscriptionIds.length === 0) return [];
  const ids = textsFor(context.db, subscriptionIds);
  const { rows } = await runKept(db, subscriptionsIn(context.db), [ids]);
  return rows.map((row) => targetOf(context, row)).filter((target) => target !== undefined);
}

/** Undefined, and logged, where a box does not open: one subscription must not stop the others. */
export function targetOf(context: Pick<Context, 'keys' | 'log'>, row: SubscriptionRow): Target | undefined {
  try {
    return toTarget(context, row);
  } catch (error) {
    context.log.error({ err: error, subscriptionId: row.subscription_id }, 'subscription not opened');
    return undefined;
  }
}
