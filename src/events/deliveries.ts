import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { IS_OFFERED, WAITS } from './claim.ts';

/** Deeper offsets are slow in every database; a cursor goes as deep as one likes. */
export const MAX_OFFSET = 10_000;

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

/** What `deliveries.first_attempt` tells of a first attempt that succeeded; times in milliseconds. */
export type FirstAttempt = z.infer<typeof firstAttemptText>;

const firstAttemptText = z.strictObject({
  at: z.number(),
  durationMs: z.number(),
  status: z.number().nullable(),
  /** The beginning of the answer, without secrets. */
  excerpt: z.string().nullable(),
});

export interface DeliveryFilter {
  subscriptionId: string;
  status?: Tables['deliveries']['status'] | undefined;
  limit: number;
  offset: number;
  /** `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/**
 * A page of the deliveries of a subscription with their attempts, newest first.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000, a cursor that is none, or both at once.
 */
export async function listDeliveries(db: DbOrTx, filter: DeliveryFilter) {
  if (filter.offset > MAX_OFFSET) {
    const rule = `must be at most ${MAX_OFFSET}; go on with cursor, the pagination.nextCursor of the last page`;
    throw invalidRequest([{ field: 'offset', rule }]);
  }
  if (filter.cursor !== undefined && filter.offset > 0) {
    throw invalidRequest([{ field: 'offset', rule: 'must be left out beside cursor' }]);
  }
  const rows = await newestOf(db, filter)
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .selectAll('deliveries')
    .select(['events.event', 'events.scope', 'events.record_id'])
    .orderBy('deliveries.sequence', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
  const page = rows.slice(0, filter.limit);
  const attempts = Map.groupBy(
    await attemptsOf(
      db,
      page.map((row) => row.delivery_id),
    ),
    (attempt) => attempt.delivery_id,
  );
  const last = page.at(-1);
  const hasMore = rows.length > filter.limit;
  return {
    deliveries: page.map((row) => describeDelivery(row, attempts.get(row.delivery_id) ?? [])),
    hasMore,
    nextCursor: hasMore && last ? toCursor(last.sequence) : undefined,
  };
}

/** The newest that a page may show. */
function newestOf(db: DbOrTx, { subscriptionId, status, limit, offset, cursor }: DeliveryFilter) {
  let all = db.selectFrom('deliveries').where('subscription_id', '=', subscriptionId);
  if (cursor !== undefined) all = all.where('sequence', '<', readCursor(cursor));
  const newest = all
    .selectAll()
    .orderBy('sequence', 'desc')
    .limit(offset + limit + 1);
  if (status === undefined) return db.selectFrom(newest.as('deliveries'));
  // Written out, so that the partial indexes are seen to fit.
  if (status !== 'waiting')
    return db.selectFrom(newest.where('deliveries.status', '=', sql.lit(status)).as('deliveries'));
  const waiting = db.selectFrom(newest.where(WAITS).as('waiting')).selectAll();
  // Few, and in an index of their own, from which asking for their order at once would lead away.
  const offered = db
    .selectFrom('deliveries')
    .selectAll()
    .where('delivery_id', 'in', all.select('delivery_id').where(IS_OFFERED));
  return db.selectFrom(waiting.unionAll(offered).as('deliveries'));
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

function toCursor(sequence: number): string {
  return Buffer.from(String(sequence)).toString('base64url');
}

function readCursor(cursor: string): number {
  const parsed = z.coerce.number().int().min(1).safeParse(Buffer.from(cursor, 'base64url').toString('utf8'));
  if (parsed.success && Number.isSafeInteger(parsed.data)) return parsed.data;
  throw invalidRequest([{ field: 'cursor', rule: 'must be the pagination.nextCursor of a page before' }]);
}
