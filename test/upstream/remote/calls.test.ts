import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { MIB } from '../../../src/lib/http/http-body.ts';
import { startRemoteServer, type RemoteServer } from '../../support/remote-server.ts';
import { startService, type Service } from '../../support/service.ts';

let service: Service;
let remote: RemoteServer;
let userId: string;

beforeAll(async () => {
  remote = await startRemoteServer();
  service = await startService({});
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const added = await service.call('POST', '/api/connectors', {
    body: { definition: remoteFile(remote.url) },
  });
  added.text('connectorId');
});
afterAll(async () => {
  await service.stop();
  await remote[Symbol.asyncDispose]();
});
beforeEach(() => {
  remote.tokens.clear();
  remote.heard.length = 0;
  remote.instead = undefined;
});

/** Returns the connector file `remote` of the tools of the test's server. */
function remoteFile(baseUrl: string): string {
  const tool = (id: string, name: string, more = '') =>
    `  ${id}: {description: A tool., request: POST /, mcp: {method: tools/call, name: ${name}}, response: {body: content}${more}}\n`;
  return `id: remote
name: Remote
description: An MCP server of the tests.
categories: [data]
website: https://notes.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
protocol: mcp
baseUrl: ${baseUrl}
authentication: [{type: bearer}]
probe: tools
errors: {message: [error.message]}
actions:
  tools: {description: Lists., effect: read, internal: true, request: POST /, mcp: {method: tools/list}}
${tool('add', 'add-numbers', ', effect: read, input: {type: object, properties: {a: {type: number}, b: {type: number}}, required: [a, b]}')}${tool('who', 'whoAmI', ', effect: read')}${tool('broken', 'broken', ', effect: read')}${tool('gone', 'no_such_tool', ', effect: read')}${tool('late', 'whoAmI', ', effect: read, timeoutSeconds: 1')}`;
}

const connect = (token: string) =>
  service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'remote', data: { token } },
  });
