import type { Base } from '../base.ts';
import { keepRenewing, LEASE_MS } from '../runtime/lease.ts';
import { isUniqueViolation } from '../store/open-database.ts';
import type { Tables } from '../store/schema.ts';

/*
 * A claim is a row that lets one of several equal calls run, in all processes and on both databases. The row is the
 * lock. Claims serve Idempotency-Keys (idempotency.ts), the guard of repeated writes (duplicate-guard.ts) and undo.ts.
 */

type ClaimContext = Pick<Base, 'db' | 'clock' | 'log'>;
export type ClaimRow = Tables['idempotency'];

/** A claim to insert. */
export interface WantedClaim {
  keyHash: string;
  /** Hash of the part of the call that its key does not cover; empty where the key covers all of it. */
  requestHash: string;
  ttlMs: number;
  /** Sealed facts of the call. */
  body?: string;
}

/** `mine`: this call may run. `taken`: another call has a valid row. `lost`: another call changed the row just now. */
export type Claim =
  | { state: 'mine'; leaseUntil: number }
  | { state: 'taken'; row: ClaimRow }
  | { state: 'lost' };

/** Claims a call. A row of an earlier call counts until it expires, and longer while that call runs. */
export async function claimCall(context: ClaimContext, wanted: WantedClaim): Promise<Claim> {
  const { db, clock } = context;
  const mine = runningRow(clock.now(), wanted);
  try {
    await db.insertInto('idempotency').values(mine).execute();
    return { state: 'mine', leaseUntil: mine.lease_until };
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
  }
  const row = await db
    .selectFrom('idempotency')
    .selectAll()
    .where('key_hash', '=', wanted.keyHash)
    .executeTakeFirst();
  if (!row) return { state: 'lost' };
  const now = clock.now();
  const isOver = row.expires_at <= now && (row.state === 'done' || row.lease_until <= now);
  return isOver ? takeClaim(context, wanted, row) : { state: 'taken', row };
}

/** Takes the row of a call that is over. If several callers try it, one of them gets the row. */
export async function takeClaim(
  { db, clock }: ClaimContext,
  wanted: WantedClaim,
  row: ClaimRow,
): Promise<Claim> {
  const mine = runningRow(clock.now(), wanted);
  const { numUpdatedRows } = await db
    .updateTable('idempotency')
    .set(mine)
    .where('key_hash', '=', wanted.keyHash)
    .where('state', '=', row.state)
    .where('lease_until', '=', row.lease_until)
    .executeTakeFirst();
  return numUpdatedRows === 0n ? { state: 'lost' } : { state: 'mine', leaseUntil: mine.lease_until };
}

function runningRow(now: number, { keyHash, requestHash, ttlMs, body }: WantedClaim): ClaimRow {
  return {
    key_hash: keyHash,
    request_hash: requestHash,
    state: 'running',
    status: null,
    body: body ?? null,
    lease_until: now + LEASE_MS,
    expires_at: now + ttlMs,
  };
}

/** A claim whose call runs. */
export interface HeldClaim {
  keyHash: string;
  /** Ends the renewal. Returns the last lease, which proves the ownership. */
  stop(): Promise<number>;
}

/** Renews the lease of a claim until stopped. */
export function holdClaim({ db, clock, log }: ClaimContext, keyHash: string, from: number): HeldClaim {
  let leaseUntil = from;
  const renew = async (): Promise<void> => {
    const renewed = clock.now() + LEASE_MS;
    const { numUpdatedRows } = await db
      .updateTable('idempotency')
      .set({ lease_until: renewed })
      .where('key_hash', '=', keyHash)
      .where('state', '=', 'running')
      .where('lease_until', '=', leaseUntil)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) leaseUntil = renewed;
  };
  let renewing = Promise.resolve();
  const endRenewal = keepRenewing({
    renew: () => (renewing = renewing.catch(() => {}).then(renew)),
    onError: (error) => log.warn({ err: error }, 'lease not renewed'),
  });
  return {
    keyHash,
    async stop() {
      endRenewal();
      await renewing.catch(() => {});
      return leaseUntil;
    },
  };
}

/** Stores the outcome of a claim whose call has ended, unless another call has taken the row. */
export async function finishClaim(
  { db, log }: ClaimContext,
  held: HeldClaim,
  outcome: Pick<ClaimRow, 'status' | 'body'> & { expires_at?: number },
): Promise<void> {
  const leaseUntil = await held.stop();
  try {
    await db
      .updateTable('idempotency')
      .set({ state: 'done', ...outcome })
      .where('key_hash', '=', held.keyHash)
      .where('state', '=', 'running')
      .where('lease_until', '=', leaseUntil)
      .execute();
  } catch (error) {
    // The call took effect, so its answer must reach the caller although it was not stored.
    log.error({ err: error }, 'outcome not stored for its claim');
  }
}

/** Deletes a claim whose call had no effect, unless another call has taken the row. */
export async function releaseClaim({ db, log }: ClaimContext, held: HeldClaim): Promise<void> {
  const leaseUntil = await held.stop();
  try {
    await db
      .deleteFrom('idempotency')
      .where('key_hash', '=', held.keyHash)
      .where('state', '=', 'running')
      .where('lease_until', '=', leaseUntil)
      .execute();
  } catch (error) {
    log.error({ err: error }, 'claim not released, its lease will expire');
  }
}

/** Replaces the claim of an earlier call by the outcome of a call that ran in spite of that claim. */
export async function replaceClaim(
  { db, clock, log }: ClaimContext,
  { keyHash, requestHash, ttlMs, body }: WantedClaim,
): Promise<void> {
  const now = clock.now();
  const row: ClaimRow = {
    key_hash: keyHash,
    request_hash: requestHash,
    state: 'done',
    status: null,
    body: body ?? null,
    lease_until: now,
    expires_at: now + ttlMs,
  };
  const { key_hash: _key, ...outcome } = row;
  try {
    await db
      .insertInto('idempotency')
      .values(row)
      .onConflict((c) => c.column('key_hash').doUpdateSet(outcome))
      .execute();
  } catch (error) {
    log.error({ err: error }, 'outcome not stored for its claim');
  }
}
