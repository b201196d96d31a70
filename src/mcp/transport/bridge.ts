import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { SECOND } from '../../lib/clock.ts';
import { isJsonObject, parseJson, type Json } from '../../lib/json.ts';
import { callRemote, type RemoteAnswer } from '../../lib/outbound-remote.ts';
import { headersFor } from '../protocol/mcp-2026.ts';

/** The options of `gatehouse stdio --url`. */
export interface BridgeOptions {
  url: string;
  headers: Record<string, string>;
}

const RECONNECT_MS = SECOND;
const MAX_RECONNECT_MS = 30 * SECOND;
const TRIES = 4;

/**
 * Connects standard input and output to a remote MCP address. Each input line is one POST. Each answer and each event
 * is one output line. The bridge keeps the session that the remote opens, and its standing stream. It answers a
 * request that it cannot deliver with a JSON-RPC error. It reports each cause to the operator once.
 */
export async function runBridge(
  options: BridgeOptions,
  {
    input,
    output,
    tell,
    signal,
  }: { input: Readable; output: Writable; tell: (line: string) => void; signal?: AbortSignal },
): Promise<void> {
  const ended = new AbortController();
  signal?.addEventListener('abort', () => ended.abort(), { once: true });
  const state: State = {
    session: undefined,
    version: undefined,
    lastEventId: undefined,
    reported: new Set(),
    running: new Map(),
    initialize: undefined,
  };
  const side: Side = {
    options,
    state,
    ended: ended.signal,
    write: (line) => void output.write(`${line}\n`),
    tell(line) {
      if (state.reported.has(line)) return;
      state.reported.add(line);
      tell(line);
    },
  };
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  ended.signal.addEventListener('abort', () => lines.close(), { once: true });
  const pending = new Set<Promise<void>>();
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const work = deliver(side, line).finally(() => pending.delete(work));
    pending.add(work);
    // Later lines need the session's id, which is in the answer to initialize.
    if (line.includes('"initialize"')) await work;
  }
  await Promise.all(pending);
  ended.abort();
  if (state.session !== undefined) await leave(side);
}

interface State {
  session: string | undefined;
  version: string | undefined;
  lastEventId: string | undefined;
  reported: Set<string>;
  /** Requests of MCP 2026-07-28 under way, by the client's id. */
  running: Map<string | number, AbortController>;
  /** The client's own initialize, to open a new session when the remote has lost the old one. */
  initialize: string | undefined;
}

interface Side {
  options: BridgeOptions;
  state: State;
  ended: AbortSignal;
  write(line: string): void;
  tell(line: string): void;
}

async function deliver(side: Side, line: string): Promise<void> {
  const message = messageOf(line);
  if (message === undefined) {
    side.write(
      JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'The line is not JSON.' } }),
    );
    return;
  }
  const { id, method, params } = message;
  if (method === 'initialize') side.state.initialize = line;
  const routingHeaders = headersFor(method, params);
  if (method === 'notifications/cancelled' && cancelled(side, params)) return;
  const cancel = new AbortController();
  const stands = id !== undefined && 'mcp-method' in routingHeaders;
  if (stands) side.state.running.set(id, cancel);
  try {
    let answer = await post(side, line, { more: routingHeaders, signal: cancel.signal });
    if (answer.status === 404 && side.state.session !== undefined && method !== 'initialize') {
      await answer.body.dump();
      await reinitialize(side);
      answer = await post(side, line, { more: routingHeaders, signal: cancel.signal });
    }
    const session = headerOf(answer, 'mcp-session-id');
    if (method === 'initialize' && session !== undefined) side.state.session = session;
    const text = await pass(side, answer, id);
    if (method === 'initialize' && answer.status === 200) {
      side.state.version = versionIn(text);
      if (side.state.session !== undefined) void stand(side);
    }
  } catch (error) {
    if (side.ended.aborted || cancel.signal.aborted) return;
    fail(side, id, { sentence: sentenceOf(side, error) });
  } finally {
    if (stands) side.state.running.delete(id);
  }
}

/** Cancels a request of MCP 2026-07-28 by closing its stream. Returns false when the id names no such request. */
function cancelled({ state }: Side, params: Json | undefined): boolean {
  const id = isJsonObject(params) ? params['requestId'] : undefined;
  const running = typeof id === 'string' || typeof id === 'number' ? state.running.get(id) : undefined;
  running?.abort();
  return running !== undefined;
}

/** POSTs a line. Retries when the connection was refused, because the remote has not seen the request then. */
async function post(
  side: Side,
  line: string,
  {
    more = {},
    signal = side.ended,
  }: { more?: Record<string, string> | undefined; signal?: AbortSignal | undefined } = {},
): Promise<RemoteAnswer> {
  for (let tries = 1; ; tries++) {
    try {
      return await callRemote(side.options.url, {
        method: 'POST',
        headers: { ...headers(side), ...more },
        body: line,
        signal: AbortSignal.any([side.ended, signal]),
      });
    } catch (error) {
      if (tries >= TRIES || codeOf(error) !== 'ECONNREFUSED' || side.ended.aborted) throw error;
      await sleep(250 * tries, undefined, { signal: side.ended });
    }
  }
}

