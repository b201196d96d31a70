import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { promisify } from 'node:util';
import { brotliCompressSync, deflateSync, gzip, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GatehouseError } from '../../src/lib/errors.ts';
import { createOutbound, MAX_ANSWER_BYTES, type Outbound } from '../../src/outbound/outbound.ts';
import { until } from '../support/until.ts';

const CANARY = 'canary_9f8e7d6c5b4a';

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

describe('outbound calls', () => {
  let handler: Handler = (_req, res) => res.end();
  let server: Server;
  let other: Server;
  let origin = '';
  let otherOrigin = '';
  let outbound: Outbound;
  let seen: { method: string; url: string; headers: IncomingMessage['headers'] }[] = [];
  let closed = 0;

  beforeAll(async () => {
    const listener: Handler = (req, res) => {
      seen.push({ method: req.method ?? '', url: req.url ?? '', headers: req.headers });
      res.on('close', () => closed++);
      handler(req, res);
    };
    server = createServer(listener);
    other = createServer(listener);
    origin = await listen(server);
    otherOrigin = await listen(other);
    outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: true });
  });
  afterAll(async () => {
    await outbound.close();
    for (const one of [server, other]) {
      one.closeAllConnections();
      await new Promise((resolve) => one.close(resolve));
    }
  });
  beforeEach(() => {
    seen = [];
    closed = 0;
  });

  const get = (path = '/', more: Partial<Parameters<Outbound['request']>[0]> = {}) =>
    outbound.request({
      method: 'GET',
      url: origin + path,
      headers: { authorization: `Bearer ${CANARY}`, 'x-odd-name': CANARY },
      timeoutMs: 5000,
      ...more,
    });
  const failure = async (call: Promise<unknown>): Promise<GatehouseError> => {
    const error = await call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof GatehouseError)) throw new Error(`expected a refusal, got ${String(error)}`);
    const told = JSON.stringify([error.message, error.details, error.headers, String(error.cause ?? '')]);
    expect(told).not.toContain(CANARY);
    return error;
  };

  test('outbound calls return status, headers and body, and reuse the connection', async () => {
    const sockets = new Set<unknown>();
    handler = (req, res) => {
      sockets.add(req.socket);
      res.writeHead(201, { 'X-One': 'a', 'set-cookie': ['a=1', 'b=2'] }).end('hello');
    };
    for (let i = 0; i < 5; i++) {
      const { status, headers, body } = await get();
      expect([status, headers['x-one'], headers['set-cookie'], body.toString()]).toEqual([
        201,
        'a',
        'a=1, b=2',
        'hello',
      ]);
    }
    // A second connection is possible when the first was not free yet.
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('an outbound call unpacks %s', async (encoding, pack) => {
    handler = (_req, res) => res.writeHead(200, { 'content-encoding': encoding }).end(pack('packed text'));
    expect((await get()).body.toString()).toBe('packed text');
    let text = '';
    for await (const chunk of (await outbound.stream({ method: 'GET', url: origin })).body)
      text += chunk.toString();
    expect(text).toBe('packed text');
  });

  test.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
    ['GET', 200],
  ])('an answer of %s with status %i may name an encoding without a body', async (method, status) => {
    handler = (_req, res) => {
      const length = status === 200 ? { 'content-length': '0' } : {};
      res.writeHead(status, { 'content-encoding': 'gzip', ...length }).end();
    };
    expect((await get('/', { method })).body.length).toBe(0);
  });

  test('a small body that unpacks to a large one is ended early', async () => {
    // Compressed in a thread, because the server closes a connection that the event loop leaves idle for seconds.
    const bomb = await promisify(gzip)(Buffer.alloc(200 * 1024 * 1024));
    handler = (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    const before = process.memoryUsage().rss;
    const error = await failure(get());
    expect(error.code).toBe('upstream_too_large');
    expect(process.memoryUsage().rss - before).toBeLessThan(120 * 1024 * 1024);
  });

  test('an endless answer is ended at 10 MiB, and its connection is closed', async () => {
    let sent = 0;
    handler = (_req, res) => {
      const more = () => {
        while (!res.destroyed && res.write(Buffer.alloc(65_536))) sent += 65_536;
        res.once('drain', more);
      };
      more();
    };
    expect((await failure(get())).code).toBe('upstream_too_large');
    await until(() => closed === 1);
    expect(sent).toBeLessThan(3 * MAX_ANSWER_BYTES);
    handler = (_req, res) => res.end(Buffer.alloc(MAX_ANSWER_BYTES));
    expect((await get()).body.length).toBe(MAX_ANSWER_BYTES);
  });

  test.each<[string, Handler]>([
    ['never answers', () => {}],
    ['stops in its headers', (req) => void req.socket.write('HTTP/1.1 200 OK\r\nx-a: ')],
    ['stops in its body', (_req, res) => void res.writeHead(200, { 'content-length': '100' }).write('half')],
    [
      'sends a byte now and then',
      (_req, res) => {
        const timer = setInterval(() => res.write('.'), 50);
        res.on('close', () => clearInterval(timer));
      },
    ],
  ])('the deadline ends a call of a server that %s, and closes the connection', async (_what, upstream) => {
    handler = upstream;
    const error = await failure(get('/', { timeoutMs: 1000 }));
    expect([error.code, error.status]).toEqual(['upstream_timeout', 504]);
    await until(() => closed === 1);
  });

  test('a cancelled call closes its connection at once', async () => {
    handler = () => {};
    const gone = new AbortController();
    const call = failure(get('/', { signal: gone.signal }));
    await until(() => seen.length === 1);
    gone.abort();
    expect((await call).details).toEqual({ reason: 'cancelled' });
    await until(() => closed === 1);
    expect((await failure(get('/', { signal: gone.signal }))).details).toEqual({ reason: 'cancelled' });
  });

  test('a cancelled stream ends', async () => {
    handler = (_req, res) => void res.writeHead(200).write('first');
    const gone = new AbortController();
    const { body } = await outbound.stream({ method: 'GET', url: origin, signal: gone.signal });
    const read = async () => {
      for await (const chunk of body) {
        expect(chunk.toString()).toBe('first');
        gone.abort();
      }
    };
    expect((await failure(read())).details).toEqual({ reason: 'cancelled' });
    await until(() => closed === 1);
  });

  test('a failed call reports only a coarse reason', async () => {
    const reasons: unknown[] = [];
    const record = async (call: Promise<unknown>) => reasons.push((await failure(call)).details?.['reason']);
    handler = (req) => req.socket.resetAndDestroy();
    await record(get());
    handler = (req) => void req.socket.end('this is no HTTP\r\n\r\n');
    await record(get());
    handler = (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end('this is no gzip');
    await record(get());
    handler = (_req, res) => {
      res.writeHead(200, { 'content-length': '100' }).write('half');
      setTimeout(() => res.socket?.resetAndDestroy(), 20);
    };
    await record(get());
    await record(get('/', { url: `http://127.0.0.1:${await freePort()}/` }));
    await record(get('/', { url: 'https://no-such-name.invalid/' }));
    await record(get('/', { url: origin.replace('http:', 'https:') }));
    await record(get('/', { url: 'http://10.0.0.1/' }));
    expect(reasons).toEqual([
      'reset',
      'protocol',
      'protocol',
      'reset',
      'refused',
      'dns',
      'tls',
      'blocked_address',
    ]);
  });

  describe('redirects', () => {
    const redirecting =
      (status: number, location: string): Handler =>
      (req, res) => {
        if (req.url === '/end') return res.end('arrived');
        return res.writeHead(status, { location }).end('go there');
      };
    const follow = (more: Partial<Parameters<Outbound['request']>[0]> = {}) =>
      get('/', { followRedirects: true, ...more });

    test.each([
      [301, 'POST', 'GET'],
      [302, 'POST', 'GET'],
      [303, 'POST', 'GET'],
      [303, 'DELETE', 'GET'],
      [307, 'POST', 'POST'],
      [308, 'PUT', 'PUT'],
      [302, 'DELETE', 'DELETE'],
      [301, 'HEAD', 'HEAD'],
      [308, 'GET', 'GET'],
    ])('status %i on %s continues with the method of the standard: %s', async (status, method, then) => {
      handler = redirecting(status, '/end');
      const body = method === 'POST' || method === 'PUT' ? { body: '{}' } : {};
      await follow({ method, ...body });
      expect(seen.map((one) => `${one.method} ${one.url}`)).toEqual([`${method} /`, `${then} /end`]);
      expect(seen[1]?.headers['authorization']).toBe(`Bearer ${CANARY}`);
      expect(seen[1]?.headers['content-length']).toBe(method === then && 'body' in body ? '2' : undefined);
    });

    test('redirects to another origin carry no credential in any header', async () => {
      handler = redirecting(302, `${otherOrigin}/end`);
      expect((await follow()).body.toString()).toBe('arrived');
      expect(JSON.stringify(seen[1]?.headers)).not.toContain(CANARY);
      expect(seen[1]?.headers.host).toBe(new URL(otherOrigin).host);
    });

    test('redirects to another origin carry no body', async () => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        handler = redirecting(307, `${otherOrigin}/end`);
        expect((await failure(follow({ method, body: CANARY }))).message).toContain('another origin');
      }
      expect(seen.filter((one) => one.url === '/end')).toEqual([]);
    });

    test('redirects are at most three, and the guard checks each', async () => {
      handler = redirecting(302, '/again');
      expect((await failure(follow())).message).toContain('more than 3 times');
      expect(seen.length).toBe(4);
      for (const location of [
        'https://169.254.169.254/latest',
        'http://10.0.0.1/',
        'https://0.0.0.0/',
        '//100.100.100.200/',
      ]) {
        handler = redirecting(302, location);
        const refused = await failure(follow());
        expect(refused.details?.['reason']).toBe('blocked_address');
        const { host } = new URL(location, 'https://127.0.0.1');
        expect(refused.message).toMatch(new RegExp(`^${host.replaceAll('.', '\\.')} was not called`));
      }
      for (const location of [
        'file:///etc/passwd',
        'http://user:pw@127.0.0.1/',
        'http://[bad',
        'javascript:1',
      ]) {
        handler = redirecting(302, location);
        expect((await failure(follow())).code).toBe('upstream_failed');
      }
    });

    test('redirects are not followed unless the caller asks for it', async () => {
      handler = redirecting(302, '/end');
      expect((await get()).status).toBe(302);
    });
  });

  test('headers that would begin another request are refused', async () => {
    handler = (_req, res) => res.end();
    const call = get('/', { headers: { 'x-a': `1\r\nx-b: ${CANARY}` } });
    const refused = await failure(call);
    expect(refused.code).toBe('invalid_request');
    expect(refused.message).toContain('the header "x-a" holds a line break (CR or LF)');
    expect(refused.message).not.toContain(CANARY);
    expect(seen).toEqual([]);
  });

  test.each<[string, (call: Outbound) => Promise<unknown>]>([
    ['request', (out) => out.request({ method: 'GET', url: 'https://silent.example/', timeoutMs: 50 })],
    ['stream', (out) => out.stream({ method: 'GET', url: 'https://silent.example/', timeoutMs: 50 })],
  ])('behind an egress proxy the deadline includes the look-up of a name: %s', async (_, call) => {
    let asked = 0;
    const waiting = createOutbound({
      allowedNetworks: [],
      allowPrivateNetwork: false,
      egressProxy: 'http://127.0.0.1:9',
      lookup: () => void asked++,
    });
    expect(await failure(call(waiting))).toMatchObject({ code: 'upstream_timeout' });
    expect(asked).toBe(1);
    await waiting.close();
  });

  test('behind an egress proxy a cancelled call does not wait for the look-up', async () => {
    const asked = Promise.withResolvers<void>();
    const waiting = createOutbound({
      allowedNetworks: [],
      allowPrivateNetwork: false,
      egressProxy: 'http://127.0.0.1:9',
      lookup: () => asked.resolve(),
    });
    const giveUp = new AbortController();
    const call = waiting.request({ method: 'GET', url: 'https://silent.example/', signal: giveUp.signal });
    await asked.promise;
    giveUp.abort();
    expect((await failure(call)).details).toEqual({ reason: 'cancelled' });
    await waiting.close();
  });

  test('the egress proxy is used, and the guard still checks names and literals', async () => {
    const asked: string[] = [];
    const proxy = createServer((_req, res) => res.writeHead(400).end()).on('connect', (req, socket) => {
      asked.push(req.url ?? '');
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    const egressProxy = await listen(proxy);
    const proxied = createOutbound({
      allowedNetworks: [],
      allowPrivateNetwork: false,
      egressProxy,
      lookup: (name, _options, callback) =>
        name === 'unknown.example.com'
          ? callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
          : callback(null, [{ address: name.startsWith('bad') ? '10.0.0.1' : '8.8.8.8', family: 4 }]),
    });
    const reason = async (url: string) =>
      (await failure(proxied.request({ method: 'GET', url, timeoutMs: 3000 }))).details?.['reason'];
    expect(await reason('https://bad.example.com/')).toBe('blocked_address');
    expect(await reason('https://127.0.0.1/')).toBe('blocked_address');
    expect(asked).toEqual([]);
    await reason('https://good.example.com/');
    await reason('https://unknown.example.com/');
    expect(asked).toEqual(['good.example.com:443', 'unknown.example.com:443']);
    await proxied.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
});

async function listen(server: Server | TcpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

async function freePort(): Promise<string> {
  const probe = createTcpServer();
  const origin = await listen(probe);
  await new Promise((resolve) => probe.close(resolve));
  return new URL(origin).port;
}
