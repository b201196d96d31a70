import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Context } from '../context.ts';
import type { Caller } from '../identity/caller.ts';
import { findUser, findUserByName } from '../identity/users.ts';
import { GatehouseError, publicError } from '../lib/errors.ts';
import { jsonFromBody } from '../lib/http-body.ts';
import { isJsonObject } from '../lib/json.ts';
import { findServerByIdOrName } from '../servers/records.ts';
import type { Environment } from '../store/schema.ts';
import { grantFor, type Grant } from './grant.ts';
import { initializeResult, negotiate } from './initialize.ts';
import { readMessage, type RpcRequest } from './message.ts';
import { createMcpCore, type McpCore } from './server.ts';

/** What `gatehouse stdio --server` was asked for. */
export interface StdioWish {
  environment: Environment;
  /** Id, or name without regard to case. */
  server: string;
  /** Id or username; without it the server's owner. */
  user: string | undefined;
}

/**
 * Serves one MCP server on standard input and output, a JSON-RPC message a line, straight from the store. Ends with
 * the input. Restrictions, switches and users are looked at anew for each request.
 * @throws GatehouseError when server or user are not there, or the one does not serve the other.
 */
export async function runStdio(
  context: Context,
  wish: StdioWish,
  { input, output, signal }: { input: Readable; output: Writable; signal?: AbortSignal },
): Promise<void> {
  const grant = await grantOf(context, wish);
  const core = createMcpCore(context);
  const running = new Map<string | number, AbortController>();
  const write = (message: object | string): void => {
    output.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  };
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  signal?.addEventListener('abort', () => lines.close(), { once: true });
  const pending = new Set<Promise<void>>();
  try {
    for await (const line of lines) {
      if (line.trim() === '') continue;
      const work = answerLine(context, core, grant.server, wish, line, running, write).finally(() =>
        pending.delete(work),
      );
      pending.add(work);
    }
    // What was asked before the input ended is still answered.
    await Promise.all(pending);
  } finally {
    for (const controller of running.values()) controller.abort();
    await core.close();
  }
}

async function answerLine(
  context: Context,
  core: McpCore,
  serverId: string,
  wish: StdioWish,
  line: string,
  running: Map<string | number, AbortController>,
  write: (message: object | string) => void,
): Promise<void> {
  const requestId = randomUUID();
  let id: string | number | null = null;
  try {
    const message = readMessage(parsed(line));
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      const cancelled = message.params['requestId'];
      if (typeof cancelled === 'string' || typeof cancelled === 'number') running.get(cancelled)?.abort();
    }
    if (message.kind !== 'request') return;
    id = message.request.id;
    const { grant } = await grantOf(context, { ...wish, server: serverId });
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const text = await answer(
        core,
        message.request,
        { grant, requestId, signal: controller.signal },
        write,
      );
      if (!controller.signal.aborted) write(text);
    } catch (error) {
      if (!controller.signal.aborted) throw error;
    } finally {
      running.delete(id);
    }
  } catch (thrown) {
    const error = publicError(thrown);
    if (error.code === 'internal') context.log.error({ requestId, err: thrown }, 'request failed');
    const code = error.details?.['parse'] === true ? -32700 : error.rpcCode;
    write({
      jsonrpc: '2.0',
      id,
      error: { code, message: error.message, data: { code: error.code, requestId } },
    });
  }
}

async function answer(
  core: McpCore,
  request: RpcRequest,
  call: { grant: Grant; requestId: string; signal: AbortSignal },
  write: (message: object) => void,
): Promise<object | string> {
  const own = (result: object) => ({ jsonrpc: '2.0', id: request.id, result });
  switch (request.method) {
    case 'initialize':
      return own(
        initializeResult(
          negotiate(request.params?.['protocolVersion']),
          core.visible(call.grant).instructions,
        ),
      );
    case 'ping':
    case 'logging/setLevel':
    case 'resources/unsubscribe':
      return own({});
    case 'resources/subscribe': {
      const read = await core.answer({ ...request, method: 'resources/read' }, call);
      return read.failed ? read.text : own({});
    }
    case 'tools/list': {
      const list = request.params?.['cursor'] === undefined ? core.toolList(call.grant) : undefined;
      return list
        ? `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":${list.toString()}}`
        : asked();
    }
    default:
      return asked();
  }

  async function asked(): Promise<string> {
    const meta = request.params?.['_meta'];
    const progressToken = isJsonObject(meta) ? meta['progressToken'] : undefined;
    const onProgress =
      progressToken === undefined
        ? undefined
        : (progress: object) =>
            write({
              jsonrpc: '2.0',
              method: 'notifications/progress',
              params: { progressToken, ...progress },
            });
    return (await core.answer(request, { ...call, onProgress })).text;
  }
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
  { environment, server: wanted, user }: StdioWish,
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
  const grant = await grantFor(context, live, caller, { userId, token: undefined });
  return { server: live.server.serverId, grant };
}

async function userIdOf({ db }: Context, environment: Environment, user: string): Promise<string> {
  const found = (await findUser(db, environment, user)) ?? (await findUserByName(db, environment, user));
  if (found) return found.userId;
  throw new GatehouseError('user_not_found', `There is no user "${user}" in the environment ${environment}.`);
}
