import { randomUUID } from 'node:crypto';
import type { Action } from '../connectors/catalog.ts';
import { actionOfCall } from '../connectors/compile.ts';
import { effectOfCall, type Effect } from '../connectors/effects.ts';
import { checkInput } from '../connectors/schemas/validate.ts';
import type { Context } from './context.ts';
import { chooseCredential } from '../credentials/choose.ts';
import type { Credential } from '../credentials/credential.ts';
import { openCredential } from '../credentials/sealed-values.ts';
import { judgeFailure } from '../credentials/refusal.ts';
import { withFreshTokens } from '../credentials/refresh.ts';
import { GatehouseError, invalidRequest, publicError } from '../lib/errors.ts';
import { newOrderedId } from '../lib/ids.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { CallLimits } from '../servers/call-limits.ts';
import type { Decision } from '../servers/restrictions.ts';
import type { Environment } from '../store/environments.ts';
import { isRepeatable } from '../upstream/outcome.ts';
import type { TraceHeaders } from '../telemetry/tracing.ts';
import type { Attempt, Following, Notices, UpstreamCall } from '../upstream/upstream-call.ts';
import type { Confirm } from './agreement.ts';
import { assertEffect, findAllowed } from './find-allowed.ts';
import { countInBudgets } from './budgets.ts';
import { isDenial, outcomeOf } from './call-outcome.ts';
import { countAction } from './count-action.ts';
import { fileStoreOf } from './call-files.ts';
import { isGuarded, runGuarded, type GuardedWrite, type WriteGuard } from './duplicate-guard.ts';
import { runOnce } from './idempotency.ts';
import { payloadOf, type UsedCredential } from './payloads.ts';
import { accountOfList } from './positions.ts';
import type { ProgramCall } from './program-call.ts';
import { selected } from './projection.ts';
import { offerUndo, runUndo, type Undo, type UndoOffer } from './undo.ts';
import { assertReads, completed, withFilled, type Denies } from './reads.ts';
import { afterSteps } from './follow-up-steps.ts';
import { readList, readValue, splitWindow } from './read-results.ts';

/** A request to run an action, from REST or MCP. */
export interface ExecuteRequest extends Notices {
  environment: Environment;
  /** Label of the caller for the record: `key:<keyId>`, `jwt:<userId>`, `token:<serverId>`, `stdio`. */
  caller: string;
  requestId: string;
  userId: string | undefined;
  /** The MCP server of the request, with its restrictions and limits; absent for REST. */
  server?: {
    serverId: string;
    decision: Decision;
    limits: CallLimits;
    confirm: Confirm;
    /** Absent where the server does not guard against repeated writes. */
    guard?: WriteGuard | undefined;
  };
  connectorId: string;
  actionId: string;
  /** Set for calls of the connector's own models, which may use its internal actions. */
  allowsInternal?: true;
  input: JsonObject;
  /** The requested members of the result; see projection.ts. */
  fields?: readonly string[] | undefined;
  /** The header x-credential-id. It is ignored when the credential belongs to another connector. */
  credentialHeader?: string | undefined;
  /** The argument `credentialId` of the call. */
  credentialId?: string | undefined;
  /** Gets the credential that the call runs with, before the call. */
  onCredential?: ((credential: Credential | undefined) => void) | undefined;
  idempotencyKey?: string | undefined;
  /**
   * Name of the call in the third party's own idempotency header. A caller that sets it ensures itself that the call
   * runs once.
   */
  upstreamKey?: string | undefined;
  signal?: AbortSignal;
  trace?: TraceHeaders | undefined;
  /** The client's answers to the questions of an earlier answer: see UpstreamCall. */
  answers?: JsonObject | undefined;
  /** The call that this one undoes. */
  undo?: Undo | undefined;
  /** See UpstreamCall. */
  following?: Following | undefined;
  /** The program that makes the call. */
  program?: ProgramCall | undefined;
}

