import { executeAction, type ExecuteContext } from '../actions/execute.ts';
import { effectOf, type Effect } from '../connectors/effects.ts';
import type { Context } from './context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError, type ErrorCode } from '../lib/errors.ts';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { backoff, jitter } from '../runtime/backoff.ts';
import type { LiveServer } from '../servers/live.ts';
import { isOutcomeUnknown, isRepeatable, outcomeUnknown } from '../upstream/outcome.ts';
import { credentialsIn, type RunRow } from './begin.ts';
import type { ActionStep, Definition, HttpStep } from './definition.ts';

export type PerformContext = ExecuteContext & Pick<Context, 'servers'>;
export type CallStep = ActionStep | HttpStep;

/** Returns the input of a call, with its expressions. */
export function templateOf(step: CallStep): JsonObject {
  if ('connectorId' in step) return step.input;
  const { method, url, headers = {}, body = null } = step.http;
  return { method, url, headers, body };
}

/** Limit of a step's answer as JSON: `data`, for lists also `pagination`. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const HTTP_TIMEOUT_MS = MINUTE;
/** The action name of `http` steps in restrictions of MCP servers. */
export const HTTP_ACTION = { connectorId: 'http', actionId: 'request' };

/**
 * Makes the call of a step. `upstreamKey` stays the same when the same call is repeated.
 * @throws GatehouseError as executeAction(); `restricted`, also when the run's MCP server is deleted or switched off.
 */
export async function perform(
  context: PerformContext,
  run: RunRow,
  {
    definition,
    step,
    input,
    upstreamKey,
  }: { definition: Definition; step: CallStep; input: JsonObject; upstreamKey: string },
): Promise<JsonObject> {
  const live = await serverOf(context, run);
  const output =
    'http' in step
      ? await request(context, definition, { live, input, upstreamKey })
      : await runAction(context, run, { step, live, input, upstreamKey });
  const bytes = Buffer.byteLength(JSON.stringify(output));
  if (bytes > MAX_OUTPUT_BYTES) {
    throw new GatehouseError(
      'upstream_too_large',
      `The answer has ${bytes} bytes. A step stores at most ${MAX_OUTPUT_BYTES}. Request less with limit or a filter.`,
    );
  }
  return output;
}

async function runAction(
  context: PerformContext,
  run: RunRow,
  {
    step: { connectorId, actionId },
    live,
    input,
    upstreamKey,
  }: { step: ActionStep; live: LiveServer | undefined; input: JsonObject; upstreamKey: string },
): Promise<JsonObject> {
  const { data, pagination } = await executeAction(context, {
    environment: run.environment,
    caller: `run:${run.run_id}`,
    requestId: run.request_id,
    userId: run.user_id,
    ...(live
      ? {
          server: {
            serverId: live.server.serverId,
            decision: live.decision,
            confirm: async ({ effect }) => assertUnconfirmed(live, effect),
          },
        }
      : {}),
    connectorId,
    actionId,
    input,
    credentialId: await credentialOf(context, run, connectorId),
    upstreamKey,
  });
  return pagination === undefined ? { data } : { data, pagination: { ...pagination } };
}

/** Returns the installation's current credential, or the one of a trial run. */
async function credentialOf(
  { db }: Pick<Context, 'db'>,
  run: RunRow,
  connectorId: string,
): Promise<string | undefined> {
  if (run.credentials !== null) return credentialsIn(run.credentials)[connectorId];
  if (run.installation_id === null) return undefined;
  const row = await db
    .selectFrom('workflow_installations')
    .select('credentials')
    .where('installation_id', '=', run.installation_id)
    .executeTakeFirst();
  return row && credentialsIn(row.credentials)[connectorId];
}

async function serverOf({ servers }: Pick<Context, 'servers'>, run: RunRow): Promise<LiveServer | undefined> {
  if (run.server_id === null) return undefined;
  const live = await servers.byId(run.environment, run.server_id);
  if (live?.server.enabled) return live;
  throw new GatehouseError('restricted', 'The MCP server that started this run is deleted or turned off.', {
    details: { rule: 'server' },
  });
}

/** Rejects calls that need confirmation, because no user can be asked during a run. */
function assertUnconfirmed({ decision }: LiveServer, effect: Effect): void {
  const rule = decision.confirms(effect);
  if (rule === undefined) return;
  throw new GatehouseError(
    'confirmation_required',
    `The MCP server that started this run requires the user's confirmation of each ${effect} step (${rule}), ` +
      'and a run cannot ask the user. Call the action directly, or start the run by REST.',
    { details: { rule } },
  );
}

const BODILESS = new Set(['GET', 'HEAD']);

