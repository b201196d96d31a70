import { z } from 'zod';
import type { Base } from '../base.ts';
import type { Action, Connector } from '../connectors/catalog.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import { DAY, isoTime } from '../lib/clock.ts';
import { GatehouseError, publicError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { sha256 } from '../lib/sha256.ts';
import type { Environment } from '../store/environments.ts';
import { boundTo } from '../store/sealed-columns.ts';
import type { Tables } from '../store/schema.ts';
import { isOutcomeUnknown } from '../upstream/outcome.ts';
import { claimCall, finishClaim, holdClaim, releaseClaim, takeClaim, type ClaimRow } from './claims.ts';
import { freeUndone } from './duplicate-guard.ts';
import { undoneBy } from './executions.ts';
import { inverseOf } from './inverse.ts';

/* Undo: the inverse of a call runs once, within 24 hours, by a token or by the id of the execution. */

type UndoContext = Pick<Base, 'db' | 'clock' | 'keys' | 'hashKey' | 'log'>;

/** How long a call can be undone. */
const UNDO_TTL_MS = DAY;
const TOKEN = /^gh_undo_[0-9A-Za-z]{43}$/;

/** The member of a result that can be undone. */
export type UndoOffer = { undoToken: string; expiresAt: string };

/** A call that can be undone, and its inverse: the call that undoes it. */
export interface Undo {
  /** The execution to undo. */
  executionId: string;
  environment: Environment;
  serverId: string | undefined;
  userId: string | undefined;
  connectorId: string;
  /** The action of the inverse. */
  actionId: string;
  credentialId: string | undefined;
  /** The input of the inverse. */
  input: JsonObject;
  /** The claim of the execution in the guard of repeated writes. */
  claimKey: string | undefined;
}

const sealedShape = z.object({ input: z.record(z.string(), z.json()), claimKey: z.string().optional() });

/** A call that succeeded. */
interface DoneCall {
  connector: Connector;
  action: Action;
  input: JsonObject;
  result: Json;
  parties: Pick<Undo, 'executionId' | 'environment' | 'serverId' | 'userId' | 'credentialId' | 'claimKey'>;
}

/**
 * Stores the inverse of a call, and returns its token. Returns undefined where the connector file names no inverse, or
 * the call's values do not fill the input of the inverse. It returns undefined for a failure of the store too, because
 * the call itself succeeded.
 */
export async function offerUndo(context: UndoContext, done: DoneCall): Promise<UndoOffer | undefined> {
  const { connector, action, input, result, parties } = done;
  const inverse = inverseOf(connector, action, { input, result });
  if (!inverse || inverse.faults.length > 0) return undefined;
  const undoToken = `gh_undo_${newRandomToken()}`;
  const expiresAt = context.clock.now() + UNDO_TTL_MS;
  const key = {
    execution_id: parties.executionId,
    environment: parties.environment,
    connector_id: connector.connectorId,
    action_id: inverse.action.actionId,
  };
  const { claimKey } = parties;
  const value = { input: inverse.input, ...(claimKey === undefined ? {} : { claimKey }) };
  const row: Tables['undos'] = {
    ...key,
    server_id: parties.serverId ?? null,
    user_id: parties.userId ?? null,
    credential_id: parties.credentialId ?? null,
    token_hash: hashToken(context.hashKey, undoToken),
    sealed: context.keys.sealJson(value, boundTo('undos.sealed', key)),
    expires_at: expiresAt,
  };
  try {
    await context.db.insertInto('undos').values(row).execute();
  } catch (error) {
    context.log.error({ err: error }, 'undo not stored');
    return undefined;
  }
  return { undoToken, expiresAt: isoTime(expiresAt) };
}

/**
 * Returns the undo of a token, for the user and server that got it. The token of another user or server gets the same
 * error as an unknown token.
 * @throws GatehouseError `undo_not_found`
 */
export async function undoByToken(
  context: UndoContext,
  by: { environment: Environment; serverId: string; userId: string | undefined; undoToken: string },
): Promise<Undo> {
  const found = TOKEN.test(by.undoToken)
    ? await findUndo(context, by.environment, { token_hash: hashToken(context.hashKey, by.undoToken) })
    : undefined;
  if (!found || found.serverId !== by.serverId || found.userId !== by.userId) throw undoNotFound();
  return found;
}

/** Returns the undo of an execution. @throws GatehouseError `undo_not_found` */
export async function undoOfExecution(
  context: UndoContext,
  environment: Environment,
  executionId: string,
): Promise<Undo> {
  const found = await findUndo(context, environment, { execution_id: executionId });
  if (!found) throw undoNotFound();
  return found;
}

/** Returns when the undo of an execution expires, epoch ms; undefined where it has none. */
export async function undoExpiry(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  environment: Environment,
  executionId: string,
): Promise<number | undefined> {
  const row = await db
    .selectFrom('undos')
    .select('expires_at')
    .where('execution_id', '=', executionId)
    .where('environment', '=', environment)
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  return row?.expires_at;
}

async function findUndo(
  { db, clock, keys }: UndoContext,
  environment: Environment,
  by: { execution_id: string } | { token_hash: string },
): Promise<Undo | undefined> {
  const byToken = 'token_hash' in by;
  const row = await db
    .selectFrom('undos')
    .selectAll()
    .where(byToken ? 'token_hash' : 'execution_id', '=', byToken ? by.token_hash : by.execution_id)
    .where('environment', '=', environment)
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  if (!row) return undefined;
  const { input, claimKey } = keys.openJson(sealedShape, row.sealed, boundTo('undos.sealed', row));
  return {
    executionId: row.execution_id,
    environment,
    serverId: row.server_id ?? undefined,
    userId: row.user_id ?? undefined,
    connectorId: row.connector_id,
    actionId: row.action_id,
    credentialId: row.credential_id ?? undefined,
    input,
    claimKey,
  };
}

export function undoNotFound(): GatehouseError {
  return new GatehouseError(
    'undo_not_found',
    'There is nothing to undo here: the call has no inverse, or it was made more than 24 hours ago.',
  );
}

const claimShape = z.object({ executionId: z.string(), unknown: z.literal(true).optional() });

/**
 * Runs the inverse of a call once, in all processes together. After a failure without effect it may run again. After an
 * unknown outcome it may run again if it is `repeatable`.
 * @throws GatehouseError `already_undone` (`details.executionId` of the undo), also while another undo runs, or when the
 * outcome of an earlier one is unknown and the inverse is not repeatable; the errors of `run`
 */
export async function runUndo<Result>(
  context: UndoContext,
  { undo, repeatable, executionId }: { undo: Undo; repeatable: boolean; executionId: string },
  run: () => Promise<Result>,
): Promise<Result> {
  const keyHash = sha256(`undo ${undo.environment} ${undo.executionId}`);
  const binding = boundTo('idempotency.body', { key_hash: keyHash });
  const seal = (more: { unknown?: true } = {}) => context.keys.sealJson({ executionId, ...more }, binding);
  const wanted = { keyHash, requestHash: '', ttlMs: UNDO_TTL_MS, body: seal() };
  let claim = await claimCall(context, wanted);
  while (claim.state !== 'mine') {
    if (claim.state === 'taken') {
      await assertMayUndo(context, { undo, repeatable, row: claim.row });
      claim = await takeClaim(context, wanted, claim.row);
    }
    if (claim.state === 'lost') claim = await claimCall(context, wanted);
  }
  const held = holdClaim(context, keyHash, claim.leaseUntil);
  const finish = (more?: { unknown: true }) => {
    const expires_at = context.clock.now() + UNDO_TTL_MS;
    return finishClaim(context, held, { status: null, body: seal(more), expires_at });
  };
  try {
    const result = await run();
    await finish();
    const { claimKey } = undo;
    if (claimKey !== undefined) await freeUndone(context, { claimKey, executionId: undo.executionId });
    return result;
  } catch (error) {
    if (isOutcomeUnknown(publicError(error)) && !repeatable) await finish({ unknown: true });
    else await releaseClaim(context, held);
    throw error;
  }
}

/** @throws GatehouseError `already_undone` unless the process of an earlier undo died and the inverse is repeatable */
async function assertMayUndo(
  { db, clock, keys }: UndoContext,
  { undo, repeatable, row }: { undo: Undo; repeatable: boolean; row: ClaimRow },
): Promise<void> {
  const earlier = keys.openJson(claimShape, row.body ?? '', boundTo('idempotency.body', row));
  const { executionId } = earlier;
  if (row.state === 'running' && row.lease_until > clock.now())
    throw alreadyUndone('This call is being undone now.', { executionId, outcome: 'running' });
  const isDone =
    row.state === 'done'
      ? !earlier.unknown
      : (await undoneBy(db, undo.environment, [undo.executionId])).has(undo.executionId);
  if (isDone) throw alreadyUndone('This call was undone already.', { executionId });
  if (row.state === 'running' && repeatable) return;
  throw alreadyUndone(
    'An earlier undo of this call ended without an answer, so it is unknown whether it took effect. Look in the app.',
    { executionId, outcome: 'unknown' },
  );
}

function alreadyUndone(message: string, details: JsonObject): GatehouseError {
  return new GatehouseError('already_undone', message, { details });
}