/** The result of an action. `data` is the value, or the page of a list action, which also has `pagination`. */
export interface ExecuteResult {
  data: Json;
  pagination?: { hasMore: boolean; nextOffset?: number };
  /** Set when the call can be undone. */
  undo?: UndoOffer;
  /** Requested fields that no part of the result has, perhaps misspelt. */
  unmatchedFields?: string[];
  /** Set when this is the stored first answer of an Idempotency-Key. */
  replayed?: true;
}

export type ExecuteContext = Pick<
  Context,
  | 'db'
  | 'clock'
  | 'config'
  | 'log'
  | 'telemetry'
  | 'keys'
  | 'hashKey'
  | 'catalog'
  | 'outbound'
  | 'throttle'
  | 'remoteSessions'
  | 'executions'
  | 'circuits'
  | 'operator'
  | 'credentialMemory'
>;

/** Facts of a run so far, for its record. */
interface Facts {
  executionId: string;
  /** The claim of the call in the guard of repeated writes. */
  claimKey?: string;
  action?: Action;
  used?: UsedCredential;
  credential?: Credential | undefined;
  upstreamStatus?: number | undefined;
  /** Requests to the app. */
  attempts: Attempt[];
  /** Whether the budgets have counted the call. A renewal of its tokens sends it again, and must not count twice. */
  isCounted?: true;
}

/**
 * Runs an action: the only way from REST and MCP to a third party. Order: restrictions → connector and action → input
 * → credential → confirmation → Idempotency-Key, undo or guard of repeated writes → circuit → budgets → third party →
 * result. Every run leaves a row. The row is committed before the answer when the action changes something.
 * @throws GatehouseError `restricted` (`details.rule`), `connector_not_found`, `action_not_found`, `invalid_request`
 * (`details.faults`), those of chooseCredential, of Confirm, runOnce and runGuarded, `circuit_open`, `budget_exceeded`,
 * `credential_invalid`, upstream_*.
 */
export function executeAction(context: ExecuteContext, request: ExecuteRequest): Promise<ExecuteResult> {
  const { telemetry } = context;
  if (!telemetry.traces) return recorded(context, request);
  return telemetry.span({ name: 'action', kind: 'internal' }, () => recorded(context, request));
}

async function recorded(context: ExecuteContext, request: ExecuteRequest): Promise<ExecuteResult> {
  const started = performance.now();
  const facts: Facts = { executionId: newOrderedId('exe', context.clock.now()), attempts: [] };
  request.program?.onExecution(facts.executionId);
  const recordEnd = (error?: GatehouseError, result?: ExecuteResult) =>
    record(context, request, { facts, durationMs: performance.now() - started, error, result });
  try {
    const result = await run(context, request, facts);
    await recordEnd(undefined, result);
    return request.fields ? selected(result, request.fields) : result;
  } catch (thrown) {
    await recordEnd(publicError(thrown));
    throw thrown;
  }
}

async function run(context: ExecuteContext, request: ExecuteRequest, facts: Facts): Promise<ExecuteResult> {
  const { connector, action } = findAllowed(context, request);
  facts.action = action;
  if (request.fields && action.definition.response.body === 'content') {
    throw invalidRequest([
      { field: 'fields', rule: 'cannot be chosen from an answer in the content of MCP' },
    ]);
  }
  const faults = checkInput(action, request.input);
  if (faults.length > 0)
    throw invalidRequest(faults, `The input of ${connector.connectorId}.${action.actionId}`);

  const effect = effectOfCall(action, request.input);
  assertEffect(request.server?.decision, action, effect);

  const credential = await chooseCredential(context, {
    environment: request.environment,
    userId: request.userId,
    connector,
    action,
    header: request.credentialHeader,
    argument: request.credentialId,
    onPicked: (picked) => (facts.credential = picked),
  });
  request.onCredential?.(credential);
  if (request.server?.decision.confirms(effect))
    await request.server.confirm({ connector, action, effect, credential, input: request.input });
  const call: UpstreamCall = {
    connector,
    // The method of a raw call decides whether it may be repeated.
    action: actionOfCall(connector, action, request.input),
    credential: undefined,
    input: request.input,
    onProgress: request.onProgress,
    onLog: request.onLog,
    onChanged: request.onChanged,
    onWait: request.onWait,
    onQuestion: request.onQuestion,
    onAttempt: (attempt) => facts.attempts.push(attempt),
    trace: request.trace,
    answers: request.answers,
    files: fileStoreOf(context, request),
    following: request.following,
  };
  if (request.idempotencyKey !== undefined) return runKeyed(context, request, { call: { ...call }, facts });
  if (call.action.effect !== 'read') call.idempotencyKey = request.upstreamKey ?? randomUUID();
  if (request.signal) call.signal = request.signal;
  const perform = () => callThirdParty(context, request, { call, facts });
  if (request.undo) {
    const { undo } = request;
    return runUndo(
      context,
      { undo, repeatable: isRepeatable(call), executionId: facts.executionId },
      perform,
    );
  }
  const guarded = guardedWrite(request, { action, effect, facts });
  if (!guarded) return perform();
  return runGuarded(context, guarded, (claimKey) => {
    facts.claimKey = claimKey;
    return perform();
  });
}

