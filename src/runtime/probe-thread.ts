import { createServer, type ServerResponse } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { ProbeSettings, ToProbe } from './probe-port.ts';

/* The thread of probe-port.ts. It imports types alone, so that it starts quickly. */

const { host, port, hungMs, answerMs }: ProbeSettings = workerData;
/** The answers that wait for the main thread, by the id of their question. */
const asked = new Map<number, (missing: string[]) => void>();
let lastId = 0;
let heardAt = performance.now();

parentPort?.on('message', (message: ToProbe) => {
  heardAt = performance.now();
  if (!('id' in message)) return;
  asked.get(message.id)?.(message.missing);
});

const server = createServer((req, res) => {
  const isRead = req.method === 'GET' || req.method === 'HEAD';
  switch (isRead ? new URL(req.url ?? '', 'http://probe').pathname : '') {
    case '/health': {
      const isHung = performance.now() - heardAt > hungMs;
      const status = isHung ? 'hung' : 'healthy';
      return send(res, isHung ? 503 : 200, { status, timestamp: new Date().toISOString() });
    }
    case '/ready':
      return void ready(res);
    default:
      return send(res, isRead ? 404 : 405, { error: 'This port has GET /health and GET /ready alone.' });
  }
});
server.on('error', (error: NodeJS.ErrnoException) =>
  parentPort?.postMessage({ failed: error.message, code: error.code }),
);
server.listen(port, host, () => {
  const address = server.address();
  parentPort?.postMessage({ port: typeof address === 'object' && address ? address.port : port });
});

async function ready(res: ServerResponse): Promise<void> {
  const id = ++lastId;
  const missing = await new Promise<string[]>((resolve) => {
    const late = setTimeout(() => resolve(['the event loop is blocked']), answerMs);
    asked.set(id, (found) => {
      clearTimeout(late);
      resolve(found);
    });
    parentPort?.postMessage({ id });
  });
  asked.delete(id);
  const isReady = missing.length === 0;
  send(res, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', missing });
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  res.end(JSON.stringify(body));
}
