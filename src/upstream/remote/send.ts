import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { writtenOut } from '../../lib/hidden-characters.ts';
import { asObject, MAX_JSON_DEPTH, type Json } from '../../lib/json.ts';
import { secretsIn } from '../../lib/scrub.ts';
import { sha256 } from '../../lib/sha256.ts';
import type { Context } from '../context.ts';
import { parseAnswer } from '../large-answers.ts';
import { cancelled } from '../pause.ts';
import { inputForJson } from '../sent-numbers.ts';
import { buildEndpoint, type Endpoint } from '../request.ts';
import type { UpstreamAnswer, UpstreamCall } from '../upstream-call.ts';
import { shallowEntries } from './listed.ts';
import { ChangesNotReported, RefusedByServer } from './remote-fetch.ts';
import { DeadlinePassed, StreamBroken } from './broken.ts';
import type { RemoteSession } from './session.ts';
import type { Wanted } from './remote-sessions.ts';

type SendContext = Pick<Context, 'clock' | 'throttle' | 'remoteSessions'>;

/** The code of an error about headers that differ from the body (MCP 2026-07-28). */
const HEADER_MISMATCH = -32_020;
/** Codes of JSON-RPC with which a server rejects a request before it does anything. */
const REFUSALS: ReadonlySet<number> = new Set<number>([
  HEADER_MISMATCH,
  ProtocolErrorCode.InvalidParams,
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.MethodNotFound,
  ProtocolErrorCode.MissingRequiredClientCapability,
  ProtocolErrorCode.ParseError,
  ProtocolErrorCode.UnsupportedProtocolVersion,
]);
const MAX_PAGES = 100;

/**
 * Sends a call to a remote MCP server. An HTTP refusal is returned as an answer with its status. An error of JSON-RPC is
 * returned as an answer with the status 400 or 500.
 * @throws GatehouseError upstream_timeout, upstream_failed, upstream_too_large
 */
export async function sendRemote(
  context: SendContext,
  call: UpstreamCall,
  timeoutMs: number,
): Promise<UpstreamAnswer> {
  const endpoint = await buildEndpoint(call, context.clock.now());
  using place = context.throttle.place(call);
  const wanted: Wanted = { ...wantedFor(call, endpoint, timeoutMs), place };
  try {
    const endsAt = context.clock.now() + timeoutMs;
    const isOver = () => context.clock.now() >= endsAt;
    const result = call.following
      ? await follow(context, wanted, { ...call.following, uri: String(call.input['uri']) })
      : await context.remoteSessions.use(wanted, (session) => perform(session, call, isOver));
    return await answerOf(context, endpoint, { status: 200, text: JSON.stringify(result) });
  } catch (error) {
    if (call.signal?.aborted) throw cancelled(call);
    if (error instanceof RefusedByServer) {
      const { status, headers, body } = error;
      return { ...(await answerOf(context, endpoint, { status, text: body })), headers };
    }
    if (error instanceof ProtocolError) {
      const { code, message } = error;
      const status = REFUSALS.has(code) ? 400 : 500;
      return answerOf(context, endpoint, { status, text: JSON.stringify({ error: { code, message } }) });
    }
    throw failureOf(call, error, timeoutMs);
  }
}

async function follow(
  { remoteSessions }: SendContext,
  wanted: Wanted,
  followed: NonNullable<Wanted['followed']>,
): Promise<Record<string, unknown>> {
  await remoteSessions.follow({ ...wanted, followed });
  return {};
}

function wantedFor(call: UpstreamCall, endpoint: Endpoint, timeoutMs: number): Wanted {
  const { credential, connector, signal, onProgress, onLog, onQuestion } = call;
  return {
    connector,
    url: endpoint.url,
    account: [
      connector.environments.join(),
      connector.connectorId,
      endpoint.url,
      credential?.credentialId,
    ].join(' '),
    isRoutine: call.isRoutine,
    // The key of a session covers account, secrets and definition, so that a call with others gets its own session.
    key:
      credential &&
      sha256(
        [
          credential.credentialId,
          connector.fingerprint,
          endpoint.url,
          // Whether the client can be asked is a fact of the whole session.
          onQuestion ? 'asks' : '',
          ...endpoint.secrets.map((one) => one.open()),
        ].join('\n'),
      ),
    headers: endpoint.headers,
    timeoutMs,
    allowSandbox: connector.served,
    signal,
    onProgress,
    onLog,
    onQuestion,
  };
}

