import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { afterCursor, cutPage, MAX_OFFSET, type ListOrder, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { IS_HANDED_OFF, WAITS } from './due.ts';

const ORDER: ListOrder = {
  columns: { sequence: 'whole' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

const DELIVERY_ID = /^msg_[0-9A-Za-z]{22}$/;

export function isDeliveryId(text: string): boolean {
  return DELIVERY_ID.test(text);
}

export function deliveryNotFound(deliveryId: string): GatehouseError {
  return new GatehouseError(
    'delivery_not_found',
    `This subscription has no delivery "${deliveryId.slice(0, 64)}".`,
  );
}

/** A first attempt that succeeded, as stored in `deliveries.first_attempt`. Times are in milliseconds. */
export type FirstAttempt = z.infer<typeof firstAttemptText>;

const firstAttemptText = z.strictObject({
  at: z.number(),
  durationMs: z.number(),
  status: z.number().nullable(),
  /** The beginning of the answer, without secrets. */
  excerpt: z.string().nullable(),
});

export interface DeliveryFilter extends PageRequest {
  subscriptionId: string;
  status?: Tables['deliveries']['status'] | undefined;
  /** Only this delivery, if the subscription has it. */
  deliveryId?: string | undefined;
}

/**
 * Returns a page of the deliveries of a subscription with their attempts, newest first.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000, an invalid cursor, or both at once.
 */
export async function listDeliveries(db: DbOrTx, filter: DeliveryFilter) {
  const found = await newestOf(db, filter)
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .selectAll('deliveries')
    .select(['events.event', 'events.scope', 'events.record_id'])
    .orderBy('deliveries.sequence', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
  const { rows: page, ...end } = cutPage(ORDER, filter, found);
  const ids = page.map((row) => row.delivery_id);
  const attempts = Map.groupBy(await attemptsOf(db, ids), (attempt) => attempt.delivery_id);
  return {
    deliveries: page.map((row) => describeDelivery(row, attempts.get(row.delivery_id) ?? [])),
    ...end,
  };
}

/** Selects the newest deliveries, up to the last one that the page may show. */
function newestOf(db: DbOrTx, { subscriptionId, status, deliveryId, ...page }: DeliveryFilter) {
  const all = db
    .selectFrom('deliveries')
    .where('subscription_id', '=', subscriptionId)
    .$if(deliveryId !== undefined, (query) => query.where('delivery_id', '=', storedId(deliveryId)))
    .where(afterCursor(ORDER, page));
  const newest = all
    .selectAll()
    .orderBy('sequence', 'desc')
    .limit(page.offset + page.limit + 1);
  if (status === undefined) return db.selectFrom(newest.as('deliveries'));
  // A literal, so that the planner matches the partial indexes.
  if (status !== 'waiting')
    return db.selectFrom(newest.where('deliveries.status', '=', sql.lit(status)).as('deliveries'));
  const waiting = db.selectFrom(newest.where(WAITS).as('waiting')).selectAll();
  // Handoffs are few and have their own index. A sort in this query would make the planner use another index.
  const handedOff = db
    .selectFrom('deliveries')
    .selectAll()
    .where('delivery_id', 'in', all.select('delivery_id').where(IS_HANDED_OFF));
  return db.selectFrom(waiting.unionAll(handedOff).as('deliveries'));
}

/** Returns an id that the store accepts; an empty one, which no delivery has, for any other text. */
function storedId(deliveryId = ''): string {
  return isDeliveryId(deliveryId) ? deliveryId : '';
}

async function attemptsOf(db: DbOrTx, ids: string[]): Promise<Selectable<Tables['delivery_attempts']>[]> {
  if (ids.length === 0) return [];
  return db
    .selectFrom('delivery_attempts')
    .selectAll()
    .where('delivery_id', 'in', ids)
    .orderBy('number')
    .execute();
}

function describeDelivery(
  row: Selectable<Tables['deliveries']> & { event: string; scope: string; record_id: string },
  attempts: Selectable<Tables['delivery_attempts']>[],
) {
  return {
    deliveryId: row.delivery_id,
    subscriptionId: row.subscription_id,
    scope: row.scope,
    event: row.event,
    recordId: row.record_id,
    sequence: row.sequence,
    status: row.status,
    attemptCount: row.attempts,
    lastStatus: row.last_status,
    lastError: row.last_error,
    nextAttemptAt: row.status === 'waiting' && row.lease_token === null ? isoTime(row.next_at) : null,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    attempts: [
      ...firstOf(row),
      ...attempts.map((attempt) => ({
        number: attempt.number,
        at: isoTime(attempt.at),
        durationMs: attempt.duration_ms,
        status: attempt.status,
        error: attempt.error,
        excerpt: attempt.excerpt,
      })),
    ],
  };
}

function firstOf({ first_attempt: text }: Pick<Selectable<Tables['deliveries']>, 'first_attempt'>) {
  if (text === null) return [];
  const { at, durationMs, status, excerpt } = firstAttemptText.parse(JSON.parse(text));
  return [{ number: 1, at: isoTime(at), durationMs, status, error: null, excerpt }];
}
