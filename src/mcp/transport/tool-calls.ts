import type { Context } from '../context.ts';
import { GatehouseError, isErrorCode } from '../../lib/errors.ts';
import { asJson, asObject, parseJson, type JsonObject } from '../../lib/json.ts';
import type { CallTool } from '../../servers/tool-call.ts';
import type { Abilities } from '../protocol/abilities.ts';
import { responseText, type RpcFault, type RpcRequest } from '../protocol/message.ts';
import { grantFor } from '../scope/grant.ts';
import type { Mcp2026Exchange } from './exchange-2026.ts';

/** The caller shows questions and links to a person. It has no model, no folders and no documents. */
const ABILITIES: Abilities = { form: true, url: true, sampling: false, roots: false, views: false };

/** Nothing but the result reaches the caller, so progress and log messages are dropped. */
const SILENT = { send: () => {} };

/**
 * Creates the calls of tools by REST. They pass the same limits, rights and tools as a request of MCP 2026-07-28. Only the
 * framing differs.
 */
export function createToolCalls(
  context: Pick<Context, 'db' | 'catalog' | 'credentialMemory' | 'limits'>,
  mcp2026: Pick<Mcp2026Exchange, 'answer'>,
): CallTool {
  return async ({ live, caller, userId, requestId, signal, name, ...call }) => {
    await context.limits.mcp(`${live.server.serverId} ${caller.label}`, 1);
    const grant = await grantFor(context, { live, caller }, { userId, token: undefined });
    const request: RpcRequest = {
      jsonrpc: '2.0',
      id: requestId,
      method: 'tools/call',
      params: { name, arguments: call.arguments },
    };
    const answer = await mcp2026.answer(
      {
        request,
        abilities: ABILITIES,
        logLevel: undefined,
        takesTasks: false,
        requestState: call.requestState,
        responses: call.inputResponses,
      },
      SILENT,
      { grant, requestId, signal, rights: async () => grant, sink: noSink },
    );
    if (!answer) throw noSink();
    if ('error' in answer) throw refusalOf(answer.error);
    return resultIn(responseText(requestId, answer));
  };
}

function noSink(): never {
  throw new Error('tools/call opens no stream.');
}

function resultIn(response: string): JsonObject {
  return asObject(asObject(parseJson(response))['result'] ?? null);
}

/** Returns the refusal that a JSON-RPC error holds. */
function refusalOf({ message, data }: RpcFault): GatehouseError {
  const { code, requestId: _, ...details } = asObject(asJson(data ?? null));
  return new GatehouseError(isErrorCode(code) ? code : 'internal', message, { details });
}
