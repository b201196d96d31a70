import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { MIB } from '../../lib/http-body.ts';
import type { Outbound, OutboundRequest, OutboundStream } from '../../lib/outbound.ts';

/** The limit of one answer, all its messages together. */
const MAX_ANSWER_BYTES = 10 * MIB;
/** Bytes of a refusal that are read for its sentence. */
const MAX_REFUSAL_BYTES = 64 * 1024;
/** How long the transport may take to read the last event of a stream that has ended. */
const LAST_EVENT_MS = 250;
/** Statuses whose response has no body (RFC 9110 section 6.4.1), which the class Response insists on. */
const BODILESS = new Set([204, 205, 304]);

/** The parts of a request that belong to the call that is under way. */
export interface Under extends Pick<OutboundRequest, 'timeoutMs' | 'allowSandbox'> {
  /** Headers of the call: its credential, those of the file, its trace. Lower-case names. */
  headers: Record<string, string>;
  /** Called when the stream of an answer ends and the server cannot continue it. */
  streamEnded(): void;
}

/** An answer with a status of an error. */
export class RefusedByServer extends Error {
  override readonly name = 'RefusedByServer';
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;

  constructor({ status, headers }: OutboundStream, body: string) {
    super(`The MCP server answered with HTTP ${status}.`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** The session has ended at the server, which did not take the request. */
export class SessionGone extends Error {
  override readonly name = 'SessionGone';
}

/**
 * Returns the fetch() of the SDK's transport. Requests pass the guard of outgoing calls, and carry the headers of the
 * call that is under way. A standing stream is not opened, because it would hold a socket for each credential.
 */
export function remoteFetch(outbound: Pick<Outbound, 'stream'>, under: () => Under): FetchLike {
  return async (url, init = {}) => {
    const { timeoutMs, allowSandbox, headers: own, streamEnded } = under();
    const method = init.method ?? 'GET';
    const headers = { ...own, ...Object.fromEntries(new Headers(init.headers)) };
    if (method === 'GET' && headers['last-event-id'] === undefined)
      return new Response(null, { status: 405 });
    const answer = await outbound.stream({
      method,
      url: String(url),
      headers,
      ...(typeof init.body === 'string' ? { body: init.body } : {}),
      ...(init.signal ? { signal: init.signal } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(allowSandbox === undefined ? {} : { allowSandbox }),
      maxBytes: MAX_ANSWER_BYTES,
    });
    const { status, body } = answer;
    if (method === 'POST' && status >= 400) {
      const text = await beginningOf(body);
      if (status === 404 && headers['mcp-session-id'] !== undefined) throw new SessionGone();
      throw new RefusedByServer(answer, text);
    }
    const isStream = answer.headers['content-type']?.startsWith('text/event-stream');
    return toResponse(isStream ? { ...answer, body: untilEnd(body, streamEnded) } : answer);
  };
}

/** Returns an answer as fetch() does. */
export async function toResponse({ status, headers, body }: OutboundStream): Promise<Response> {
  if (!BODILESS.has(status)) return new Response(ReadableStream.from(body), { status, headers });
  await beginningOf(body);
  return new Response(null, { status, headers });
}

/** Passes the chunks of an event stream on. Reports an end that no event id allows to continue from. */
async function* untilEnd(body: AsyncIterable<Buffer>, ended: () => void): AsyncGenerator<Buffer> {
  let canContinue = false;
  try {
    for await (const chunk of body) {
      canContinue ||= /(?:^|\n)id:/.test(chunk.toString('latin1'));
      yield chunk;
    }
  } finally {
    if (!canContinue) setTimeout(ended, LAST_EVENT_MS).unref();
  }
}

async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_REFUSAL_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES).toString('utf8');
}
