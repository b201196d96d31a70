import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { cliEnv, startCli, tempHome, type Ended, type Started } from '../support/cli.ts';
import { until } from '../support/until.ts';

/* Kept-alive connections while a process stops. */

interface Connection extends AsyncDisposable {
  readonly socket: Socket;
  /** The bytes that arrived. */
  text(): string;
  send(text: string): void;
  /** Resolves when the process has closed it. */
  readonly closed: Promise<unknown>;
}

async function open(gatehouse: Started): Promise<Connection> {
  const socket = connect(Number(new URL(gatehouse.url).port), '127.0.0.1');
  const closed = once(socket, 'close');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => {});
  await once(socket, 'connect');
  return {
    socket,
    closed,
    text: () => Buffer.concat(chunks).toString('latin1'),
    send: (text) => void socket.write(text),
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: gatehouse\r\n\r\n`;
const BODY = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
/** A request whose body is sent when the process asks for it, so the test knows that it has begun. */
const BEGUN = `POST /mcp/unknown/unknown HTTP/1.1\r\nHost: gatehouse\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`;

async function begin(connection: Connection): Promise<void> {
  connection.send(BEGUN);
  await until(() => connection.text().includes('100 Continue'));
}

/** Sends SIGTERM, and waits until no connection is accepted, so the process has closed idle ones too. */
async function stopping(gatehouse: Started): Promise<{ ended: Promise<Ended> }> {
  const ended = gatehouse.stop();
  await until(async () => {
    const probe = connect(Number(new URL(gatehouse.url).port), '127.0.0.1');
    const outcome = once(probe, 'connect').then(
      () => 'accepted',
      () => 'refused',
    );
    return (await outcome.finally(() => probe.destroy())) === 'refused';
  });
  return { ended };
}

test('idle connections close at once, and a response in flight announces the close', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path));
  await using idle = await open(gatehouse);
  idle.send(get('/health'));
  await until(() => idle.text().includes('200 OK'));
  expect(idle.text()).toMatch(/connection: keep-alive/i);
  await using busy = await open(gatehouse);
  await begin(busy);
  const { ended } = await stopping(gatehouse);
  await idle.closed;
  expect(busy.text()).not.toContain('HTTP/1.1 4');
  busy.send(BODY);
  await busy.closed;
  expect(busy.text()).toMatch(/HTTP\/1\.1 4\d\d[^]*\r\nconnection: close\r\n/i);
  expect(busy.text().trimEnd().endsWith('}')).toBe(true);
  expect((await ended).code).toBe(0);
});

test('a request that arrives behind one in flight during a stop does not begin', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path));
  await using busy = await open(gatehouse);
  await begin(busy);
  const { ended } = await stopping(gatehouse);
  busy.send(BODY + get('/never-begun'));
  await busy.closed;
  const { out } = await ended;
  expect(busy.text().match(/HTTP\/1\.1 (\d+)/g)).toHaveLength(2);
  expect(out).not.toContain('never-begun');
});

test('responses that a slow client has not read yet arrive whole', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path));
  await using slow = await open(gatehouse);
  const REQUESTS = 12;
  slow.socket.once('data', () => slow.socket.pause());
  slow.send(get('/openapi.json').repeat(REQUESTS));
  await until(() => slow.socket.isPaused());
  const { ended } = await stopping(gatehouse);
  slow.socket.resume();
  await slow.closed;
  const parts = slow.text().split('HTTP/1.1 200 OK\r\n').slice(1);
  expect(parts).toHaveLength(REQUESTS);
  for (const part of parts) {
    const [head = '', body] = part.split('\r\n\r\n', 2);
    expect(body).toHaveLength(Number(/content-length: (\d+)/i.exec(head)?.[1]));
  }
  expect((await ended).code).toBe(0);
});
