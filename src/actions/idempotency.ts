import { z } from 'zod';
import type { Base } from '../base.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import { GatehouseError, invalidRequest, isErrorCode, type ErrorCode } from '../lib/errors.ts';
import { canonicalJson, type Json } from '../lib/json.ts';
import { keepRenewing, LEASE_MS } from '../runtime/lease.ts';
import { isUniqueViolation } from '../store/open-database.ts';
import type { Tables } from '../store/schema.ts';
import { hadNoEffect, isOutcomeUnknown, outcomeUnknown } from '../upstream/outcome.ts';
import { sha256 } from '../lib/sha256.ts';
import { boundTo } from '../store/sealed-columns.ts';

type IdempotencyContext = Pick<Base, 'db' | 'clock' | 'keys' | 'log'>;

/** How long the first answer is stored and repeated. */
const ANSWER_TTL_MS = DAY;

export interface IdempotentCall {
  /** The Idempotency-Key as the caller wrote it: 1 to 255 printable ASCII characters. */
  key: string;
  /** Scope of the key: environment, user, connector, action. */
  scope: string[];
  /** The part that must be the same when the key is used again. */
  body: Json;
  /** Whether a second run does no harm, so that a call with an unknown outcome may run again. */
  repeatable: boolean;
}

const result = z.object({
  data: z.json(),
  pagination: z.object({ hasMore: z.boolean(), nextOffset: z.int().optional() }).optional(),
});
type Result = z.infer<typeof result>;
const answer = z.union([
  z.object({ value: result }),
  z.object({
    error: z.object({
      code: z.custom<ErrorCode>(isErrorCode),
      message: z.string(),
      details: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
]);
type Answer = z.input<typeof answer>;
type Row = Tables['idempotency'];

/**
 * Checks a key.
 * @throws GatehouseError `invalid_request` for a key that is not 1 to 255 printable characters.
 */
export function assertIdempotencyKey(key: string): void {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return;
  throw invalidRequest([{ field: 'Idempotency-Key', rule: 'must be 1 to 255 printable ASCII characters' }]);
}

/**
 * Runs a call once per key. The same key and body within 24 hours give the first answer again, a failure included.
 * Failures of calls without effect are not stored. This holds between processes, on both databases: the row is the
 * lock. `run` gets a stable name for the third party's own idempotency header.
 * @throws GatehouseError `idempotency_conflict` for another body, `idempotency_in_progress` (Retry-After) while the
 * first still runs, `upstream_failed` when its process died and the call must not be repeated; the errors of `run`.
 */
export async function runOnce(
  context: IdempotencyContext,
  call: IdempotentCall,
  run: (upstreamKey: string) => Promise<Result>,
): Promise<{ value: Result; replayed: boolean }> {
  assertIdempotencyKey(call.key);
  const keyHash = sha256(JSON.stringify([...call.scope, call.key]));
  const requestHash = sha256(canonicalJson(call.body));
  const found = await claim(context, { keyHash, requestHash, repeatable: call.repeatable });
  if (found.state === 'done') return replay(context, found.row);

  const lease = keepLease(context, keyHash, found.leaseUntil);
  try {
    const value = await run(keyHash);
    await storeAnswer(context, keyHash, { lease: lease.stop(), status: 200, answer: { value } });
    return { value, replayed: false };
  } catch (error) {
    const stored = failureToStore(error, call.repeatable);
    const leaseUntil = lease.stop();
    if (stored) await storeAnswer(context, keyHash, { lease: leaseUntil, ...stored });
    else await release(context, keyHash, leaseUntil);
    throw error;
  }
}

type Claim = { state: 'mine'; leaseUntil: number } | { state: 'done'; row: Row };

async function claim(
  { db, clock }: IdempotencyContext,
  claim: { keyHash: string; requestHash: string; repeatable: boolean },
): Promise<Claim> {
  const now = clock.now();
  const mine: Row = {
    key_hash: claim.keyHash,
    request_hash: claim.requestHash,
    state: 'running',
    status: null,
    body: null,
    lease_until: now + LEASE_MS,
    expires_at: now + ANSWER_TTL_MS,
  };
  try {
    await db.insertInto('idempotency').values(mine).execute();
    return { state: 'mine', leaseUntil: mine.lease_until };
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
  }
  const row = await db
    .selectFrom('idempotency')
    .selectAll()
    .where('key_hash', '=', claim.keyHash)
    .executeTakeFirst();
  if (!row) throw inProgress(now, now + SECOND);
  const expired = row.expires_at <= now;
  if (!expired) {
    if (row.request_hash !== claim.requestHash) {
      throw idempotencyConflict();
    }
    if (row.state === 'done') return { state: 'done', row };
    if (row.lease_until > now) throw inProgress(now, row.lease_until);
    if (!claim.repeatable) throw abandoned();
  }
  // Several callers may find the same dead row. Only the caller whose update finds it unchanged continues.
  const { numUpdatedRows } = await db
    .updateTable('idempotency')
    .set(mine)
    .where('key_hash', '=', claim.keyHash)
    .where('state', '=', row.state)
    .where('lease_until', '=', row.lease_until)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw inProgress(now, now + SECOND);
  return { state: 'mine', leaseUntil: mine.lease_until };
}

/** Returns the refusal of a key that named another request within 24 hours. */
export function idempotencyConflict(): GatehouseError {
  return new GatehouseError(
    'idempotency_conflict',
    'This Idempotency-Key was used with another body. Send the same body, or use a new key.',
  );
}

/** Renews the lease until stopped. stop() returns the last lease, which proves the ownership. */
function keepLease({ db, clock, log }: IdempotencyContext, keyHash: string, from: number) {
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
    async stop(): Promise<number> {
      endRenewal();
      await renewing.catch(() => {});
      return leaseUntil;
    },
  };
}

/** Stores the answer for repetitions. */
async function storeAnswer(
  { db, keys, log }: IdempotencyContext,
  keyHash: string,
  { lease, status, answer }: { lease: Promise<number>; status: number; answer: Answer },
): Promise<void> {
  try {
    // The answer is sealed, because it holds the third party's data about a person.
    const body = keys.sealJson(answer, binding(keyHash));
    await db
      .updateTable('idempotency')
      .set({ state: 'done', status, body })
      .where('key_hash', '=', keyHash)
      .where('state', '=', 'running')
      .where('lease_until', '=', await lease)
      .execute();
  } catch (error) {
    // The call took effect, so its answer must reach the caller although it cannot be repeated later.
    log.error({ err: error }, 'answer not stored for its idempotency key');
  }
}

async function release(
  { db, log }: IdempotencyContext,
  keyHash: string,
  lease: Promise<number>,
): Promise<void> {
  try {
    await db
      .deleteFrom('idempotency')
      .where('key_hash', '=', keyHash)
      .where('state', '=', 'running')
      .where('lease_until', '=', await lease)
      .execute();
  } catch (error) {
    log.error({ err: error }, 'idempotency key not released, its lease will expire');
  }
}

function replay({ keys }: IdempotencyContext, row: Row): { value: Result; replayed: boolean } {
  const stored = keys.openJson(answer, row.body ?? '', binding(row.key_hash));
  if ('value' in stored) return { value: stored.value, replayed: true };
  const { code, message, details } = stored.error;
  throw new GatehouseError(code, message, {
    ...(details ? { details } : {}),
    headers: { 'Idempotency-Replayed': 'true' },
  });
}

/** Returns the failure to store and repeat, or undefined when the call may run again. */
function failureToStore(error: unknown, repeatable: boolean): { status: number; answer: Answer } | undefined {
  const refusal =
    error instanceof GatehouseError
      ? error
      : new GatehouseError('internal', 'The first call with this Idempotency-Key failed on our side.');
  if (hadNoEffect(refusal) || (repeatable && isOutcomeUnknown(refusal))) return undefined;
  const { code, message, details, status } = refusal;
  return { status, answer: { error: { code, message, ...(details ? { details } : {}) } } };
}

function inProgress(now: number, until: number): GatehouseError {
  const seconds = Math.max(1, Math.ceil((until - now) / SECOND));
  return new GatehouseError(
    'idempotency_in_progress',
    'The first call with this Idempotency-Key is still running. Repeat it after Retry-After.',
    { headers: { 'Retry-After': String(Math.min(seconds, 5)) } },
  );
}

function abandoned(): GatehouseError {
  return outcomeUnknown(
    'The process that ran the first call with this Idempotency-Key ended before it had an answer, so whether the call ' +
      'took effect is unknown. Check the app before you repeat it with a new key.',
  );
}

function binding(keyHash: string): string {
  return boundTo('idempotency.body', { key_hash: keyHash });
}
