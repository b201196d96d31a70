import type { ServerResponse } from 'node:http';
import { SECOND } from '../../lib/clock.ts';
import type { GatehouseError } from '../../lib/errors.ts';
import { memoByText } from '../../lib/memo.ts';

/** Headers of every answer of an MCP endpoint, because its address may hold a token. */
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
  return accept.trim() === '' ? { json: true, events: true } : framingsOf(accept);
}

/** Cached, because clients send the same few headers with each request. */
const framingsOf = memoByText(100, (accept): Framing => {
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
});

/** Sends JSON with its length, so that headers and body are one write. Parts are sent without a copy. */
export function sendJson(
  res: ServerResponse,
  status: number,
  { body, headers = {} }: { body: string | readonly Buffer[]; headers?: Record<string, string> | undefined },
): void {
  if (res.headersSent || res.destroyed) return;
  const bytes =
    typeof body === 'string' ? Buffer.byteLength(body) : body.reduce((sum, part) => sum + part.length, 0);
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': bytes,
    ...ALWAYS,
    ...headers,
  });
  // Text with as many bytes as characters is ASCII. Node writes latin1 unchanged; for utf8 it would reserve three
  // bytes each.
  if (typeof body === 'string') res.end(body, bytes === body.length ? 'latin1' : 'utf8');
  else {
    res.cork();
    for (const part of body) res.write(part);
    res.end();
    res.uncork();
  }
  limitStall(res);
}

/** Closes the connection when the client stops reading; otherwise the answer stays in memory for ever. */
function limitStall(res: ServerResponse): void {
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

/** Runs `closed` when the response closes, or at once when it is closed already. */
export function whenClosed(res: ServerResponse, closed: () => void): void {
  if (res.closed) closed();
  else res.once('close', closed);
}

export function eventText(message: string): string {
  return `event: message\ndata: ${message}\n\n`;
}

/** Bytes of an event stream that a client may leave unread. */
const MAX_UNREAD = 1024 * 1024;

/** Sends an event. Closes the stream of a client that does not read, so that unread events do not fill our memory. */
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
  // REST answers an unknown user with 404; MCP answers with 400. The code -32700 is for bodies that are not JSON.
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
  sendJson(res, error.status, { body: text, headers: { ...headers, ...error.headers } });
}