/** Returns the write that the guard of the server may hold; undefined for a call that it lets run. */
function guardedWrite(
  { environment, server, userId, input }: ExecuteRequest,
  { action, effect, facts }: { action: Action; effect: Effect; facts: Facts },
): GuardedWrite | undefined {
  if (!server?.guard || !isGuarded(action, effect)) return undefined;
  const { serverId, guard } = server;
  const credentialId = facts.credential?.credentialId;
  const { executionId } = facts;
  return { environment, serverId, userId, credentialId, action, input, guard, executionId };
}

/**
 * Runs the call under an Idempotency-Key. A client that disconnects does not abort it, because the client will
 * repeat it.
 */
async function runKeyed(
  context: ExecuteContext,
  request: ExecuteRequest,
  { call, facts }: { call: UpstreamCall; facts: Facts },
): Promise<ExecuteResult> {
  const { environment, userId, input, idempotencyKey = '' } = request;
  const { action } = call;
  const { value, replayed } = await runOnce(
    context,
    {
      key: idempotencyKey,
      scope: [environment, userId ?? '', action.connectorId, action.actionId],
      body: { credentialId: facts.credential?.credentialId ?? null, input },
      // The app's own idempotency key also makes a repetition safe.
      repeatable: isRepeatable({ ...call, idempotencyKey }),
    },
    (upstreamKey) =>
      callThirdParty(context, request, { call: { ...call, idempotencyKey: upstreamKey }, facts }),
  );
  return replayed ? { ...value, replayed: true } : value;
}

/** Makes the call, unless the circuit of its server is open. */
async function callThirdParty(
  context: ExecuteContext,
  request: ExecuteRequest,
  running: { call: UpstreamCall; facts: Facts },
): Promise<ExecuteResult> {
  const { server, userId, environment } = request;
  const { action } = running.call;
  const { credential, attempts } = running.facts;
  if (!server?.limits.circuit) return callWithTokens(context, request, running);
  const { circuit } = server.limits;
  const { serverId } = server;
  const credentialId = credential?.credentialId;
  const { connectorId, actionId } = action;
  return context.circuits.through(
    { circuit, environment, serverId, userId, credentialId, connectorId, actionId, attempts },
    () => callWithTokens(context, request, running),
  );
}

/** Makes the call with the chosen credential, whose tokens are renewed when they expire. */
async function callWithTokens(
  context: ExecuteContext,
  request: ExecuteRequest,
  { call, facts }: { call: UpstreamCall; facts: Facts },
): Promise<ExecuteResult> {
  const { connector } = call;
  const { credential } = facts;
  try {
    if (!credential) return await send(context, request, { call, facts });
    return await withFreshTokens(context, { connector, credential }, (fresh) => {
      facts.credential = fresh;
      const opened = openCredential(context, connector, fresh);
      facts.used = { connector, credential: opened };
      return send(context, request, { call: { ...call, credential: opened }, facts });
    });
  } catch (error) {
    if (error instanceof GatehouseError) facts.upstreamStatus = statusIn(error) ?? facts.upstreamStatus;
    const { action } = call;
    const refused = { connector, action, credential: facts.credential, effect: action.effect };
    throw await judgeFailure(context, refused, error);
  }
}

