import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CONSOLE_ROUTES } from '../../src/http/routes/console/console-routes.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { MIB } from '../../src/lib/http/http-body.ts';
import { startService, type Service } from '../support/service.ts';

/* Requests that need no credential cost little, and clients can read the refusal of a large body. */

const OPEN = [...ROUTES, ...CONSOLE_ROUTES].filter(
  ({ method, spec }) => method !== 'GET' && spec.auth === 'none' && !spec.rawBody,
);
const LIMIT_PER_MINUTE = 30;

describe('a request without a credential', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService();
  });
  const send = (method: string, path: string, rawBody: string) =>
    service.call(method, path.replaceAll(/\{\w+\}/g, 'x'), { bearer: null, rawBody });

  test('a request without a credential is refused above 16 KiB, at every open route', async () => {
    await using _ = service;
    expect(OPEN.length).toBeGreaterThan(2);
    const answers = await Promise.all(
      OPEN.map(({ method, path }) => send(method, path, JSON.stringify({ apiKey: 'x'.repeat(17 * 1024) }))),
    );
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 413, body: { error: 'The body is larger than 16 KiB.' } });
  });

  test('a faulty request without a credential counts against the limit of its address', async () => {
    await using _ = service;
    const faulty = () => send('POST', '/console/session', '{"unknown":1}');
    for (let count = 0; count < LIMIT_PER_MINUTE; count++) expect((await faulty()).status).toBe(400);
    const barred = await faulty();
    expect(barred.status).toBe(429);
    expect(Number(barred.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await send('POST', '/console/session', 'x'.repeat(20_000))).status).toBe(429);
    const known = await service.call('GET', '/api/servers');
    expect(known.status).toBe(200);
  });

  test('a request without a credential is 401 each time and uses up no limit', async () => {
    await using _ = service;
    const server = await service.call('POST', '/api/servers', { body: { name: 'any' } });
    const mcp = `/mcp/${server.text('serverId')}`;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    for (let count = 0; count <= LIMIT_PER_MINUTE; count++) {
      expect((await send('POST', mcp, body)).status).toBe(401);
      expect((await service.call('GET', '/api/servers', { bearer: null })).status).toBe(401);
    }
    for (let count = 0; count < LIMIT_PER_MINUTE; count++)
      expect((await service.call('GET', '/api/servers', { bearer: 'wrong' })).status).toBe(401);
    expect((await service.call('GET', '/api/servers', { bearer: 'wrong' })).status).toBe(429);
  });

  test('a request without a credential to a webhook address counts against no limit', async () => {
    await using _ = service;
    for (let count = 0; count <= LIMIT_PER_MINUTE; count++)
      expect((await send('POST', '/hooks/sandbox/x', '{')).status).toBe(404);
  });
});

describe('a client that sends its whole body before it reads', () => {
  let service: Service;
  let mcp: string;

  beforeAll(async () => {
    service = await startService();
    const server = await service.call('POST', '/api/servers', { body: { name: 'large' } });
    mcp = new URL(server.text('accessUrl')).pathname;
  });
  afterAll(() => service.stop());

  /** Sends a body in parts and returns the first line of the answer. */
  const statusLine = (path: string, framing: 'content-length' | 'chunked') =>
    new Promise<string>((resolve, reject) => {
      const part = Buffer.alloc(MIB, 32);
      const parts = 4;
      const socket = connect(service.app.port, '127.0.0.1');
      const write = (bytes: Buffer | string) =>
        new Promise<void>((done) => void socket.write(bytes, () => done()));
      let answer = '';
      socket.on('error', reject);
      socket.on('close', () => resolve(answer.split('\r\n')[0] ?? ''));
      const sendAll = async () => {
        const length =
          framing === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${parts * part.length}`;
        await write(
          `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
            `x-api-version: 2025-09\r\nAuthorization: Bearer ${service.developmentKey}\r\n${length}\r\n\r\n`,
        );
        for (let count = 0; count < parts; count++) {
          if (framing === 'chunked') await write(`${part.length.toString(16)}\r\n`);
          await write(part);
          if (framing === 'chunked') await write('\r\n');
        }
        if (framing === 'chunked') await write('0\r\n\r\n');
        socket.on('data', (bytes) => void (answer += bytes.toString()));
        socket.resume();
      };
      socket.pause();
      socket.on('connect', () => void sendAll().catch(reject));
    });

  test.each(['content-length', 'chunked'] as const)(
    'a client that sends its whole body before it reads gets 413 from REST with %s',
    async (framing) => {
      expect(await statusLine('/users', framing)).toBe('HTTP/1.1 413 Payload Too Large');
    },
  );

  test.each(['content-length', 'chunked'] as const)(
    'a client that sends its whole body before it reads gets 413 from MCP with %s',
    async (framing) => {
      expect(await statusLine(mcp, framing)).toBe('HTTP/1.1 413 Payload Too Large');
    },
  );
});
