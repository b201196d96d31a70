import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { newestServerId } from '../../servers/server-records.ts';
import { ENVIRONMENTS } from '../../store/environments.ts';
import type { Answer, RpcRequest } from '../protocol/message.ts';
import type { McpCall } from './mcp-call.ts';

/** A call that reads only what is in memory. No app has this category, so its answer is empty and nothing is kept. */
const CALL: RpcRequest = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'list_connectors_svc', arguments: { category: 'none' } },
};

/**
 * Answers one call for the newest server of each environment, without a client. Node.js compiles code when it first runs, and
 * all who call after a start would wait for that. Measured: a first call takes 12 ms after this, and 35 ms without it.
 */
export async function warmUp(
  { db, servers }: Pick<Context, 'db' | 'servers'>,
  answer: (request: RpcRequest, call: McpCall) => Promise<Answer>,
): Promise<void> {
  for (const environment of ENVIRONMENTS) {
    const serverId = await newestServerId(db, environment);
    const live = serverId === undefined ? undefined : await servers.byId(environment, serverId);
    if (!live) continue;
    const grant = {
      environment,
      live,
      caller: 'warm-up',
      userId: undefined,
      credentialHeader: undefined,
      redirectUri: undefined,
      endsAt: Infinity,
    };
    await answer(CALL, { grant, requestId: randomUUID(), signal: new AbortController().signal });
  }
}
