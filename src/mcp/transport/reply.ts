import type { ServerResponse } from 'node:http';
import { SECOND } from '../../lib/clock.ts';
import type { GatehouseError } from '../../lib/errors.ts';

/** On every answer of an MCP endpoint: its address may hold a token. */
const ALWAYS = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

const STALLED_MS = 60 * SECOND;

/** Framings that the Accept header allows. A missing header and wildcards allow both. */
export interface Framing {
  json: boolean;
  events: boolean;
}

export function framingOf(accept = ''): Framing {
  let framing = framings.get(accept);
  if (!framing) {
    framing = readAccept(accept);
    if (framings.size < MAX_FRAMINGS) framings.set(accept, framing);
  }
  return framing;
}

/** Clients send one of a few texts with each request. */
const framings = new Map<string, Framing>();
const MAX_FRAMINGS = 100;

function readAccept(accept: string): Framing {
  if (accept.trim() === '') return { json: true, events: true };
  const types = new Set(
    accept
      .toLowerCase()
      .split(',')
      .map((part) => part.split(';')[0]?.trim()),
  );
  const any = types.has('*/*');
  return {
    json: any || types.has('application/json') || types.has('application/*'),
    events: any || types.has('text/event-stream') || types.has('text/*'),
  };
}

/** One write, with its length: headers and body leave together. */
export function sendJson(
  res: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  if (res.headersSent || res.destroyed) return;
  const bytes = Buffer.byteLength(text);
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': bytes,
    ...ALWAYS,
    ...headers,
  });
  // As many bytes as characters is ASCII, which goes out as it is: encoding it would reserve three bytes for each.
  res.end(text, bytes === text.length ? 'latin1' : 'utf8');
  hurry(res);
}

/**
 * A response whose result is bytes already: the id is put before them, and nothing is copied. `opening` holds members
 * that stand before those of the result: `{"resultType":"complete"`.
 */
export function sendResult(
  res: ServerResponse,
  id: string | number,
  { result, opening }: { result: Buffer; opening?: string },
  headers: Record<string, string>,
): void {
  if (res.headersSent || res.destroyed) return;
  const begun = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  const before = Buffer.from(opening === undefined ? begun : `${begun}${opening},`);
  const members = opening === undefined ? result : result.subarray(1);
  res.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': before.length + members.length + 1,
    ...ALWAYS,
    ...headers,
  });
  res.cork();
  res.write(before);
  res.write(members);
  res.end('}');
  res.uncork();
  hurry(res);
}

/** A client that stops reading an answer does not keep it in memory for ever. */
function hurry(res: ServerResponse): void {
  if (res.writableLength > 0) res.setTimeout(STALLED_MS);
}

export function sendEmpty(res: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  res.writeHead(status, { ...ALWAYS, ...headers, ...(status === 204 ? {} : { 'Content-Length': '0' }) });
  res.end();
}

export function beginEvents(res: ServerResponse, headers: Record<string, string> = {}): void {
  res.writeHead(200, {
    'Content-Type': 'text/event-stream',
    ...ALWAYS,
    'X-Accel-Buffering': 'no',
    ...headers,
  });
  res.flushHeaders();
}

/** Runs once the response is closed, also where its client hung up before anybody asked. */
export function whenClosed(res: ServerResponse, closed: () => void): void {
  if (res.closed) closed();
  else res.once('close', closed);
}

export function eventText(message: string): string {
  return `event: message\ndata: ${message}\n\n`;
}

/** What a client may leave unread of an event stream, in bytes. */
const MAX_UNREAD = 1024 * 1024;

/** Sends an event; a client that never reads loses its stream, and does not fill our memory. */
export function writeEvent(res: ServerResponse, text: string): void {
  if (res.destroyed || res.writableEnded) return;
  if (res.writableLength > MAX_UNREAD) res.destroy();
  else res.write(text);
}

/** Sends a refusal of the endpoint itself: a JSON-RPC error with the HTTP status of its code. */
export function sendRefusal(
  res: ServerResponse,
  error: GatehouseError,
  {
    requestId,
    id,
    headers = {},
  }: { requestId: string; id?: string | number | undefined; headers?: Record<string, string> },
): void {
  // An unknown user is 404 on REST and a bad request here; -32700 is for what is no JSON at all.
  const code = error.details?.['parse'] === true ? -32700 : error.rpcCode;
  const { parse: _, reason, ...details } = error.details ?? {};
  const named = reason === 'user_not_found' ? reason : error.code;
  const data = {
    code: named,
    requestId,
    ...(reason !== undefined && named !== reason ? { reason } : {}),
    ...details,
  };
  const text = JSON.stringify({
    jsonrpc: '2.0',
    id: id ?? null,
    error: { code, message: error.message, data },
  });
  sendJson(res, error.status, text, { ...headers, ...error.headers });
}
