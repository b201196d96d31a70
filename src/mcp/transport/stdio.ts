import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Context } from '../context.ts';
import type { Caller } from '../../identity/caller.ts';
import { findUser, findUserByName } from '../../identity/users.ts';
import { answerError, GatehouseError, hidesCause } from '../../lib/errors.ts';
import { jsonFromBody } from '../../lib/http/http-body.ts';
import { findServerByIdOrName } from '../../servers/server-records.ts';
import type { Environment } from '../../store/environments.ts';
import type { Askable } from '../scope/elicitation.ts';
import { answerOn } from './answer-stream.ts';
import { grantFor, type Grant } from '../scope/grant.ts';
import { clientOf, type Client } from '../protocol/initialize.ts';
import { createListeners, type EventSink } from './listeners.ts';
import { readMessage, responseText, type RpcResponse, type RpcRequest } from '../protocol/message.ts';
import { isMcp2026, readMcp2026 } from '../protocol/mcp-2026.ts';
import type { Connection } from '../scope/mcp-call.ts';
import { createMcp2026Exchange, type Mcp2026Exchange } from './exchange-2026.ts';
import { createMcpCore, type McpCore } from '../server/server.ts';
import { watchChanges, type Watch, type Watcher } from './watch.ts';
import { DRAIN_MS } from '../../lib/http/drain.ts';

/** The options of `gatehouse stdio --server`. */
export interface StdioOptions {
  environment: Environment;
  /** Id, or name, case-insensitive. */
  server: string;
  /** Id or username; undefined means the server's owner. */
  user: string | undefined;
}

/**
 * Serves one MCP server on standard input and output, one JSON-RPC message a line. Reads the store directly. Ends when the
 * input ends. Restrictions, switches and users are read for each request.
 * @throws GatehouseError when the server or user does not exist, or the server does not serve the user.
 */
export async function runStdio(
  context: Context,
  options: StdioOptions,
  { input, output, signal }: { input: Readable; output: Writable; signal?: AbortSignal },
): Promise<void> {
  const { server } = await grantOf(context, options);
  const core = await createMcpCore(context);
  const send = (message: object | string): void => {
    output.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  };
  const listeners = createListeners();
  const watch = watchChanges(context, core.remoteSubscriptions, () => [
    ...listeners.all(),
    ...(stdio.client ? [stdio.client] : []),
  ]);
  const ended = new AbortController();
  const stdio: Stdio = {
    context,
    core,
    send,
    mcp2026: createMcp2026Exchange(context, { core, listeners, watch }),
    rights: async () => (await grantOf(context, { ...options, server })).grant,
    watch,
    running: new Map(),
    client: undefined,
    ended: ended.signal,
  };
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  signal?.addEventListener('abort', () => lines.close(), { once: true });
  const pending = new Set<Promise<void>>();
  try {
    for await (const text of lines) {
      if (text.trim() === '') continue;
      const work = answerLine(stdio, text).finally(() => pending.delete(work));
      pending.add(work);
    }
    // Pending requests still get their answer. Questions to the client end, because it can no longer answer them.
    ended.abort();
    await Promise.all(pending);
    await core.runningTasks.drain(DRAIN_MS);
  } finally {
    listeners.closeStreams();
    watch.close();
    for (const controller of stdio.running.values()) controller.abort();
    await core.close();
  }
}

type StdioClient = Askable & Watcher & Connection;

/** The connection to the one client of this process. */
interface Stdio {
  context: Context;
  core: McpCore;
  mcp2026: Mcp2026Exchange;
  watch: Watch;
  send(message: object | string): void;
  rights(): Promise<Grant>;
  /** Requests and subscriptions under way, by the client's id. */
  running: Map<string | number, AbortController>;
  /** The client as `initialize` declared it. */
  client: StdioClient | undefined;
  /** Aborts when the input ends. */
  ended: AbortSignal;
}

