import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { MINUTE } from '../../lib/clock.ts';
import { MIB } from '../../lib/http-body.ts';
import type { Outbound, OutboundRequest, OutboundStream } from '../../lib/outbound.ts';

/** The limit of one answer, all its messages together. */
const MAX_ANSWER_BYTES = 10 * MIB;
/** The limit of a standing stream. A server that reports changes all the time reaches it in seconds. */
const MAX_STANDING_BYTES = MIB;
/** The longest life of a standing stream, because a connection may break without an error. */
const STANDING_MS = 30 * MINUTE;
/** Bytes of a refusal that are read for its message. */
const MAX_REFUSAL_BYTES = 64 * 1024;
/** How long the transport may take to read the last event of a stream that has ended. */
const LAST_EVENT_MS = 250;
/** Statuses whose response has no body (RFC 9110 section 6.4.1). The class Response rejects a body for them. */
const BODILESS = new Set([204, 205, 304]);

/** The settings and callbacks that each request takes from the running call. */
export interface Under extends Pick<OutboundRequest, 'timeoutMs' | 'allowSandbox'> {
  /** Headers of the call: its credential, those of the file, its trace. Lower-case names. */
  headers: Record<string, string>;
  /** Called when the stream of an answer ends and the server cannot continue it. */
  streamEnded(): void;
  /** The standing stream of a session that follows a resource; other sessions open none. */
  standing?: Standing | undefined;
}

/** The stream on which a server reports changes. */
export interface Standing {
  /** A connection with its own sockets, because an open stream occupies one. */
  outbound: Pick<Outbound, 'stream'>;
  /** Called when the stream is open, or with the reason why it is not. */
  onOpen(failure?: unknown): void;
  onEnd(): void;
}

/** An answer with the HTTP status of an error. */
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

/** The server does not report changes of its resources. */
export class ChangesNotReported extends Error {
  override readonly name = 'ChangesNotReported';
}

/** The session has ended at the server, which did not process the request. */
export class SessionGone extends Error {
  override readonly name = 'SessionGone';
}

/**
 * Returns the fetch() of the SDK's transport. Requests pass the guard of outgoing calls, and carry the headers of the
 * call that is under way. Only a session that follows a resource opens a standing stream, because the stream holds a
 * socket.
 */
export function remoteFetch(outbound: Pick<Outbound, 'stream'>, under: () => Under): FetchLike {
  return async (url, init = {}) => {
    const { timeoutMs, allowSandbox, headers: own, streamEnded, standing } = under();
    const method = init.method ?? 'GET';
    const headers = { ...own, ...Object.fromEntries(new Headers(init.headers)) };
    const request = {
      method,
      url: String(url),
      headers,
      ...(typeof init.body === 'string' ? { body: init.body } : {}),
      ...(init.signal ? { signal: init.signal } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(allowSandbox === undefined ? {} : { allowSandbox }),
      maxBytes: MAX_ANSWER_BYTES,
    };
    if (method === 'GET' && headers['last-event-id'] === undefined)
      return standing ? openStanding(standing, request) : new Response(null, { status: 405 });
    const answer = await outbound.stream(request);
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

async function openStanding(standing: Standing, request: OutboundRequest): Promise<Response> {
  const limits = { timeoutMs: STANDING_MS, maxBytes: MAX_STANDING_BYTES };
  try {
    const answer = await standing.outbound.stream({ ...request, ...limits });
    const { status, headers, body } = answer;
    if (status === 200 && headers['content-type']?.startsWith('text/event-stream')) {
      standing.onOpen();
      return await toResponse({ ...answer, body: reportingEnd(body, () => standing.onEnd()) });
    }
    const refusal = new RefusedByServer(answer, await beginningOf(body));
    const isMissing = status < 400 || status === 404 || status === 405;
    standing.onOpen(isMissing ? new ChangesNotReported('There is no standing stream.') : refusal);
    return new Response(null, { status: 405 });
  } catch (error) {
    standing.onOpen(error);
    throw error;
  }
}

async function* reportingEnd(body: AsyncIterable<Buffer>, ended: () => void): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } finally {
    ended();
  }
}

/** Returns an answer as fetch() does. */
export async function toResponse({ status, headers, body }: OutboundStream): Promise<Response> {
  if (!BODILESS.has(status)) return new Response(ReadableStream.from(body), { status, headers });
  await beginningOf(body);
  return new Response(null, { status, headers });
}

/** Yields the chunks of an event stream. Reports its end if no event had an id, because the client then cannot resume it. */
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
