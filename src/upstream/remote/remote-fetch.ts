import type { FetchLike } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { inUtf8 } from '../../lib/http/body-text.ts';
import { MINUTE } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http/http-body.ts';
import { assertJsonBounds } from '../../lib/json-bounds.ts';
import type { Outbound, OutboundRequest, OutboundStream } from '../../outbound/outbound.ts';
import type { JsonObject } from '../../lib/json.ts';
import { readEvents, readMessages } from './server-messages.ts';
import type { Redirects } from './redirects.ts';

/** The limit of one answer, all its messages together. */
const MAX_ANSWER_BYTES = 10 * MIB;
/**
 * The limits of a standing stream: its life, because a connection may break without an error, and its size. A server that
 * reports changes all the time reaches it in seconds.
 */
const STANDING = { timeoutMs: 30 * MINUTE, maxBytes: MIB };
/** Bytes of a refusal that are read for its message. */
const MAX_REFUSAL_BYTES = 64 * 1024;
/** How long the transport may take to read the last event of a stream that has ended. */
const LAST_EVENT_MS = 250;
/** The first version without sessions. */
const STATELESS = '2026-07-28';
/** Statuses by which a server refuses the caller, whatever the request is. */
const REFUSES_CALLER = new Set([401, 403, 429]);
/** Statuses with which a server of MCP 2026-07-28 sends an error of JSON-RPC. */
const RPC_ERRORS = new Set([400, 404]);
/** The code of an error that names the versions of a server (MCP 2026-07-28). */
const OTHER_VERSION = -32_022;
/** Statuses whose response has no body (RFC 9110 section 6.4.1). The class Response rejects a body for them. */
const BODILESS = new Set([204, 205, 304]);

/** The settings and callbacks that each request takes from the running call. */
export interface Under extends Pick<OutboundRequest, 'timeoutMs' | 'allowSandbox' | 'place'> {
  /** Headers of the call: its credential, those of the file, its trace. Lower-case names. */
  headers: Record<string, string>;
  /** Whether the session finds the version of the server. An older one may answer anything to that. */
  isOpening: boolean;
  /** Called when the stream of an answer ends and the server cannot continue it. */
  streamEnded(): void;
  /** Called when an answer cannot be read further, such as for too many messages. */
  failed(error: unknown): void;
  /** The standing stream of a session that waits for changes; other sessions open none. */
  followed?: Standing | undefined;
}

