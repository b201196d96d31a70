import { z } from 'zod';
import type { Base } from '../base.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import { GatehouseError, invalidRequest, isErrorCode, type ErrorCode } from '../lib/errors.ts';
import { canonicalJson, type Json } from '../lib/json.ts';
import { hadNoEffect, isOutcomeUnknown, outcomeUnknown } from '../upstream/outcome.ts';
import { sha256 } from '../lib/sha256.ts';
import { boundTo } from '../store/sealed-columns.ts';
import {
  claimCall,
  finishClaim,
  holdClaim,
  releaseClaim,
  takeClaim,
  type ClaimRow,
  type HeldClaim,
} from './claims.ts';

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
  undo: z.object({ undoToken: z.string(), expiresAt: z.string() }).optional(),
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

/**
 * Checks a key.
 * @throws GatehouseError `invalid_request` for a key that is not 1 to 255 printable characters.
 */
export function assertIdempotencyKey(key: string): void {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return;
  throw invalidRequest([{ field: 'Idempotency-Key', rule: 'must be 1 to 255 printable ASCII characters' }]);
}

/**
 * Runs a call once per key. The same key and body within 24 hours give the first answer again. A failure is stored as an
 * answer too, unless the call certainly had no effect. This holds between processes, on both databases: the row is the
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

  const held = holdClaim(context, keyHash, found.leaseUntil);
  try {
    const value = await run(keyHash);
    await storeAnswer(context, held, { status: 200, answer: { value } });
    return { value, replayed: false };
  } catch (error) {
    const stored = failureToStore(error, call.repeatable);
    if (stored) await storeAnswer(context, held, stored);
    else await releaseClaim(context, held);
    throw error;
  }
}

type Found = { state: 'mine'; leaseUntil: number } | { state: 'done'; row: ClaimRow };

async function claim(
  context: IdempotencyContext,
  { repeatable, ...call }: { keyHash: string; requestHash: string; repeatable: boolean },
): Promise<Found> {
  const wanted = { ...call, ttlMs: ANSWER_TTL_MS };
  const now = context.clock.now();
  let claimed = await claimCall(context, wanted);
  if (claimed.state === 'taken') {
    const { row } = claimed;
    if (row.request_hash !== call.requestHash) throw idempotencyConflict();
    if (row.state === 'done') return { state: 'done', row };
    if (row.lease_until > now) throw inProgress(now, row.lease_until);
    if (!repeatable) throw abandoned();
    claimed = await takeClaim(context, wanted, row);
  }
  if (claimed.state !== 'mine') throw inProgress(now, now + SECOND);
  return claimed;
}

/** Returns the refusal of a key that named another request within 24 hours. */
export function idempotencyConflict(): GatehouseError {
  return new GatehouseError(
    'idempotency_conflict',
    'This Idempotency-Key was used with another body. Send the same body, or use a new key.',
  );
}

/** Stores the answer for repetitions. It is sealed, because it holds the third party's data about a person. */
function storeAnswer(
  context: IdempotencyContext,
  held: HeldClaim,
  { status, answer }: { status: number; answer: Answer },
): Promise<void> {
  const body = context.keys.sealJson(answer, binding(held.keyHash));
  return finishClaim(context, held, { status, body });
}

function replay({ keys }: IdempotencyContext, row: ClaimRow): { value: Result; replayed: boolean } {
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
    { retryAfterSeconds: Math.min(seconds, 5) },
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
