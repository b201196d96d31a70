import type { Dispatcher } from 'undici';
import { GatehouseError } from './errors.ts';
import type { Target } from './target.ts';

/** The part of a request that a redirect may change. */
export interface Asked {
  method: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
}

/** Returns the request as undici takes it. `patienceMs`: the longest wait for headers or the next bytes; 0 is none. */
export function toDispatch(
  { origin, path }: Target,
  { method, headers = {}, body }: Asked,
  patienceMs: number,
): Dispatcher.DispatchOptions {
  return {
    origin,
    path,
    method: toMethod(method),
    headers,
    body: body ?? null,
    headersTimeout: patienceMs,
    bodyTimeout: patienceMs,
  };
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
function toMethod(text: string): Dispatcher.HttpMethod {
  const method = METHODS.find((known) => known === text);
  if (!method) throw new GatehouseError('invalid_request', `"${text}" is no HTTP method that is sent.`);
  return method;
}
