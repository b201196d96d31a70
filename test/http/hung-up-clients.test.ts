import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { holdAnswer, SLOW } from '../support/held-answers.ts';
import { shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

/* Clients that hang up before their answer ends. The log has no error of them, because the alert for errors searches it. */

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
let cookie: string;
let fileId: string;
beforeAll(async () => {
  service = await startService();
  one = await shop(service);
  const signedIn = await service.call('POST', '/console/session', {
    bearer: null,
    headers: { 'x-gatehouse-console': 'person' },
    body: { apiKey: service.developmentKey },
  });
  [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
  const stored = await service.call('POST', `/files?userId=${one.userId}`, {
    headers: { 'content-type': 'application/octet-stream' },
    rawBody: 'x'.repeat(20_000_000),
  });
  fileId = stored.text('fileId');
});
afterAll(() => service.stop());
beforeEach(() => void (service.logged.length = 0));

const errors = () => service.logged.filter((line) => JSON.parse(line).level >= 50);

/** Sends a request and hangs up: after the first bytes of the answer, or while the request still lasts. */
async function hangUp(
  request: string[],
  {
    body = '',
    length = Buffer.byteLength(body),
    until: arrived,
  }: { body?: string; length?: number; until?: Promise<unknown> } = {},
): Promise<void> {
  const { host, hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const sized = length > 0 ? [`Content-Length: ${length}`] : [];
  const head = [request[0], `Host: ${host}`, ...request.slice(1), ...sized].join('\r\n');
  socket.write(`${head}\r\n\r\n${body}`);
  await (arrived ?? once(socket, 'data'));
  socket.destroy();
  await until(() => service.logged.some((line) => JSON.parse(line).msg === 'request'));
}

const AUTHORIZED = () => [`Authorization: Bearer ${service.developmentKey}`, 'x-api-version: 2025-09'];
const JSON_BODY = 'Content-Type: application/json';

test('a page of the console that is closed logs no error', async () => {
  await hangUp(['GET /console/live HTTP/1.1', `Cookie: ${cookie}`, 'x-gatehouse-console: person']);
  expect(errors()).toEqual([]);
});

test('a download that the client ends logs no error', async () => {
  await hangUp([`GET /files/${fileId}?userId=${one.userId} HTTP/1.1`, ...AUTHORIZED()]);
  expect(errors()).toEqual([]);
});

test.each([
  ['/files?userId=', 'application/octet-stream'],
  ['/users?', 'application/json'],
])('a body to %s that the client ends halfway logs no error', async (path, type) => {
  const user = path.endsWith('=') ? one.userId : '';
  const request = [`POST ${path}${user} HTTP/1.1`, ...AUTHORIZED(), `Content-Type: ${type}`];
  await hangUp(request, { body: '{', length: 1000, until: once(service.app.server, 'request') });
  expect(errors()).toEqual([]);
});

test('a call over REST that the client ends logs no error', async () => {
  const path = '/connectors/sandbox/actions/slow/execute';
  const request = [`POST ${path} HTTP/1.1`, ...AUTHORIZED(), `x-svc-userid: ${one.userId}`, JSON_BODY];
  const { asked, release } = holdAnswer(service, SLOW);
  await hangUp(request, { body: '{"input":{}}', until: asked });
  release();
  expect(errors()).toEqual([]);
});

test('a call over MCP that the client ends logs no error', async () => {
  const { pathname } = new URL(one.accessUrl);
  const params = {
    name: 'execute_action_svc',
    arguments: { connectorId: 'sandbox', actionId: 'slow', parameters: {} },
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const { asked, release } = holdAnswer(service, SLOW);
  const accepts = 'Accept: application/json, text/event-stream';
  await hangUp([`POST ${pathname} HTTP/1.1`, JSON_BODY, accepts], { body, until: asked });
  release();
  expect(errors()).toEqual([]);
});

test('a download whose content is damaged logs its error', async () => {
  await service.context.db
    .updateTable('file_chunks')
    .set({ content: Buffer.alloc(100) })
    .where('file_id', '=', fileId)
    .where('chunk', '=', 5)
    .execute();
  const answer = await fetch(`${service.url}/files/${fileId}?userId=${one.userId}`, {
    headers: { authorization: `Bearer ${service.developmentKey}`, 'x-api-version': '2025-09' },
  });
  await expect(answer.arrayBuffer()).rejects.toThrow('terminated');
  await until(() => errors().length > 0);
  expect(errors().map((line) => JSON.parse(line).msg)).toEqual(['request failed']);
});