/** The stream on which a server with sessions reports changes. */
export interface Standing {
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

/** The connections to a server: one for calls, one for standing streams. */
export interface Ways {
  calls: Pick<Outbound, 'stream'>;
  /** A connection with its own sockets, because an open stream occupies one. */
  standing: Pick<Outbound, 'stream'>;
  redirects: Redirects;
}

/**
 * Returns the fetch() of the SDK's transport. Requests pass the guard of outgoing calls, and carry the headers of the
 * call that is under way. A server with sessions gets a standing stream only for a followed resource or for changes of its
 * tools, because the stream holds a socket.
 */
export function remoteFetch({ calls, standing, redirects }: Ways, under: () => Under): FetchLike {
  return async (url, init = {}) => {
    const {
      timeoutMs,
      allowSandbox,
      place,
      headers: own,
      isOpening,
      streamEnded,
      failed,
      followed,
    } = under();
    const method = init.method ?? 'GET';
    const headers: Record<string, string> = { ...own, ...Object.fromEntries(new Headers(init.headers)) };
    const isStateless = (headers['mcp-protocol-version'] ?? '') >= STATELESS;
    const isListening = headers['mcp-method'] === 'subscriptions/listen';
    const request: OutboundRequest = {
      method,
      url: String(url),
      headers,
      ...(typeof init.body === 'string' ? { body: init.body } : {}),
      ...(init.signal ? { signal: init.signal } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(allowSandbox === undefined ? {} : { allowSandbox }),
      ...(place === undefined ? {} : { place }),
      maxBytes: MAX_ANSWER_BYTES,
      ...(isListening ? STANDING : {}),
    };
    const send = (way: Pick<Outbound, 'stream'>, one: OutboundRequest) => redirects.stream(way, one);
    if (method === 'GET' && (isStateless || headers['last-event-id'] === undefined))
      return followed && !isStateless
        ? openStanding((one) => send(standing, one), followed, request)
        : new Response(null, { status: 405 });
    const sent = method === 'POST' ? sentMessage.safeParse(parsed(String(init.body))).data : undefined;
    const answer = await send(isListening ? standing : calls, request);
    if (method === 'POST' && isStateless && isOpening) return versionAnswer(answer);
    const isRefused = method === 'POST' && answer.status >= 400;
    // Some servers refuse notifications that they do not know.
    if (sent && !isRequest(sent) && !(isRefused && REFUSES_CALLER.has(answer.status))) {
      await beginningOf(answer.body);
      return new Response(null, { status: 202 });
    }
    if (isRefused) return refusal(answer, { headers, isStateless });
    const whole =
      sent && answer.status === 202 ? await answerElsewhere(send, calls, { request, answer }) : answer;
    if (method !== 'POST' && !isEventStream(whole)) return toResponse(whole);
    const isLast =
      whole === answer
        ? undefined
        : (message: JsonObject) => message['id'] === sent?.id && !('method' in message);
    return messageResponse(whole, { isStateless, isListening, streamEnded, failed, isLast });
  };
}

const sentMessage = z.looseObject({
  method: z.string().optional(),
  id: z.union([z.string(), z.number()]).optional(),
});

function isRequest({ method, id }: z.infer<typeof sentMessage>): boolean {
  return method !== undefined && id !== undefined;
}

/**
 * Returns the stream on which a server answers that only accepted a request. Some servers of MCP 2024-11-05 do so.
 * @throws GatehouseError `upstream_failed` where there is no such stream
 */
async function answerElsewhere(
  send: (way: Pick<Outbound, 'stream'>, request: OutboundRequest) => Promise<OutboundStream>,
  calls: Pick<Outbound, 'stream'>,
  { request, answer }: { request: OutboundRequest; answer: OutboundStream },
): Promise<OutboundStream> {
  await beginningOf(answer.body);
  const session = answer.headers['mcp-session-id'];
  const { body: _body, headers: { 'content-type': _type, ...headers } = {}, ...rest } = request;
  const stream = await send(calls, {
    ...rest,
    method: 'GET',
    headers: { ...headers, accept: 'text/event-stream', ...(session ? { 'mcp-session-id': session } : {}) },
  });
  if (stream.status === 200 && isEventStream(stream))
    return { ...stream, headers: { ...stream.headers, ...(session ? { 'mcp-session-id': session } : {}) } };
  await beginningOf(stream.body);
  throw new GatehouseError('upstream_failed', 'The MCP server accepted the request and never answered it.', {
    details: { reason: 'protocol' },
  });
}

/** How the messages of an answer are read. */
interface Reading {
  isStateless: boolean;
  isListening: boolean;
  streamEnded: () => void;
  failed: (error: unknown) => void;
  isLast: ((message: JsonObject) => boolean) | undefined;
}

/** Returns an answer with messages that the SDK can read, and ends the call where there are too many. */
async function messageResponse(answer: OutboundStream, reading: Reading): Promise<Response> {
  const { status, headers } = answer;
  if (BODILESS.has(status)) return toResponse(answer);
  const { isLast, isListening } = reading;
  if (isEventStream(answer)) {
    const events = reportingFailure(readEvents(answer.body, isLast), reading.failed);
    return toResponse({ ...answer, body: isListening ? events : untilEnd(events, reading) });
  }
  const bytes = inUtf8(await wholeOf(answer.body), headers['content-type'] ?? '');
  const text = bytes.toString('latin1').trimStart();
  // Some servers name another type, or none.
  if (/^(?:event|data|id|retry)?:/.test(text)) {
    const events = reportingFailure(readEvents(asStream(bytes), isLast), reading.failed);
    const typed = { ...headers, 'content-type': 'text/event-stream' };
    return toResponse({ status, headers: typed, body: untilEnd(events, reading) });
  }
  if (!/^[[{]/.test(text)) return new Response(bytes.toString('utf8'), { status, headers });
  const messages = await readMessages(bytes);
  return new Response(messages, { status, headers: { ...headers, 'content-type': 'application/json' } });
}

async function* asStream(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** Reports a failure to the call, because the client takes it for a lost connection. */
async function* reportingFailure(
  body: AsyncIterable<Buffer>,
  failed: (error: unknown) => void,
): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    if (error instanceof GatehouseError && error.code === 'upstream_too_large') failed(error);
    throw error;
  }
}

function isEventStream({ headers }: OutboundStream): boolean {
  return headers['content-type']?.startsWith('text/event-stream') ?? false;
}

/**
 * Returns the answer to the question for the versions of a server. An answer that is not one of MCP 2026-07-28 becomes
 * a refusal, after which the SDK tries the older versions.
 * @throws RefusedByServer when the server refuses the caller
 */
async function versionAnswer(answer: OutboundStream): Promise<Response> {
  const { status, headers } = answer;
  if (status === 200 && isEventStream(answer)) return toResponse(answer);
  const text = await textOf(answer.body);
  if (REFUSES_CALLER.has(status)) throw new RefusedByServer(answer, text.slice(0, MAX_REFUSAL_BYTES));
  const isAnswer = status < 500 && rpcAnswer.safeParse(parsed(text)).success;
  return new Response(text, { status: isAnswer ? status : 404, headers });
}

/**
 * Returns the answer for a request that a server refused: an error of JSON-RPC with a status of its own, as since MCP
 * 2026-07-28.
 * @throws RefusedByServer, SessionGone
 */
async function refusal(
  answer: OutboundStream,
  { headers, isStateless }: { headers: Record<string, string>; isStateless: boolean },
): Promise<Response> {
  const { status } = answer;
  const text = await beginningOf(answer.body);
  const error = rpcError.safeParse(parsed(text));
  const isOtherVersion = error.success && error.data.error.code === OTHER_VERSION;
  const isGone = status === 404 || isOtherVersion || (status === 400 && /session/i.test(text));
  if (headers['mcp-session-id'] !== undefined && isGone) throw new SessionGone();
  if (isStateless && RPC_ERRORS.has(status) && error.success)
    return new Response(text, { status: 200, headers: { 'content-type': 'application/json' } });
  throw new RefusedByServer(answer, text);
}

const id = z.union([z.string(), z.number()]);
const rpcError = z.looseObject({ jsonrpc: z.literal('2.0'), id, error: z.looseObject({ code: z.number() }) });
const rpcAnswer = z.union([
  rpcError,
  z.looseObject({ jsonrpc: z.literal('2.0'), id, result: z.looseObject({}) }),
]);

function parsed(text: string): unknown {
  try {
    assertJsonBounds(text, { free: true });
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function openStanding(
  send: (request: OutboundRequest) => Promise<OutboundStream>,
  { onOpen, onEnd }: Standing,
  request: OutboundRequest,
): Promise<Response> {
  try {
    const answer = await send({ ...request, ...STANDING });
    const { status, body } = answer;
    if (status === 200 && isEventStream(answer)) {
      onOpen();
      return await toResponse({ ...answer, body: reportingEnd(readEvents(body), onEnd) });
    }
    const refused = new RefusedByServer(answer, await beginningOf(body));
    const isMissing = status < 400 || status === 404 || status === 405;
    onOpen(isMissing ? new ChangesNotReported('There is no standing stream.') : refused);
    return new Response(null, { status: 405 });
  } catch (error) {
    onOpen(error);
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

/**
 * Passes the chunks of an event stream on. Reports an end that no event id allows to continue from. Since MCP 2026-07-28
 * none does.
 */
async function* untilEnd(
  body: AsyncIterable<Buffer>,
  { isStateless, streamEnded }: { isStateless: boolean; streamEnded: () => void },
): AsyncGenerator<Buffer> {
  let canContinue = false;
  try {
    for await (const chunk of body) {
      canContinue ||= !isStateless && /(?:^|\n)id:/.test(chunk.toString('latin1'));
      yield chunk;
    }
  } finally {
    if (!canContinue) setTimeout(streamEnded, LAST_EVENT_MS).unref();
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  return (await wholeOf(body)).toString('utf8');
}

async function wholeOf(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
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
