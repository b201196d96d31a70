import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { SECOND } from '../../lib/clock.ts';
import { exactJsonText } from '../../lib/exact-numbers.ts';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../../lib/json.ts';
import { callRemote, type RemoteAnswer } from '../../outbound/outbound-remote.ts';
import { headersFor } from '../protocol/mcp-2026.ts';

/** The options of `gatehouse stdio --url`. */
export interface BridgeOptions {
  url: string;
  headers: Record<string, string>;
}

const RECONNECT_MS = SECOND;
const MAX_RECONNECT_MS = 30 * SECOND;
const MAX_TRIES = 4;

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
    report,
    signal,
  }: { input: Readable; output: Writable; report: (line: string) => void; signal?: AbortSignal },
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
  const bridge: Bridge = {
    options,
    state,
    ended: ended.signal,
    write: (line) => void output.write(`${line}\n`),
    report(line) {
      if (state.reported.has(line)) return;
      state.reported.add(line);
      report(line);
    },
  };
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  ended.signal.addEventListener('abort', () => lines.close(), { once: true });
  const pending = new Set<Promise<void>>();
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const work = deliver(bridge, line).finally(() => pending.delete(work));
    pending.add(work);
    // Later lines need the session's id, which is in the answer to initialize.
    if (line.includes('"initialize"')) await work;
  }
  await Promise.all(pending);
  ended.abort();
  if (state.session !== undefined) await endSession(bridge);
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

interface Bridge {
  options: BridgeOptions;
  state: State;
  ended: AbortSignal;
  write(line: string): void;
  report(line: string): void;
}

async function deliver(bridge: Bridge, line: string): Promise<void> {
  const message = messageOf(line);
  if (message === undefined) {
    bridge.write(
      JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'The line is not JSON.' } }),
    );
    return;
  }
  const { method, params } = message;
  const id = isId(message['id']) ? message['id'] : undefined;
  if (method === 'initialize') bridge.state.initialize = line;
  const routingHeaders = headersFor(method, params);
  if (method === 'notifications/cancelled' && cancelled(bridge, params)) return;
  const cancel = new AbortController();
  const cancellable = id !== undefined && 'mcp-method' in routingHeaders;
  if (cancellable) bridge.state.running.set(id, cancel);
  try {
    let answer = await post(bridge, line, { more: routingHeaders, signal: cancel.signal });
    if (answer.status === 404 && bridge.state.session !== undefined && method !== 'initialize') {
      await answer.body.dump();
      await reinitialize(bridge);
      answer = await post(bridge, line, { more: routingHeaders, signal: cancel.signal });
    }
    const session = headerOf(answer, 'mcp-session-id');
    if (method === 'initialize' && session !== undefined) bridge.state.session = session;
    const text = await relay(bridge, answer, id);
    if (method === 'initialize' && answer.status === 200) {
      bridge.state.version = versionIn(text);
      if (bridge.state.session !== undefined) void readStandingStream(bridge);
    }
  } catch (error) {
    if (bridge.ended.aborted || cancel.signal.aborted) return;
    fail(bridge, id, { sentence: faultOf(bridge, error) });
  } finally {
    if (cancellable) bridge.state.running.delete(id);
  }
}

/** Cancels a request of MCP 2026-07-28 by closing its stream. Returns false when the id names no such request. */
function cancelled({ state }: Bridge, params: Json | undefined): boolean {
  const id = isJsonObject(params) ? params['requestId'] : undefined;
  const running = isId(id) ? state.running.get(id) : undefined;
  running?.abort();
  return running !== undefined;
}

/** POSTs a line. Retries when the connection was refused, because the remote did not receive the request. */
async function post(
  bridge: Bridge,
  line: string,
  {
    more = {},
    signal = bridge.ended,
  }: { more?: Record<string, string> | undefined; signal?: AbortSignal | undefined } = {},
): Promise<RemoteAnswer> {
  for (let tries = 1; ; tries++) {
    try {
      return await callRemote(bridge.options.url, {
        method: 'POST',
        headers: { ...headers(bridge), ...more },
        body: line,
        signal: AbortSignal.any([bridge.ended, signal]),
      });
    } catch (error) {
      if (tries >= MAX_TRIES || codeOf(error) !== 'ECONNREFUSED' || bridge.ended.aborted) throw error;
      await sleep(250 * tries, undefined, { signal: bridge.ended });
    }
  }
}