/** Sends all requests of one call, including its further reads, so that they share the renewal of tokens. */
async function send(
  context: ExecuteContext,
  request: ExecuteRequest,
  { call, facts }: { call: UpstreamCall; facts: Facts },
): Promise<ExecuteResult> {
  const { environment, server } = request;
  const onStatus = (status: number): void => {
    facts.upstreamStatus = status;
  };
  const denies: Denies = (action) => server?.decision.action(action);
  const after = call.action.list ? undefined : call.action.definition.after;
  if (after) assertReads(call.connector, call.action, { input: call.input, denies });
  if (!facts.isCounted) await countInBudgets(context, request, call);
  facts.isCounted = true;
  if (!call.action.list) {
    const startedAt = context.clock.now();
    const filled = { ...call, input: await withFilled(context, call, denies) };
    const value = await readValue(context, filled, onStatus);
    const data = after ? await afterSteps(context, filled, { value, denies, startedAt }) : value;
    const undo = request.undo ? undefined : await offered(context, request, { call, facts, result: data });
    return { data, ...(undo ? { undo } : {}) };
  }
  const { window, input } = splitWindow(call.action, call.input);
  const listed = { ...call, input: await withFilled(context, { ...call, input }, denies) };
  const list = { environment, account: accountOfList(facts.credential), window, onStatus };
  const { records, hasMore } = await readList(context, listed, list);
  return {
    data: await completed(context, listed, { records, denies }),
    pagination: hasMore ? { hasMore, nextOffset: window.offset + window.limit } : { hasMore },
  };
}

/** Returns how the caller can undo a call that succeeded; undefined where its file names no inverse. */
function offered(
  context: ExecuteContext,
  { environment, server, userId }: ExecuteRequest,
  { call, facts, result }: { call: UpstreamCall; facts: Facts; result: Json },
): Promise<UndoOffer | undefined> {
  const { connector, action, input } = call;
  const { executionId, claimKey, credential } = facts;
  const { serverId } = server ?? {};
  const credentialId = credential?.credentialId;
  const parties = { executionId, environment, serverId, userId, credentialId, claimKey };
  return offerUndo(context, { connector, action, input, result, parties });
}

function statusIn({ details }: GatehouseError): number | undefined {
  const status = details?.['status'];
  return typeof status === 'number' ? status : undefined;
}

/** The end of a run. */
interface End {
  facts: Facts;
  durationMs: number;
  error: GatehouseError | undefined;
  result: ExecuteResult | undefined;
}

async function record(
  { executions, telemetry, catalog }: ExecuteContext,
  request: ExecuteRequest,
  { facts, durationMs, error, result }: End,
): Promise<void> {
  const rule = isDenial(error) ? error.details?.['rule'] : undefined;
  const execution = {
    executionId: facts.executionId,
    environment: request.environment,
    requestId: request.requestId,
    caller: request.caller,
    serverId: request.server?.serverId,
    userId: request.userId,
    connectorId: request.connectorId,
    actionId: request.actionId,
    credentialId: facts.credential?.credentialId,
    outcome: outcomeOf(error),
    rule: typeof rule === 'string' ? rule : undefined,
    errorCode: error?.code,
    upstreamStatus: facts.upstreamStatus,
    durationMs,
    attempts: facts.attempts,
    programId: request.program?.programId,
    undoOf: request.undo?.executionId,
  };
  const { environment, connectorId, actionId } = request;
  countAction(telemetry, facts.action ?? catalog.action(environment, connectorId, actionId), execution);
  const payload = await payloadOf(executions.payloads, request, { ...facts, error, result });
  if (facts.action === undefined || facts.action.effect === 'read') executions.append(execution, payload);
  else await executions.commit(execution, payload);
}
