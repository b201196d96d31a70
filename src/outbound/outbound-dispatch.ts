import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { GatehouseError } from '../lib/errors.ts';
import type { RequestTarget } from './target.ts';

/** A body that is read while it is sent, once for each request. */
export interface StreamedBody {
  /** Its bytes. */
  size: number;
  content(): AsyncIterable<Uint8Array>;
}

export type SentBody = string | Uint8Array | StreamedBody;

export function isStreamed(body: SentBody): body is StreamedBody {
  return typeof body === 'object' && 'content' in body;
}

/** The part of a request that a redirect may change. */
export interface Asked {
  method: string;
  headers?: Record<string, string>;
  body?: SentBody | undefined;
}

/** Returns the request as undici takes it. `patienceMs`: the longest wait for headers or the next bytes; 0 is none. */
export function toDispatch(
  { origin, path }: RequestTarget,
  { method, headers = {}, body }: Asked,
  patienceMs: number,
): Dispatcher.DispatchOptions {
  const sent =
    body === undefined || !isStreamed(body)
      ? { headers, body: body ?? null }
      : {
          headers: { ...headers, 'content-length': String(body.size) },
          body: Readable.from(body.content(), { objectMode: false }),
        };
  return {
    origin,
    path,
    method: toMethod(method),
    ...sent,
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