/** Writes the messages of an answer, JSON or events, to the client. Returns the last message. */
async function relay(bridge: Bridge, answer: RemoteAnswer, id: string | number | undefined): Promise<string> {
  if (answer.status === 202) {
    await answer.body.dump();
    return '';
  }
  if (headerOf(answer, 'content-type')?.startsWith('text/event-stream'))
    return relayEvents(bridge, answer, false);
  const text = await answer.body.text();
  const message = messageOf(text);
  if (answer.status === 200 && message !== undefined) {
    bridge.write(exactJsonText(message));
    return text;
  }
  fail(bridge, id, { sentence: refusalOf(bridge, answer.status, text), error: message?.['error'] });
  return text;
}

async function relayEvents(bridge: Bridge, answer: RemoteAnswer, standing: boolean): Promise<string> {
  let last = '';
  const parser = createParser({
    onEvent({ id, data }) {
      if (standing && id !== undefined) bridge.state.lastEventId = id;
      const message = messageOf(data);
      if (message === undefined) return;
      last = data;
      bridge.write(exactJsonText(message));
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of answer.body) parser.feed(decoder.decode(chunk, { stream: true }));
  return last;
}

/** Forwards the standing stream while the session lives. Reconnects when the connection breaks. */
async function readStandingStream(bridge: Bridge): Promise<void> {
  let waitMs = RECONNECT_MS;
  while (!bridge.ended.aborted && bridge.state.session !== undefined) {
    try {
      const resume: Record<string, string> =
        bridge.state.lastEventId === undefined ? {} : { 'last-event-id': bridge.state.lastEventId };
      const answer = await callRemote(bridge.options.url, {
        method: 'GET',
        headers: { ...headers(bridge), accept: 'text/event-stream', ...resume },
        signal: bridge.ended,
      });
      if (answer.status !== 200) {
        await answer.body.dump();
        return;
      }
      waitMs = RECONNECT_MS;
      await relayEvents(bridge, answer, true);
    } catch {
      waitMs = Math.min(waitMs * 2, MAX_RECONNECT_MS);
    }
    await sleep(waitMs, undefined, { signal: bridge.ended }).catch(() => {});
  }
}

async function reinitialize(bridge: Bridge): Promise<void> {
  bridge.state.session = undefined;
  bridge.state.lastEventId = undefined;
  if (bridge.state.initialize === undefined) return;
  const answer = await post(bridge, bridge.state.initialize);
  bridge.state.session = headerOf(answer, 'mcp-session-id');
  await answer.body.dump();
  const accepted = await post(bridge, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
  await accepted.body.dump();
}

async function endSession(bridge: Bridge): Promise<void> {
  try {
    const answer = await callRemote(bridge.options.url, {
      method: 'DELETE',
      headers: headers(bridge),
      signal: AbortSignal.timeout(2 * SECOND),
    });
    await answer.body.dump();
  } catch {
    // The remote expires an idle session on its own.
  }
}

function headers({ options, state }: Bridge): Record<string, string> {
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
  bridge: Bridge,
  id: string | number | undefined,
  { sentence, error }: { sentence: string; error?: Json | undefined },
): void {
  bridge.report(sentence);
  if (id === undefined) return;
  bridge.write(
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      error: isJsonObject(error) ? error : { code: -32603, message: sentence },
    }),
  );
}

function refusalOf({ options }: Bridge, status: number, text: string): string {
  const where = withoutToken(options.url);
  const fault = messageOf(text)?.['error'];
  const reason = isJsonObject(fault) && typeof fault['message'] === 'string' ? ` ${fault['message']}` : '';
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

function faultOf({ options }: Bridge, error: unknown): string {
  const where = withoutToken(options.url);
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
function withoutToken(address: string): string {
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

function isId(value: Json | undefined): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function versionIn(text: string): string | undefined {
  const result = messageOf(text)?.['result'];
  const version = isJsonObject(result) ? result['protocolVersion'] : undefined;
  return typeof version === 'string' ? version : undefined;
}

function messageOf(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