/** Passes an answer on, JSON or events. Returns its last message. */
async function pass(side: Side, answer: RemoteAnswer, id: string | number | undefined): Promise<string> {
  if (answer.status === 202) {
    await answer.body.dump();
    return '';
  }
  if (headerOf(answer, 'content-type')?.startsWith('text/event-stream'))
    return passEvents(side, answer, false);
  const text = await answer.body.text();
  const message = messageOf(text);
  if (answer.status === 200 && message !== undefined) {
    side.write(JSON.stringify(parseJson(text)));
    return text;
  }
  fail(side, id, { sentence: refusalOf(side, answer.status, text), error: message?.error });
  return text;
}

async function passEvents(side: Side, answer: RemoteAnswer, standing: boolean): Promise<string> {
  let last = '';
  const parser = createParser({
    onEvent({ id, data }) {
      if (standing && id !== undefined) side.state.lastEventId = id;
      if (data === '' || messageOf(data) === undefined) return;
      last = data;
      side.write(JSON.stringify(parseJson(data)));
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of answer.body) parser.feed(decoder.decode(chunk, { stream: true }));
  return last;
}

/** Keeps the standing stream open while the session lives. Reconnects after a break. */
async function stand(side: Side): Promise<void> {
  let waitMs = RECONNECT_MS;
  while (!side.ended.aborted && side.state.session !== undefined) {
    try {
      const resume: Record<string, string> =
        side.state.lastEventId === undefined ? {} : { 'last-event-id': side.state.lastEventId };
      const answer = await callRemote(side.options.url, {
        method: 'GET',
        headers: { ...headers(side), accept: 'text/event-stream', ...resume },
        signal: side.ended,
      });
      if (answer.status !== 200) {
        await answer.body.dump();
        return;
      }
      waitMs = RECONNECT_MS;
      await passEvents(side, answer, true);
    } catch {
      waitMs = Math.min(waitMs * 2, MAX_RECONNECT_MS);
    }
    await sleep(waitMs, undefined, { signal: side.ended }).catch(() => {});
  }
}

async function reinitialize(side: Side): Promise<void> {
  side.state.session = undefined;
  side.state.lastEventId = undefined;
  if (side.state.initialize === undefined) return;
  const answer = await post(side, side.state.initialize);
  side.state.session = headerOf(answer, 'mcp-session-id');
  await answer.body.dump();
  const noted = await post(side, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
  await noted.body.dump();
}

async function leave(side: Side): Promise<void> {
  try {
    const answer = await callRemote(side.options.url, {
      method: 'DELETE',
      headers: headers(side),
      signal: AbortSignal.timeout(2 * SECOND),
    });
    await answer.body.dump();
  } catch {
    // The remote expires an idle session on its own.
  }
}

function headers({ options, state }: Side): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...options.headers,
    ...(state.session === undefined ? {} : { 'mcp-session-id': state.session }),
    ...(state.version === undefined ? {} : { 'mcp-protocol-version': state.version }),
  };
}

/** Answers the client's request with an error, and reports the cause to the operator. */
function fail(
  side: Side,
  id: string | number | undefined,
  { sentence, error }: { sentence: string; error?: Json | undefined },
): void {
  side.tell(sentence);
  if (id === undefined) return;
  side.write(
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      error: isJsonObject(error) ? error : { code: -32603, message: sentence },
    }),
  );
}

function refusalOf({ options }: Side, status: number, text: string): string {
  const where = shown(options.url);
  const said = messageOf(text)?.error;
  const reason = isJsonObject(said) && typeof said['message'] === 'string' ? ` ${said['message']}` : '';
  switch (status) {
    case 401:
      return `${where} refused the token or key (401).${reason}`;
    case 403:
      return `${where} does not allow this (403).${reason}`;
    case 404:
      return `There is no MCP server at ${where} (404).${reason}`;
    case 429:
      return `${where} limits its requests (429).${reason}`;
    default:
      return `${where} answered with HTTP ${status}.${reason}`;
  }
}

function sentenceOf({ options }: Side, error: unknown): string {
  const where = shown(options.url);
  switch (codeOf(error)) {
    case 'ECONNREFUSED':
      return `Nothing listens at ${where}: is Gatehouse running there?`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host of ${where} cannot be found.`;
    default:
      return `The connection to ${where} broke.`;
  }
}

/** Returns the address without its token. */
function shown(address: string): string {
  const url = new URL(address);
  return url.origin + url.pathname.replace(/gh_mcp_[^/]+/, '***');
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function headerOf({ headers }: RemoteAnswer, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function versionIn(text: string): string | undefined {
  const result = messageOf(text)?.result;
  const version = isJsonObject(result) ? result['protocolVersion'] : undefined;
  return typeof version === 'string' ? version : undefined;
}

function messageOf(
  text: string,
):
  | { id: string | number | undefined; method: Json | undefined; params?: Json; result?: Json; error?: Json }
  | undefined {
  try {
    const value = parseJson(text);
    if (!isJsonObject(value)) return undefined;
    const { id, method, params, result, error } = value;
    return {
      id: typeof id === 'string' || typeof id === 'number' ? id : undefined,
      method,
      ...(params === undefined ? {} : { params }),
      ...(result === undefined ? {} : { result }),
      ...(error === undefined ? {} : { error }),
    };
  } catch {
    return undefined;
  }
}
