import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
  // The first request loads REST.
  await service.call('GET', '/health', { bearer: null });
});
afterAll(() => service?.stop());

test('/health is answered while hundreds of requests that came before it wait', async () => {
  let answered = 0;
  const burst = Array.from({ length: 400 }, async () => {
    const { status } = await service.call('GET', '/api/servers');
    answered += 1;
    return status;
  });
  const health = await service.call('GET', '/health', { bearer: null });
  expect(answered).toBeLessThan(200);
  expect(health.status).toBe(200);
  expect(new Set(await Promise.all(burst))).toEqual(new Set([200]));
});

test('a probe on a new connection does not wait for hundreds that came before it', async () => {
  const begun: string[] = [];
  const note = ({ url = '' }: IncomingMessage) => begun.push(url);
  service.app.server.prependListener('request', note);
  const burst = Array.from({ length: 400 }, () => ask(head('GET', '/api/servers')));
  expect(await ask(head('GET', '/health'))).toMatch(/^HTTP\/1.1 200 /);
  for (const answer of await Promise.all(burst)) expect(answer).toMatch(/^HTTP\/1.1 200 /);
  service.app.server.off('request', note);
  expect(begun).toHaveLength(401);
  expect(begun.indexOf('/health')).toBeLessThan(200);
});

test('a request line that arrives in parts is read', async () => {
  const socket = await open();
  const answer = text(socket);
  for (const part of ['G', 'ET /hea', 'lth HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']) {
    socket.write(part);
    await turns(5);
  }
  expect(await answer).toMatch(/^HTTP\/1.1 200 /);
});

test('a long body that arrives while its connection waits is read whole and in order', async () => {
  const others = Array.from({ length: 200 }, () => ask(head('GET', '/api/servers')));
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key${i}`, `${i} `.repeat(100)]));
  const body = JSON.stringify({ username: 'waits', metadata });
  const socket = await open();
  const answer = text(socket);
  socket.write(head('POST', '/users', { 'content-type': 'application/json', 'content-length': body.length }));
  for (let at = 0; at < body.length; at += 4000) {
    socket.write(body.slice(at, at + 4000));
    await turns(1);
  }
  expect(await answer).toMatch(/^HTTP\/1.1 201 /);
  await Promise.all(others);
  const { body: stored } = await service.call('GET', '/users?username=waits');
  expect(JSON.stringify(stored)).toContain(JSON.stringify(metadata));
});

test('requests that arrive together on a new connection are answered in order', async () => {
  const socket = await open();
  const answer = text(socket);
  socket.write(head('GET', '/health', { connection: 'keep-alive' }) + head('GET', '/api/nothing-here'));
  expect((await answer).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
});

test('a new connection that sends nothing is closed after the time for headers', async () => {
  const { server } = service.app;
  const { headersTimeout } = server;
  server.headersTimeout = 50;
  try {
    const socket = await open();
    expect(await text(socket)).toBe('');
  } finally {
    server.headersTimeout = headersTimeout;
  }
});

test('a new connection that ends before a request is closed', async () => {
  const socket = await open();
  socket.end();
  expect(await text(socket)).toBe('');
});

test('clients that go away while their connections wait do no harm', async () => {
  const sockets = await Promise.all(Array.from({ length: 200 }, open));
  for (const socket of sockets) {
    socket.write(head('GET', '/api/servers'));
    socket.resetAndDestroy();
  }
  expect(await ask(head('GET', '/api/servers'))).toMatch(/^HTTP\/1.1 200 /);
});

async function open(): Promise<Socket> {
  const socket = connect(service.app.port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Sends a request on a connection of its own, and returns its answer. */
async function ask(request: string): Promise<string> {
  const socket = connect(service.app.port, '127.0.0.1');
  socket.write(request);
  return text(socket);
}

function head(method: string, path: string, headers: Record<string, string | number> = {}): string {
  const all = {
    host: 'a',
    'x-api-version': '2025-09',
    authorization: `Bearer ${service.developmentKey}`,
    connection: 'close',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
