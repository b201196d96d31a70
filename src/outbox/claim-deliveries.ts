import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { chunksOf, inTexts, perDatabase, runPrepared, textsFor } from '../store/prepared.ts';
import type { Tx } from '../store/schema.ts';
import type { Capacity, Usage } from './capacity.ts';
import { TIMING } from './delivery-timing.ts';
import { dueIds } from './due.ts';
import { readTargets, type DeliveryTarget } from './delivery-target.ts';

type ClaimContext = Pick<Base, 'db' | 'clock' | 'keys' | 'store' | 'log'>;

/** How far ahead the slots of a rate limit are assigned. */
const SLOTS_AHEAD_MS = 2 * SECOND;

/**
 * Returns when a rate-limit slot opens. A slot further ahead than SLOTS_AHEAD_MS and the margin means that the clock was
 * set back; it counts as open.
 */
export function slotAt(at: number, now: number): number {
  return at > now + SLOTS_AHEAD_MS + TIMING.marginMs ? now : Math.max(at, now);
}

/** A delivery that this process has leased. */
export interface Item {
  deliveryId: string;
  sequence: number;
  scope: string;
  event: string;
  body: string;
  /** Extra headers, as JSON. */
  marks: string | null;
  attempts: number;
  step: number;
  /** Lease token: identifies the process that holds the lease. */
  token: string;
  /** Lease expiry, epoch ms. */
  until: number;
  /** Earliest start, epoch ms: the rate-limit slot of the delivery. */
  notBefore: number;
  /** Usage of the delivery's owner. */
  usage: Usage;
}

export interface Claim {
  target: DeliveryTarget;
  items: Item[];
  /** Whether the store may have more due deliveries. */
  more: boolean;
}

/** A subscription and the maximum of deliveries to claim for it. */
interface ClaimRequest {
  subscriptionId: string;
  limit: number;
}

/** Returns the claims to make. `limitFor` limits each subscription, `remaining` limits all of them together. */
export function claimRequests(
  subscriptionIds: readonly string[],
  limitFor: (subscriptionId: string) => number,
  remaining: number,
): ClaimRequest[] {
  const requests: ClaimRequest[] = [];
  for (const subscriptionId of subscriptionIds) {
    const limit = Math.min(limitFor(subscriptionId), remaining);
    if (limit <= 0) continue;
    requests.push({ subscriptionId, limit });
    remaining -= limit;
  }
  return requests;
}

/**
 * Leases due deliveries for `leaseMs` in one transaction: up to `limit` of each subscription, as far as their bodies fit
 * into `capacity`. `token` identifies the process that leases them.
 */
export async function claim(
  context: ClaimContext,
  { token, leaseMs, capacity }: { token: string; leaseMs: number; capacity: Capacity },
  requests: readonly ClaimRequest[],
): Promise<Claim[]> {
  if (requests.length === 0) return [];
  return context.db.transaction().execute(async (tx) => {
    const ids = requests.map(({ subscriptionId }) => subscriptionId);
    const read = await readTargets(tx, context, ids);
    const targets = new Map(read.map((target) => [target.subscriptionId, target]));
    const claims: Claim[] = [];
    const soFar = { items: 0, chars: 0 };
    for (const { subscriptionId, limit } of requests.toSorted(byId)) {
      const target = targets.get(subscriptionId);
      if (!target?.active || target.holdUntil > context.clock.now()) continue;
      const usage = capacity.usageOf(target.owner);
      // Counts all deliveries claimed here as this owner's, because Queues.add() updates the usage only later.
      const most = Math.min(limit, capacity.free('queued') - usage.queued - 2 * soFar.items);
      const chars = capacity.free('chars') - usage.chars - 2 * soFar.chars;
      if (most <= 0 || chars <= 0) continue;
      const request = { target, token, leaseMs, limit: most, usage, chars };
      const { taken, more } = await takeDue(tx, context, request);
      soFar.items += taken.length;
      for (const { body } of taken) soFar.chars += body.length;
      if (taken.length > 0) claims.push({ target, items: taken, more });
    }
    return claims;
  });
}

/**
 * Returns the claims without deliveries that this process holds already. A process that paused past its own lease may
 * claim a delivery twice; the first copy continues, with the new lease. Reads `held` once for all claims.
 */
export function withoutHeld(held: Iterable<Item>, claims: readonly Claim[]): Claim[] {
  const claimed = new Map(claims.flatMap(({ items }) => items.map((item) => [item.deliveryId, item])));
  for (const mine of held) {
    const newer = claimed.get(mine.deliveryId);
    if (!newer) continue;
    mine.until = newer.until;
    // Another process may have attempted it in between, and used the attempt number that this copy would use.
    mine.attempts = newer.attempts;
    mine.step = newer.step;
    claimed.delete(mine.deliveryId);
  }
  return claims.map((one) => ({ ...one, items: one.items.filter((item) => claimed.has(item.deliveryId)) }));
}

