import { createServer } from 'node:http';
import { createSecureServer } from 'node:http2';
import { connect, createServer as createTcpServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SECOND } from '../../src/lib/clock.ts';
import { createOutbound, type OutboundOptions } from '../../src/outbound/outbound.ts';
import { makeCertificate, type Certificate } from '../support/certificate.ts';
import { cliEnv, runCli, tempHome } from '../support/cli.ts';

let certificate: Certificate;
let server: Server;
let url = '';
let spoken: string[] = [];

beforeAll(async () => {
  certificate = makeCertificate();
  const { cert, key } = certificate;
  // The server uses h2 with every client that offers it.
  server = createSecureServer({ cert, key, allowHTTP1: true }, (req, res) => {
    spoken.push(req.httpVersion);
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end('{"jsonrpc":"2.0","id":1,"result":{}}');
  });
  url = `https://127.0.0.1:${await listen(server)}/`;
});
afterAll(async () => {
  certificate[Symbol.dispose]();
  await new Promise((resolve) => server.close(resolve));
});

test('an outbound call speaks HTTP/1.1 to a server that offers HTTP/2', async () => {
  expect(await spokenBy({})).toEqual(['1.1', '1.1']);
});

test('an outbound call through an egress proxy speaks HTTP/1.1 to an HTTP/2 server', async () => {
  const proxy = createServer().on('connect', (req, socket) => {
    const [host, port] = (req.url ?? '').split(':');
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
  });
  const egressProxy = `http://127.0.0.1:${await listen(proxy)}`;
  expect(await spokenBy({ egressProxy })).toEqual(['1.1', '1.1']);
  await new Promise((resolve) => proxy.close(resolve));
});

test('a deadline closes a silently dead connection, and the next request opens one', async () => {
  let isDead = false;
  const relay = createTcpServer((near) => {
    const isOld = !isDead;
    const far = connect(Number(new URL(url).port), '127.0.0.1');
    // The connection dies as in a router that dropped it.
    near.on('data', (chunk) => void (isOld && isDead ? undefined : far.write(chunk)));
    far.on('data', (chunk) => near.write(chunk));
    near.on('close', () => far.destroy()).on('error', () => {});
    far.on('close', () => near.destroy()).on('error', () => {});
  });
  const through = `https://127.0.0.1:${await listen(relay)}/`;
  const outbound = outboundOf({ connections: 1 });
  const ask = (timeoutMs = 10 * SECOND) => outbound.request({ method: 'GET', url: through, timeoutMs });
  await ask();
  isDead = true;
  await expect(ask(500)).rejects.toMatchObject({ code: 'upstream_timeout' });
  expect((await ask()).status).toBe(200);
  await outbound.close();
  await new Promise((resolve) => relay.close(resolve));
});

test('the bridge speaks HTTP/1.1 to a remote Gatehouse behind a proxy with HTTP/2', async () => {
  using home = tempHome();
  spoken = [];
  const env = cliEnv(home.path, { NODE_EXTRA_CA_CERTS: certificate.file });
  const input = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n';
  const { out } = await runCli(['stdio', '--url', url], env, { input });
  expect([out, ...spoken]).toEqual(['{"jsonrpc":"2.0","id":1,"result":{}}\n', '1.1']);
});

/** Returns the HTTP versions of a request and a stream. */
async function spokenBy(options: Partial<OutboundOptions>): Promise<string[]> {
  spoken = [];
  const outbound = outboundOf(options);
  await outbound.request({ method: 'GET', url });
  const { body } = await outbound.stream({ method: 'GET', url });
  for await (const chunk of body) expect(chunk.length).toBeGreaterThan(0);
  await outbound.close();
  return spoken;
}

function outboundOf(options: Partial<OutboundOptions>) {
  return createOutbound({
    allowedNetworks: [],
    allowPrivateNetwork: true,
    caFile: certificate.file,
    ...options,
  });
}

async function listen(one: Server): Promise<number> {
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  const address = one.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
