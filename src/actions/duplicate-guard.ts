import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Base } from '../base.ts';
import type { Action } from '../connectors/catalog.ts';
import type { Effect } from '../connectors/effects.ts';
import { asSchema } from '../connectors/schemas/model-schema.ts';
import { storedSecret } from '../identity/secrets.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError, publicError, withDetails } from '../lib/errors.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import type { Environment } from '../store/environments.ts';
import { boundTo } from '../store/sealed-columns.ts';
import { isOutcomeUnknown } from '../upstream/outcome.ts';
import {
  claimCall,
  finishClaim,
  holdClaim,
  releaseClaim,
  replaceClaim,
  type Claim,
  type ClaimRow,
} from './claims.ts';
import { findExecution } from './executions.ts';

/* The guard of repeated writes over MCP: an equal write runs once in ten minutes, unless its caller asks for it again. */

type GuardContext = Pick<Base, 'db' | 'clock' | 'keys' | 'log'>;

/** How long an equal write is refused after the first one ended. */
export const GUARDED_MS = 10 * MINUTE;

const keyOf = storedSecret('guard-key');

/** Facts about a call that decide whether the guard refuses it. */
export interface WriteGuard {
  /** Whether the caller asks for the write although an equal one was made. */
  again: boolean;
  /** The program that makes the call. The guard ignores earlier calls of the same program. */
  programId?: string | undefined;
}

/** A write that the guard checks. Two writes are equal when all members but `guard` and `executionId` are equal. */
export interface GuardedWrite {
  environment: Environment;
  serverId: string;
  userId: string | undefined;
  credentialId: string | undefined;
  action: Action;
  input: JsonObject;
  guard: WriteGuard;
  /** The execution of this call. */
  executionId: string;
}

const facts = z.object({
  executionId: z.string(),
  programId: z.string().optional(),
  /** Epoch ms: the start of a write that runs, the end of a write that has ended. */
  at: z.number(),
  /** Id of the record that the app made. */
  recordId: z.string().optional(),
  unknown: z.literal(true).optional(),
});
type Facts = z.infer<typeof facts>;

/** Returns whether the guard checks this call: it is no read, and its connector file does not say `idempotent: true`. */
export function isGuarded({ definition }: Action, effect: Effect): boolean {
  return effect !== 'read' && definition.idempotent !== true;
}

/**
 * Runs a write unless an equal one succeeded in the last ten minutes, runs now, or has an unknown outcome. An equal write
 * runs after one that certainly failed, or that a remote server answered with a question or an error.
 * @throws GatehouseError `possible_duplicate` (`details.executionId`, `details.secondsAgo`); the errors of `run`, with
 * `details.outcome: "unknown"` where an equal write is refused from then on, and `details.tool` where only that tool repeats it
 */
export async function runGuarded<Result extends { data: Json }>(
  context: GuardContext,
  write: GuardedWrite,
  run: (claimKey: string) => Promise<Result>,
): Promise<Result> {
  const { guard, executionId } = write;
  const keyHash = await hashOf(context, write);
  const seal = (more: Partial<Facts> = {}) => {
    const { programId } = guard;
    const whole: Facts = {
      executionId,
      at: context.clock.now(),
      ...(programId ? { programId } : {}),
      ...more,
    };
    return context.keys.sealJson(whole, boundTo('idempotency.body', { key_hash: keyHash }));
  };
  const wanted = { keyHash, requestHash: '', ttlMs: GUARDED_MS, body: seal() };
  let claim: Claim;
  do claim = await claimCall(context, wanted);
  while (claim.state === 'lost');
  if (claim.state === 'taken') await assertMayRepeat(context, write, claim.row);

  const held = claim.state === 'mine' ? holdClaim(context, keyHash, claim.leaseUntil) : undefined;
  const store = async (more: Partial<Facts>): Promise<void> => {
    const body = seal(more);
    if (!held) return replaceClaim(context, { ...wanted, body });
    const expires_at = context.clock.now() + GUARDED_MS;
    return finishClaim(context, held, { status: null, body, expires_at });
  };
  const release = async () => held && releaseClaim(context, held);
  try {
    const result = await run(keyHash);
    if (isUnfinished(write.action, result.data)) await release();
    else await store(recordIn(result.data));
    return result;
  } catch (error) {
    const refusal = publicError(error);
    if (!isOutcomeUnknown(refusal)) {
      await release();
      throw error;
    }
    await store({ unknown: true });
    const tool = hasOwnAgain(write.action) ? { tool: 'execute_action_svc' } : {};
    throw withDetails(refusal, { outcome: 'unknown', ...tool });
  }
}