async function request(
  { outbound }: Pick<Context, 'outbound'>,
  { allowedHosts }: Definition,
  { live, input, upstreamKey }: { live: LiveServer | undefined; input: JsonObject; upstreamKey: string },
): Promise<JsonObject> {
  const effect = effectOf(String(input['method']));
  const rule =
    live?.decision.named(HTTP_ACTION.connectorId, HTTP_ACTION.actionId) ?? live?.decision.effect(effect);
  if (rule !== undefined) {
    throw new GatehouseError('restricted', `This MCP server does not allow http steps (${rule}).`, {
      details: { rule },
    });
  }
  if (live) assertUnconfirmed(live, effect);
  const { url, method, headers, body } = input;
  const target = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (!target || !allowedHosts.includes(target.host)) {
    throw new GatehouseError(
      'invalid_request',
      `The host of this http step is not one of allowedHosts (${allowedHosts.join(', ')}).`,
    );
  }
  const verb = String(method);
  const text = body === undefined || body === null || BODILESS.has(verb) ? undefined : JSON.stringify(body);
  const answer = await outbound.request({
    method: verb,
    url: target.href,
    headers: {
      accept: 'application/json',
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...(BODILESS.has(verb) ? {} : { 'idempotency-key': upstreamKey }),
      ...headersIn(headers),
    },
    ...(text === undefined ? {} : { body: text }),
    timeoutMs: HTTP_TIMEOUT_MS,
    maxBytes: MAX_OUTPUT_BYTES,
  });
  if (answer.status >= 200 && answer.status < 300)
    return { data: bodyOf(answer.body), status: answer.status };
  throw refusal(target.host, answer.status, { headers: answer.headers, body: answer.body });
}

function headersIn(headers: Json | undefined): Record<string, string> {
  if (headers === undefined || !isJsonObject(headers)) return {};
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [
        name.toLowerCase(),
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
  );
}

function bodyOf(body: Buffer): Json {
  const text = body.toString('utf8');
  try {
    return text === '' ? null : parseJson(text);
  } catch {
    return text;
  }
}

function refusal(
  host: string,
  status: number,
  { headers, body }: { headers: Record<string, string>; body: Buffer },
): GatehouseError {
  const code: ErrorCode =
    status === 429 ? 'upstream_rate_limited' : status >= 500 ? 'upstream_failed' : 'upstream_rejected';
  const seconds = Number(headers['retry-after']);
  return new GatehouseError(code, `${host} answered ${status}.`, {
    details: { status, excerpt: body.subarray(0, 500).toString('utf8') },
    headers: Number.isFinite(seconds) && seconds > 0 ? { 'Retry-After': String(Math.ceil(seconds)) } : {},
  });
}

/** Returns whether repeating the call of a step under the same key is safe. */
export function mayRepeat({ catalog }: Pick<Context, 'catalog'>, run: RunRow, step: CallStep): boolean {
  // Calls of http steps carry an Idempotency-Key.
  if ('http' in step) return true;
  const connector = catalog.connector(run.environment, step.connectorId);
  const action = connector?.actions.get(step.actionId);
  if (!connector || !action) return false;
  return isRepeatable({ connector, action, idempotencyKey: 'key' });
}

/** The consequence of a failure: repeat later, continue with the next step, or end the run. */
export type Decision =
  | { next: 'again'; waitMs: number; newKey: boolean }
  | { next: 'continue' }
  | { next: 'stop' };

const TRANSIENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_rate_limited',
  'rate_limited',
  'unavailable',
]);
/** Errors that repeat as long as the step, its input and its accounts stay the same. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'restricted',
  'forbidden',
  'confirmation_required',
  'connector_not_found',
  'action_not_found',
  'credential_not_found',
  'expression_failed',
  'upstream_too_large',
]);
/** Statuses that reject the call itself. After 404, 409 and 422 the app's data may have changed. */
const PERMANENT_STATUSES: ReadonlySet<unknown> = new Set([
  400, 401, 403, 405, 406, 410, 411, 413, 414, 415, 431,
]);
const MAX_TRANSIENT = 20;
const RETRIES = { firstMs: 5 * SECOND, longestMs: 10 * MINUTE };

/** Decides after `attempts` attempts. A call that may have had an effect is repeated only if that is safe. */
export function decide(
  error: GatehouseError,
  onError: CallStep['onError'],
  { attempts, repeatable }: { attempts: number; repeatable: boolean },
): Decision {
  const waitMs = waitAfter(error, attempts);
  if (TRANSIENT.has(error.code) && attempts < MAX_TRANSIENT) return { next: 'again', waitMs, newKey: false };
  const unknown = isOutcomeUnknown(error);
  const retryMayHelp = !isPermanent(error) && (repeatable || !unknown);
  if (typeof onError === 'object' && attempts <= onError.retry && retryMayHelp)
    return { next: 'again', waitMs, newKey: !unknown };
  return onError === 'continue' ? { next: 'continue' } : { next: 'stop' };
}

/** Returns whether the same call would be rejected again. */
function isPermanent({ code, details }: GatehouseError): boolean {
  if (code === 'upstream_rejected') return PERMANENT_STATUSES.has(details?.['status']);
  return PERMANENT.has(code) || details?.['reason'] === 'blocked_address';
}

function waitAfter(error: GatehouseError, attempts: number): number {
  const retryAfter = Number(error.headers['Retry-After']);
  if (Number.isFinite(retryAfter) && retryAfter > 0) return Math.min(retryAfter * SECOND, 24 * 60 * MINUTE);
  return jitter(backoff(attempts, RETRIES), 0.2);
}

/** Returns the error for a call whose process died, so that its effect is unknown. */
export function callAbandoned(): GatehouseError {
  return outcomeUnknown(
    'The process ended during this call, and the app supports no idempotency keys: whether it took effect is ' +
      'unknown. Check the app before you retry this run.',
  );
}