async function answerLine(stdio: Stdio, text: string): Promise<void> {
  const requestId = randomUUID();
  let id: string | number | null = null;
  try {
    const message = readMessage(parsed(text));
    if (message.kind === 'response') stdio.client?.asked.get(message.id ?? '')?.(message.result);
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      const cancelled = message.params['requestId'];
      if (typeof cancelled === 'string' || typeof cancelled === 'number')
        stdio.running.get(cancelled)?.abort();
    }
    if (message.kind !== 'request') return;
    const { request } = message;
    id = request.id;
    const controller = new AbortController();
    stdio.running.set(id, controller);
    const { signal } = controller;
    let subscribed = false;
    try {
      const grant = await stdio.rights();
      const answer = isMcp2026(undefined, request)
        ? await answerMcp2026(stdio, request, { grant, requestId, signal })
        : await answerOlder(stdio, request, { grant, requestId, signal });
      subscribed = answer === undefined;
      if (answer && !signal.aborted) stdio.send(responseText(id, answer));
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (!subscribed) stdio.running.delete(id);
    }
  } catch (thrown) {
    const error = answerError(thrown);
    if (hidesCause(error)) stdio.context.log.error({ requestId, err: thrown }, 'request failed');
    const code = error.details?.['parse'] === true ? -32700 : error.rpcCode;
    const { parse: _, ...details } = error.details ?? {};
    stdio.send({
      jsonrpc: '2.0',
      id,
      error: { code, message: error.message, data: { code: error.code, requestId, ...details } },
    });
  }
}

interface StdioCall {
  grant: Grant;
  requestId: string;
  signal: AbortSignal;
}

/** Answers a request of MCP 2026-07-28. Returns undefined when it opened a subscription. */
async function answerMcp2026(
  { mcp2026, send, rights, running }: Stdio,
  request: RpcRequest,
  call: StdioCall,
): Promise<RpcResponse | undefined> {
  const sink = (): EventSink => {
    const closed: (() => void)[] = [];
    const end = () => {
      running.delete(request.id);
      for (const onClosed of closed.splice(0)) onClosed();
    };
    call.signal.addEventListener('abort', end, { once: true });
    return { send, ping: () => {}, end, onClose: (onClosed) => closed.push(onClosed) };
  };
  return mcp2026.answer(readMcp2026(request), { send }, { ...call, rights, sink });
}

/** Answers a request of an older version, with or without `initialize`. */
async function answerOlder(stdio: Stdio, request: RpcRequest, call: StdioCall): Promise<RpcResponse> {
  const initialize = request.method === 'initialize' ? clientOf(request) : undefined;
  // Later lines are answered at the same time, and need the client.
  if (initialize) stdio.client = toClient(stdio, call.grant, initialize);
  const { client } = stdio;
  return answerOn(stdio, stdio, { ...call, request, client, protocolVersion: initialize?.protocolVersion });
}

function toClient({ context, rights, ended, send }: Stdio, grant: Grant, { abilities }: Client): StdioClient {
  return {
    environment: grant.environment,
    serverId: grant.live.server.serverId,
    userId: grant.userId,
    credentialHeader: grant.credentialHeader,
    subscriptions: new Set(),
    logLevel: undefined,
    live: grant.live,
    newest: new Map(),
    since: context.clock.now(),
    endsAt: grant.endsAt,
    rights,
    ping: () => {},
    // There is no stream to close. Each later request is checked, and rejected, on its own.
    onRightsEnded: () => {},
    abilities,
    asked: new Map(),
    gone: ended,
    notify: (method, values = {}) => send({ jsonrpc: '2.0', method, params: values }),
  };
}

function parsed(line: string) {
  try {
    return jsonFromBody(line);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    throw new GatehouseError(error.code, error.message, { details: { parse: true }, cause: error });
  }
}

async function grantOf(
  context: Context,
  { environment, server: wanted, user }: StdioOptions,
): Promise<{ server: string; grant: Grant }> {
  const record = await findServerByIdOrName(context.db, environment, wanted);
  const live = record && (await context.servers.byId(environment, record.serverId));
  if (!live) {
    throw new GatehouseError(
      'server_not_found',
      `There is no MCP server "${wanted}" in the environment ${environment}.`,
    );
  }
  const caller: Caller = {
    kind: 'local',
    environment,
    label: 'stdio',
    userId: undefined,
    scopes: new Set(['mcp:use']),
  };
  const userId = user === undefined ? undefined : await userIdOf(context, environment, user);
  const grant = await grantFor(context, { live, caller }, { userId, token: undefined });
  return { server: live.server.serverId, grant };
}

async function userIdOf({ db }: Context, environment: Environment, user: string): Promise<string> {
  const found = (await findUser(db, environment, user)) ?? (await findUserByName(db, environment, user));
  if (found) return found.userId;
  throw new GatehouseError('user_not_found', `There is no user "${user}" in the environment ${environment}.`);
}