interface TakeRequest {
  target: Pick<DeliveryTarget, 'subscriptionId' | 'ordered' | 'ratePerSecond'>;
  token: string;
  leaseMs: number;
  limit: number;
  usage: Usage;
  chars: number;
}

/**
 * Leases due deliveries of one subscription within its order and rate. Their bodies have at most `chars` bytes together;
 * the first one may be larger.
 */
async function takeDue(
  tx: Tx,
  context: ClaimContext,
  { target, token, leaseMs, limit, usage, chars }: TakeRequest,
): Promise<{ taken: Item[]; more: boolean }> {
  const now = context.clock.now();
  let slot = now;
  let most = limit;
  const paced = target.ordered || target.ratePerSecond !== null;
  if (paced) {
    // The row lock makes slots and order exclusive: other processes wait until this transaction ends.
    let query = tx
      .selectFrom('subscriptions')
      .select('next_slot_at')
      .where('subscription_id', '=', target.subscriptionId);
    if (context.store.kind === 'postgres') query = query.forUpdate();
    const row = await query.executeTakeFirst();
    slot = slotAt(row?.next_slot_at ?? now, now);
  }
  if (target.ratePerSecond !== null) {
    const open = Math.floor(((now + SLOTS_AHEAD_MS - slot) / SECOND) * target.ratePerSecond);
    most = Math.min(limit, Math.max(open, slot <= now ? 1 : 0));
    if (most <= 0) return { taken: [], more: false };
  }
  const due = await dueIds(tx, context, { target, limit: most, now });
  if (due.length === 0) return { taken: [], more: false };
  const ids = due.length === 1 ? due : await fitting(tx, context, { ids: due, chars });
  const until = now + leaseMs;
  const idTexts = textsFor(context.db, ids);
  await runPrepared(tx, lease(context.db), [token, until, now, idTexts]);
  const intervalMs = target.ratePerSecond === null ? 0 : SECOND / target.ratePerSecond;
  if (intervalMs > 0) {
    await tx
      .updateTable('subscriptions')
      .set({ next_slot_at: Math.ceil(slot + ids.length * intervalMs) })
      .where('subscription_id', '=', target.subscriptionId)
      .execute();
  }
  const { rows } = await runPrepared(tx, storedItems(context.db), [idTexts]);
  const taken = rows.map((row, position) => ({
    deliveryId: row.delivery_id,
    sequence: row.sequence,
    scope: row.scope,
    event: row.event,
    body: row.body,
    marks: row.marks,
    attempts: row.attempts,
    step: row.step,
    token,
    until,
    notBefore: intervalMs > 0 ? slot + position * intervalMs : now,
    usage,
  }));
  return { taken, more: due.length === most || ids.length < due.length };
}

/** Returns the first ids whose bodies have at most `chars` bytes together; at least one id. */
async function fitting(
  tx: Tx,
  { db }: Pick<Base, 'db'>,
  { ids, chars }: { ids: readonly string[]; chars: number },
): Promise<string[]> {
  const { rows } = await runPrepared(tx, bodySizes(db), [textsFor(db, ids)]);
  const sizes = new Map(rows.map((row) => [row.delivery_id, row.size]));
  let sum = 0;
  const tooMuch = ids.findIndex((id) => (sum += sizes.get(id) ?? 0) > chars);
  return ids.slice(0, tooMuch === -1 ? ids.length : Math.max(1, tooMuch));
}

const lease = perDatabase((db) =>
  db
    .updateTable('deliveries')
    .set({ lease_token: '', next_at: 0, updated_at: 0 })
    .where('delivery_id', 'in', inTexts(db))
    .compile(),
);
const bodySizes = perDatabase((db) =>
  db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    // Size in bytes, because neither database reads the text for it.
    .select(['deliveries.delivery_id', sql<number>`octet_length(events.body)`.as('size')])
    .where('deliveries.delivery_id', 'in', inTexts(db))
    .compile(),
);
const storedItems = perDatabase((db) =>
  db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .select([
      'deliveries.delivery_id',
      'deliveries.sequence',
      'deliveries.marks',
      'deliveries.attempts',
      'deliveries.step',
      'events.scope',
      'events.event',
      'events.body',
    ])
    .where('deliveries.delivery_id', 'in', inTexts(db))
    .orderBy('deliveries.sequence')
    .compile(),
);

/** Releases the leases of deliveries without an attempt. They are due at once. */
export async function release(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  token: string,
  deliveryIds: readonly string[],
): Promise<void> {
  const now = clock.now();
  for (const chunk of chunksOf(deliveryIds)) {
    await db
      .updateTable('deliveries')
      .set({ lease_token: null, offered: 0, next_at: now, updated_at: now })
      .where('delivery_id', 'in', chunk)
      .where('lease_token', '=', token)
      .where('status', '=', 'waiting')
      .execute();
  }
}

function byId(a: { subscriptionId: string }, b: { subscriptionId: string }): number {
  return a.subscriptionId < b.subscriptionId ? -1 : 1;
}
