import { GatehouseError } from '../../lib/errors.ts';
import { wasNumber } from '../../lib/exact-numbers.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';

/** A JSON-RPC request with an id, as received. */
export interface RpcRequest {
  jsonrpc: '2.0';
  id: string | number;
  method: string;
  params?: JsonObject;
  [key: string]: unknown;
}

export type Message =
  | { kind: 'request'; method: string; params: JsonObject; request: RpcRequest }
  | { kind: 'notification'; method: string; params: JsonObject }
  /** The client's answer to a request of ours. */
  | { kind: 'response'; id: string | undefined; result: JsonObject | undefined };

/** The error member of a response. */
export interface RpcFault {
  code: number;
  message: string;
  data?: unknown;
}

/** The outcome of a request: the result object as JSON, or the error. */
export type RpcResponse =
  | {
      result: string | Buffer;
      /** First members of the result, without the closing brace; undefined when `result` has all members. */
      opening?: string;
      failed: boolean;
      interim?: boolean;
    }
  | { error: RpcFault };

/** Returns the whole response as JSON text. */
export function responseText(id: string | number, answer: RpcResponse): string {
  const parts = responseParts(id, answer);
  return typeof parts === 'string' ? parts : Buffer.concat(parts).toString();
}

/** Returns the whole response: text, or parts around the bytes of a result, which are not copied. */
export function responseParts(id: string | number, answer: RpcResponse): string | Buffer[] {
  if ('error' in answer) return JSON.stringify({ jsonrpc: '2.0', id, error: answer.error });
  const { result, opening } = answer;
  const before = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  if (opening === undefined)
    return typeof result === 'string' ? `${before}${result}}` : [Buffer.from(before), result, CLOSING];
  if (typeof result === 'string')
    return `${before}${opening}${result === '{}' ? '' : ','}${result.slice(1)}}`;
  return [Buffer.from(`${before}${opening},`), result.subarray(1), CLOSING];
}

const CLOSING = Buffer.from('}');

/** Returns whether an answer reports a failure: an error, or a tool that failed. */
export function hasFailed(answer: RpcResponse): boolean {
  return 'error' in answer || answer.failed;
}

/** Reads one JSON-RPC message. @throws GatehouseError `invalid_request` (-32600), which names the fault. */
export function readMessage(value: Json): Message {
  if (!isJsonObject(value)) throw invalid('The body must be one JSON-RPC request: an object.');
  if (value['jsonrpc'] !== '2.0') throw invalid('jsonrpc must be exactly "2.0".');
  const { method, id, params } = value;
  if (method === undefined && ('result' in value || 'error' in value)) {
    const { result } = value;
    return {
      kind: 'response',
      id: typeof id === 'string' ? id : undefined,
      result: isJsonObject(result) ? result : undefined,
    };
  }
  if (typeof method !== 'string' || method === '') throw invalid('method must be a string.');
  if (params !== undefined && !isJsonObject(params)) throw invalid('params must be an object.');
  if (id === undefined) {
    if (method.startsWith('notifications/')) return { kind: 'notification', method, params: params ?? {} };
    throw invalid(`${method} needs an id: a string or an integer.`);
  }
  // An answer repeats the id as it was written, and most clients would not find it again.
  if (wasNumber(value, 'id') || (typeof id !== 'string' && !Number.isSafeInteger(id)))
    throw invalid('id must be a string or an integer of at most 2^53.');
  const request: RpcRequest = { jsonrpc: '2.0', id: typeof id === 'string' ? id : Number(id), method };
  if (params !== undefined) request.params = params;
  return { kind: 'request', method, params: params ?? {}, request };
}

/** Returns the error that rejects the work for a cancelled request. */
export function cancelled(): DOMException {
  return new DOMException('The call was cancelled.', 'AbortError');
}

function invalid(message: string): GatehouseError {
  return new GatehouseError('invalid_request', message);
}
