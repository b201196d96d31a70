import { executeAction, type ExecuteContext } from '../actions/execute.ts';
import { effectOf, type Effect } from '../connectors/effects.ts';
import type { Context } from './context.ts';
import { answerText } from '../lib/http/body-text.ts';
import { MINUTE } from '../lib/clock.ts';
import { GatehouseError, type ErrorCode } from '../lib/errors.ts';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';
import { restricted } from '../servers/access.ts';
import type { LiveServer } from '../servers/live-servers.ts';
import { credentialsIn, type RunRow } from './begin.ts';
import { CHAIN_HEADER } from './chain-header.ts';
import type { ActionStep, Definition, HttpStep } from './workflow-definition.ts';

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
    chain,
  }: {
    definition: Definition;
    step: CallStep;
    input: JsonObject;
    upstreamKey: string;
    /** The place of the run in its chain. */
    chain: number;
  },
): Promise<JsonObject> {
  const live = await serverOf(context, run);
  const output =
    'http' in step
      ? await request(context, definition, { live, input, upstreamKey, chain })
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
            limits: live.server,
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
  {
    live,
    input,
    upstreamKey,
    chain,
  }: { live: LiveServer | undefined; input: JsonObject; upstreamKey: string; chain: number },
): Promise<JsonObject> {
  const effect = effectOf(String(input['method']));
  const rule =
    live?.decision.named(HTTP_ACTION.connectorId, HTTP_ACTION.actionId) ?? live?.decision.effect(effect);
  if (rule !== undefined) throw restricted('http steps', rule);
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
      [CHAIN_HEADER]: String(chain + 1),
    },
    ...(text === undefined ? {} : { body: text }),
    timeoutMs: HTTP_TIMEOUT_MS,
    maxBytes: MAX_OUTPUT_BYTES,
  });
  if (answer.status >= 200 && answer.status < 300) return { data: bodyOf(answer), status: answer.status };
  throw refusal(target.host, answer);
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

function bodyOf(answer: OutboundAnswer): Json {
  const text = answerText(answer);
  try {
    return text === '' ? null : parseJson(text);
  } catch {
    return text;
  }
}

function refusal(host: string, answer: OutboundAnswer): GatehouseError {
  const { status, headers } = answer;
  const code: ErrorCode =
    status === 429 ? 'upstream_rate_limited' : status >= 500 ? 'upstream_failed' : 'upstream_rejected';
  const seconds = Number(headers['retry-after']);
  return new GatehouseError(code, `${host} answered ${status}.`, {
    details: { status, excerpt: answerText(answer).slice(0, 500) },
    retryAfterSeconds: Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : undefined,
  });
}
