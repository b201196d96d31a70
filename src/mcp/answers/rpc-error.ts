import { answerError, hidesCause } from '../../lib/errors.ts';
import { writtenOut } from '../../lib/hidden-characters.ts';
import { asObject, asJson } from '../../lib/json.ts';
import type { Context } from '../context.ts';
import { messageOf, nextStep } from './next-steps.ts';

/** An error with the numeric code of JSON-RPC. The SDK copies `code`, `message` and `data`. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, { data, cause }: { data: unknown; cause?: unknown }) {
    super(message, { cause });
    this.code = code;
    this.data = data;
  }
}

/** Returns the JSON-RPC error of a refusal. Inside a session or a bare answer an unknown name is invalid params. */
export function toRpcError(context: Context, thrown: unknown, requestId: string): RpcError {
  if (thrown instanceof RpcError) return thrown;
  const error = answerError(thrown);
  if (hidesCause(error)) logInternal(context, thrown, requestId);
  const code =
    error.code === 'not_found' ? -32002 : error.code === 'invalid_request' ? -32602 : error.rpcCode;
  // The client's program handles other codes, but its model reads these two.
  const next = error.code === 'restricted' || error.code === 'internal' ? ` ${nextStep(error)}` : '';
  const details = writtenOut(asJson(error.details ?? {}));
  return new RpcError(code, `${messageOf(error, requestId)}${next}`, {
    data: { code: error.code, requestId, ...asObject(details) },
    cause: thrown,
  });
}

export function logInternal({ log }: Context, thrown: unknown, requestId: string): void {
  log.error({ requestId, err: thrown }, 'MCP request failed');
}
