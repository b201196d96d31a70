import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MIB } from '../../../src/lib/http/http-body.ts';
import { until } from '../../support/until.ts';
import { openApp, type ConnectorName, type TestedApp } from '../app.ts';

/* Limits on reading bodies of webhooks before and after the sender is known. */

let app: TestedApp;

beforeAll(async () => {
  app = await openApp();
});
afterAll(() => app[Symbol.asyncDispose]());

interface Sender {
  socket: Socket;
  said: string;
}

/** Sends the head of a POST with a content length, and `body`, which may be shorter. */
function begin(path: string, length: number, body: Buffer | string, secret = ''): Sender {
  const { port, hostname } = new URL(app.service.url);
  const sender: Sender = { socket: connect(Number(port), hostname), said: '' };
  sender.socket.on('error', () => {});
  sender.socket.on('data', (chunk) => (sender.said += String(chunk)));
  sender.socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\nx-secret: ${secret}\r\n`);
  sender.socket.write(`content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`);
  sender.socket.write(body);
  return sender;
}

/** Returns the address and secret of the topic `made`. */
async function listening(connectorId: ConnectorName): Promise<{ path: string; secret: string }> {
  await app.listen(connectorId);
  const hook = app.hooks.findLast(({ topic }) => topic === 'made');
  return { path: new URL(hook?.url ?? '').pathname, secret: hook?.secret ?? '' };
}

test.each(['/hooks/numbered/unknown', '/hooks/workflows/unknown'])(
  '%s: an unknown sender is rejected before its body arrives',
  async (path) => {
    const sender = begin(path, MIB, '');
    await until(() => sender.said !== '');
    sender.socket.destroy();
    expect(sender.said).toMatch(/^HTTP\/1\.1 404 /);
  },
);

test('unfinished bodies of a source use only its own capacity, and release it', async () => {
  const one = await listening('numbered');
  const other = await listening('sequential');
  const length = 9 * MIB;
  const part = Buffer.alloc(length - 1, ' ');
  const two = [1, 2].map(() => begin(one.path, length, part, one.secret));
  await until(() => two.some(({ said }) => said !== ''));
  const refused = two.filter(({ said }) => said !== '');
  expect(refused).toHaveLength(1);
  expect(refused[0]?.said).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 5\r\n/i);
  const sent = async ({ path, secret }: typeof one, padding = 0) => {
    const body = JSON.stringify({ what: 'made', order: app.order('o1') }) + ' '.repeat(padding);
    const headers = { 'content-type': 'application/json', 'x-secret': secret };
    return (await fetch(app.service.url + path, { method: 'POST', headers, body })).status;
  };
  expect(await sent(other, length)).toBe(200);
  expect(await sent(one)).toBe(200);
  for (const { socket } of two) socket.destroy();
  await until(async () => (await sent(one, length)) === 200);
});