/** Sends the request that the action names. */
async function perform(
  session: RemoteSession,
  { action, input }: UpstreamCall,
  isOver: () => boolean,
): Promise<Record<string, unknown>> {
  const { mcp } = action.definition;
  switch (mcp?.method) {
    case 'tools/call':
      return session.ask({
        method: 'tools/call',
        params: { name: mcp.name, arguments: inputForJson({ action, input }) },
        inputSchema: action.inputSchema,
      });
    case 'resources/read':
    case 'prompts/get':
    case 'completion/complete':
      // The schema of the action has the shape of the request.
      return session.ask({ method: mcp.method, params: input });
    case 'resources/list':
      return {
        resources: await listOf(session, isOver, { method: 'resources/list', member: 'resources' }),
        templates: await templatesOf(session, isOver),
      };
    case 'prompts/list':
      return { prompts: await listOf(session, isOver, { method: 'prompts/list', member: 'prompts' }) };
    default: {
      await session.refresh();
      const tools = await listOf(session, isOver, { method: 'tools/list', member: 'tools' });
      return { server: session.server, capabilities: session.capabilities, tools: shallowEntries(tools) };
    }
  }
}

/** Returns the templates of a server; none if the server does not know this method. */
async function templatesOf(session: RemoteSession, isOver: () => boolean): Promise<unknown[]> {
  try {
    const method = 'resources/templates/list';
    return await listOf(session, isOver, { method, member: 'resourceTemplates' });
  } catch (error) {
    if (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound) return [];
    throw error;
  }
}

/** A list of a server, and the member of its pages that has the entries. */
interface List {
  method: 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list';
  member: string;
}

/**
 * Returns the entries of a list of a server, from all its pages, which share the time of the call.
 * @throws DeadlinePassed, GatehouseError `upstream_failed` for too many pages
 */
async function listOf(
  session: RemoteSession,
  isOver: () => boolean,
  { method, member }: List,
): Promise<unknown[]> {
  const entries: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    if (isOver()) throw new DeadlinePassed(`The answer to ${method} took too long.`);
    const request = { method, ...(cursor === undefined ? {} : { params: { cursor } }) };
    const { [member]: some, nextCursor } = await session.ask(request);
    if (Array.isArray(some)) entries.push(...some);
    // Some servers end a list with an empty cursor, or with the last one again.
    if (typeof nextCursor !== 'string' || nextCursor === '' || seen.has(nextCursor)) return entries;
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  throw new GatehouseError(
    'upstream_failed',
    `The MCP server answers ${method} in more than ${MAX_PAGES} pages.`,
  );
}

/** Returns an answer with its parsed body, under the limits of all answers, and with the secrets that it repeats. */
async function answerOf(
  { throttle }: SendContext,
  { secrets }: Endpoint,
  { status, text }: { status: number; text: string },
): Promise<UpstreamAnswer> {
  const facts = { status, headers: {}, secrets, reflected: secretsIn(text, secrets) };
  try {
    const body = await parseAnswer(Buffer.from(text), throttle.pause);
    // A failed tool is a refusal, whose words a model must see as they are. Data of success passes unchanged.
    return { ...facts, body: asObject(body)['isError'] === true ? writtenOut(body) : body };
  } catch (error) {
    if (status >= 300) return { ...facts, body: text satisfies Json };
    if (error instanceof RangeError)
      throw new GatehouseError(
        'upstream_failed',
        `The MCP server answered with JSON that nests deeper than ${MAX_JSON_DEPTH} levels.`,
        { details: { reason: 'too_deep' }, cause: error },
      );
    throw error;
  }
}

function failureOf({ connector }: UpstreamCall, error: unknown, timeoutMs: number): unknown {
  const { name, connectorId } = connector;
  if (error instanceof GatehouseError) return error;
  if (error instanceof ChangesNotReported)
    return new GatehouseError(
      'upstream_rejected',
      `${name} reports no changes of its resources. Read the resource again instead.`,
      { details: { connectorId }, cause: error },
    );
  const isLate = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
  if (isLate || error instanceof DeadlinePassed) {
    const seconds = Math.max(1, Math.round(timeoutMs / SECOND));
    return new GatehouseError('upstream_timeout', `${name} did not answer within ${seconds} s.`, {
      details: { connectorId },
      cause: error,
    });
  }
  const [reason, what] =
    error instanceof StreamBroken
      ? ['reset', 'ended its stream without an answer']
      : ['protocol', 'did not answer as an MCP server'];
  return new GatehouseError('upstream_failed', `${name} ${what}.`, {
    details: { reason, connectorId },
    cause: error,
  });
}