/** Returns whether a parameter of the action takes the name of ours, so that only execute_action_svc takes ours. */
function hasOwnAgain({ inputSchema }: Action): boolean {
  return Object.hasOwn(asSchema(inputSchema['properties']), 'again');
}

/** Returns the key of a write: a keyed hash, so that the store does not reveal the input. */
async function hashOf(context: GuardContext, write: GuardedWrite): Promise<string> {
  const { environment, serverId, userId = null, credentialId = null, action, input } = write;
  const { connectorId, actionId } = action;
  return createHmac('sha256', await keyOf(context))
    .update(
      canonicalJson(['guard', environment, serverId, userId, credentialId, connectorId, actionId, input]),
    )
    .digest('hex');
}

/** Returns whether a remote server answered with a question for its user, or with an error, in the content of MCP. */
function isUnfinished({ definition }: Action, data: Json): boolean {
  if (definition.response.body !== 'content' || !isJsonObject(data)) return false;
  return Object.hasOwn(data, 'inputRequests') || data['isError'] === true;
}

/** The form of an app's ids. Other texts of an app must not enter our message, because a model would trust them. */
const PLAIN_ID = /^[\w.:@+=/-]{1,100}$/;

function recordIn(data: Json): Partial<Facts> {
  const id = isJsonObject(data) ? data['id'] : undefined;
  const text = typeof id === 'number' ? String(id) : id;
  return typeof text === 'string' && PLAIN_ID.test(text) ? { recordId: text } : {};
}

/** @throws GatehouseError `possible_duplicate` */
async function assertMayRepeat(context: GuardContext, write: GuardedWrite, row: ClaimRow): Promise<void> {
  const { guard, environment } = write;
  if (guard.again) return;
  const earlier = context.keys.openJson(facts, row.body ?? '', boundTo('idempotency.body', row));
  if (guard.programId !== undefined && guard.programId === earlier.programId) return;
  const now = context.clock.now();
  if (row.state === 'done') throw duplicate(write, { ...earlier, now });
  if (row.lease_until > now) throw duplicate(write, { ...earlier, now, running: true });
  // The process of that write ended. The record of executions shows whether the app had answered before.
  const { executionId } = earlier;
  const ended = await findExecution(context.db, environment, executionId);
  if (ended?.outcome === 'succeeded') throw duplicate(write, { ...earlier, at: ended.at, now });
  throw duplicate(write, {
    ...earlier,
    now,
    unknown: true,
    executionId: ended ? executionId : undefined,
  });
}

function duplicate(
  { action }: GuardedWrite,
  earlier: Omit<Facts, 'executionId'> & { executionId: string | undefined; now: number; running?: true },
): GatehouseError {
  const { executionId, recordId, unknown, running } = earlier;
  const secondsAgo = Math.max(0, Math.round((earlier.now - earlier.at) / SECOND));
  const how = hasOwnAgain(action)
    ? 'call execute_action_svc with `again: true`'
    : 'call again with `again: true`';
  const outcome = unknown ? 'unknown' : running ? 'running' : undefined;
  const texts = {
    done: `This was done ${secondsAgo} s ago${recordId === undefined ? '' : ` as ${recordId}`}; ${how} to do it once more.`,
    running: `The same call began ${secondsAgo} s ago and still runs. Wait for its end, or ${how} to run both.`,
    unknown: `The same call was made ${secondsAgo} s ago, and it is unknown whether it took effect. Look in the app first, and ${how} if it did not.`,
  };
  return new GatehouseError('possible_duplicate', texts[outcome ?? 'done'], {
    details: {
      ...(executionId === undefined ? {} : { executionId }),
      secondsAgo,
      ...(outcome ? { outcome } : {}),
    },
  });
}

/** Deletes the claim of a write that was undone, unless a later write has replaced it. */
export async function freeUndone(
  { db, keys, log }: GuardContext,
  { claimKey, executionId }: { claimKey: string; executionId: string },
): Promise<void> {
  try {
    const row = await db
      .selectFrom('idempotency')
      .selectAll()
      .where('key_hash', '=', claimKey)
      .executeTakeFirst();
    if (!row) return;
    const earlier = keys.openJson(facts, row.body ?? '', boundTo('idempotency.body', row));
    if (earlier.executionId !== executionId) return;
    await db
      .deleteFrom('idempotency')
      .where('key_hash', '=', claimKey)
      .where('state', '=', row.state)
      .where('lease_until', '=', row.lease_until)
      .execute();
  } catch (error) {
    // The undo took effect. The claim expires after ten minutes.
    log.error({ err: error }, 'guard of an undone write not freed');
  }
}