const run = (actionId: string, credentialId: string, input: object = {}) =>
  service.call('POST', `/connectors/remote/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input, credentialId },
  });

test('a tool of a remote server runs with the credential of its user', async () => {
  remote.tokens.add('token_of_ada_1');
  expect((await connect('token_of_nobody')).text('code')).toBe('credential_invalid');
  const made = await connect('token_of_ada_1');
  expect(made.status).toBe(201);
  const id = made.text('credentialId');
  const sum = await run('add', id, { a: 2, b: 3 });
  expect([sum.status, sum.at('data.content.0.text')]).toEqual([200, '5']);
  // The server repeats the token, which is removed from its answer.
  expect((await run('who', id)).at('data.content.0.text')).toBe('Bearer [secret]');
  expect((await run('broken', id)).at('data.isError')).toBe(true);
});

const idOf = async (token: string) => {
  remote.tokens.add(token);
  return (await connect(token)).text('credentialId');
};
/** Answers calls of tools by `answer`, and everything else as the server does. */
function insteadOfCalls(answer: (id: unknown, res: ServerResponse) => void): void {
  remote.instead = (_req, res, body) => {
    if (!body.includes('"tools/call"')) return false;
    const { id } = z.object({ id: z.unknown() }).parse(JSON.parse(body));
    answer(id, res);
    return true;
  };
}
const asJson = (res: ServerResponse, message: unknown) =>
  void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message));

test.each(['JSON', 'events'])(
  'integers beyond 2^53 keep their digits to a remote server and back, as %s',
  async (form) => {
    const id = await idOf(`token_of_exact_${form}`);
    let sent = '';
    remote.instead = (_req, res, body) => {
      if (!body.includes('"tools/call"')) return false;
      sent = body;
      const called = z.object({ id: z.unknown() }).parse(JSON.parse(body));
      const result = '{"content":[],"structuredContent":{"id":9007199254740993,"near":[9007199254740992]}}';
      const message = `{"jsonrpc":"2.0","id":${JSON.stringify(called.id)},"result":${result}}`;
      const isStream = form === 'events';
      res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      res.end(isStream ? `event: message\ndata: ${message}\n\n` : `\ufeff${message}`);
      return true;
    };
    const answer = await service.call('POST', '/connectors/remote/actions/add/execute', {
      headers: { 'x-svc-userid': userId },
      rawBody: `{"credentialId":"${id}","input":{"a":9007199254740993,"b":"9007199254740995"}}`,
    });
    expect(sent).toContain('"arguments":{"a":9007199254740993,"b":9007199254740995}');
    expect(answer.at('data.structuredContent')).toEqual({
      id: '9007199254740993',
      near: ['9007199254740992'],
    });
  },
);

test('each credential has sessions of its own, which later calls use again', async () => {
  const [ada, grace] = [await idOf('token_of_ada_2'), await idOf('token_of_grace')];
  const probed = new Set(remote.heard.map(({ session }) => session));
  remote.heard.length = 0;
  await run('add', ada, { a: 1, b: 2 });
  await run('add', ada, { a: 1, b: 2 });
  await run('add', grace, { a: 1, b: 2 });
  const calls = remote.heard.filter(({ method }) => method === 'tools/call').map(({ session }) => session);
  expect(calls[0]).toBe(calls[1]);
  expect(calls[2]).not.toBe(calls[0]);
  expect(calls.every((session) => probed.has(session))).toBe(true);
});

test('a server that forgot a session gets the call in a new one', async () => {
  const id = await idOf('token_of_ada_3');
  remote.forget();
  expect((await run('add', id, { a: 4, b: 5 })).at('data.content.0.text')).toBe('9');
});

test('a refused token asks for a new credential', async () => {
  const id = await idOf('token_of_ada_4');
  remote.tokens.add('token_of_others').delete('token_of_ada_4');
  const refused = await run('add', id, { a: 1, b: 2 });
  expect([refused.status, refused.text('code')]).toEqual([409, 'credential_invalid']);
});

test('an error of JSON-RPC is a refusal with the words of the server', async () => {
  const id = await idOf('token_of_ada_5');
  insteadOfCalls((id, res) =>
    asJson(res, { jsonrpc: '2.0', id, error: { code: -32602, message: 'no such tool' } }),
  );
  const refused = await run('gone', id);
  expect([refused.status, refused.text('code'), refused.at('details.message')]).toEqual([
    422,
    'upstream_rejected',
    'no such tool',
  ]);
});

test('a server that never answers ends at the deadline', async () => {
  const id = await idOf('token_of_ada_6');
  insteadOfCalls(() => {});
  const late = await run('late', id);
  expect([late.status, late.text('code')]).toEqual([504, 'upstream_timeout']);
});

test('a list of tools without end is refused', async () => {
  let pages = 0;
  remote.instead = (_req, res, body) => {
    if (!body.includes('"tools/list"')) return false;
    const { id } = z.object({ id: z.unknown() }).parse(JSON.parse(body));
    asJson(res, { jsonrpc: '2.0', id, result: { tools: [], nextCursor: `page ${++pages}` } });
    return true;
  };
  const refused = await connect('token_of_ada_9');
  expect([refused.status, refused.text('code'), pages]).toEqual([502, 'upstream_failed', 100]);
});

test('a stream that ends before its answer is a broken connection', async () => {
  const id = await idOf('token_of_ada_7');
  insteadOfCalls(
    (_id, res) => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(': none\n\n'),
  );
  const broken = await run('add', id, { a: 1, b: 2 });
  expect([broken.status, broken.at('details.reason')]).toEqual([502, 'reset']);
});

test.each<[string, (id: unknown, res: ServerResponse) => void, string, string]>([
  [
    'nests too deep',
    (id, res) => {
      const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          `{"jsonrpc":"2.0","id":${Number(id)},"result":{"content":[],"structuredContent":{"a":${deep}}}}`,
        );
    },
    'upstream_failed',
    'too_deep',
  ],
  [
    'is larger than 10 MiB',
    (id, res) =>
      asJson(res, {
        jsonrpc: '2.0',
        id,
        result: { content: [{ type: 'text', text: 'x'.repeat(11 * MIB) }] },
      }),
    'upstream_too_large',
    '',
  ],
  [
    'is a page',
    (_id, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>'),
    'upstream_failed',
    'protocol',
  ],
  ['is another protocol', (_id, res) => asJson(res, { hello: 'world' }), 'upstream_failed', 'protocol'],
])('an answer that %s is refused, and the next call works', async (_what, answer, code, reason) => {
  const id = await idOf('token_of_ada_8');
  insteadOfCalls(answer);
  const refused = await run('add', id, { a: 1, b: 2 });
  expect([refused.text('code'), refused.at('details.reason') ?? '']).toEqual([code, reason]);
  remote.instead = undefined;
  expect((await run('add', id, { a: 1, b: 2 })).status).toBe(200);
});

test.each<[string, string, string]>([
  ['without the request of MCP', 'mcp: {method: tools/call, name: whoAmI}, ', 'actions.who.mcp'],
  ['with a parameter', 'response: {body: content}, effect: read}\n  broken', 'x'],
])('a file %s is refused by its member', async (_what, part, member) => {
  const file = remoteFile(remote.url).replace('id: remote', 'id: faulty');
  const faulty =
    member === 'x' ? file.replace('who: {', 'who: {query: {a: {type: string}}, ') : file.replace(part, '');
  const refused = await service.call('POST', '/api/connectors', { body: { definition: faulty } });
  expect([refused.status, String(refused.at('details.faults.0.field'))]).toEqual([
    400,
    `definition.${member === 'x' ? 'actions.who.query' : member}`,
  ]);
});
