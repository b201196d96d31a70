import { connect, type Socket } from 'node:net';
import { z } from 'zod';

/*
 * A closed-loop load: `connections` keep-alive sockets, each sending one prepared POST after the other. Runs as a
 * process of its own on another core; reads its job as JSON from argv and prints its figures as JSON.
 */
const job = z
  .object({
    url: z.url(),
    body: z.string(),
    headers: z.record(z.string(), z.string()).default({}),
    method: z.string().default('POST'),
    connections: z.int(),
    /** The load ends at this many answers or after this time, whichever is first. */
    requests: z.int(),
    seconds: z.number(),
  })
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const url = new URL(job.url);
const head = [
  `${job.method} ${url.pathname}${url.search} HTTP/1.1`,
  `Host: ${url.host}`,
  'Accept: application/json, text/event-stream',
  ...(job.body ? ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(job.body)}`] : []),
  ...Object.entries(job.headers).map(([name, value]) => `${name}: ${value}`),
];
const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${job.body}`);

const isMcp = job.body.includes('"jsonrpc"');
const latencies: number[] = [];
const started = performance.now();
const deadline = started + job.seconds * 1000;
let sent = 0;
let failed = 0;
await Promise.all(Array.from({ length: job.connections }, worker));
const seconds = (performance.now() - started) / 1000;
latencies.sort((a, b) => a - b);
process.stdout.write(
  JSON.stringify({
    requests: latencies.length,
    failed,
    perSecond: latencies.length / seconds,
    p50: latencies[Math.floor(latencies.length * 0.5)] ?? 0,
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
  }),
);

/** Matches failures that an MCP server answers with 200: a JSON-RPC error, or a tool result with `isError`. */
function saysFailed(part: Buffer): boolean {
  return part.includes('"isError":true') || part.includes('"error":{"code":');
}

function worker(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    let began = 0;
    let missing = -1;
    let chunked = false;
    let text: Buffer = Buffer.alloc(0);
    let parts: Buffer[] = [];
    const next = () => {
      if (sent >= job.requests || performance.now() > deadline) {
        socket.destroy();
        resolve();
        return;
      }
      sent++;
      began = performance.now();
      socket.write(request);
    };
    const done = () => {
      latencies.push(performance.now() - began);
      if (isMcp && parts.some(saysFailed)) failed++;
      missing = -1;
      text = Buffer.alloc(0);
      parts = [];
      next();
    };
    socket.on('error', reject);
    socket.on('connect', next);
    socket.on('data', (chunk: Buffer) => {
      parts.push(chunk);
      if (missing > 0) {
        missing -= chunk.length;
        if (missing <= 0) done();
        return;
      }
      text = text.length === 0 ? chunk : Buffer.concat([text, chunk]);
      if (missing === -1) {
        const end = text.indexOf('\r\n\r\n');
        if (end === -1) return;
        const headers = text.subarray(0, end).toString('latin1');
        if (!headers.startsWith('HTTP/1.1 2')) failed++;
        const length = /\r\ncontent-length: (\d+)/i.exec(headers)?.[1];
        chunked = length === undefined;
        if (length !== undefined) {
          missing = Number(length) - (text.length - end - 4);
          if (missing <= 0) done();
          return;
        }
        missing = -2;
      }
      if (chunked && text.subarray(-5).toString('latin1') === '0\r\n\r\n') done();
    });
  });
}
