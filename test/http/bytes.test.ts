import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { rpc } from '../support/mcp.ts';
import { appFile, startShop, type Shop } from '../support/shop.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

/* Bytes of callers and apps: charsets, byte order marks, encodings, and numbers beyond 2^53. */

const ID = '9007199254740993';
const BYTES = appFile(
  'bytes',
  `errors: {message: [message]}
actions:
  get_it: {description: It., request: GET /it, response: {schema: {type: object, properties: {id: {type: integer}, size: {type: integer, format: int32}}}}}
  list_it: {description: All., request: GET /it, response: {data: data}, paging: {style: none}}
  get_all: {description: All., request: GET /it}
  find_it:
    description: Finds it.
    request: GET /it/{id}
    path: {id: {type: integer}}
    query: {before: {type: integer}}
  write_it:
    description: Writes it.
    request: POST /it
    body:
      id: {type: integer, minimum: 1}
      name: {type: string}
      amount: {type: number}
      either: {type: [string, integer]}
      ids: {type: array, items: {type: integer}}
      within: {type: object, properties: {id: {type: integer}}}
      anything: {type: object}
      label: {type: string, prefix: 'no. '}
  map_it:
    description: Writes it.
    request: POST /it
    bodyMap: '{"ref": {"id": $.input.id}, "text": $string($.input.id)}'
    body: {id: {type: integer}}
  form_it:
    description: Writes it.
    request: POST /it
    bodyType: form
    body: {id: {type: integer}}
`,
);

let shop: Shop;
let app: Upstream;
let url: string;
let answer: { body: string | Buffer; headers?: Record<string, string>; status?: number };
let sent: { url: string; body: string; headers: IncomingHttpHeaders };

beforeAll(async () => {
  app = await startUpstream();
  app.handler = (req, res) => {
    let body = '';
    req.on('data', (chunk) => (body += String(chunk)));
    req.on('end', () => {
      sent = { url: req.url ?? '', body, headers: req.headers };
      res.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
      res.end(answer.body);
    });
  };
  shop = await startShop({}, { bytes: BYTES });
  await shop.call('POST', `/users/${shop.userId}/credentials`, {
    body: { connectorId: 'bytes', data: { apiKey: 'token_0123456789', origin: app.origin } },
  });
  const server = await shop.call('POST', '/api/servers', {
    body: { name: 'direct', toolMode: 'direct', duplicateGuard: 'off' },
  });
  url = server.text('accessUrl');
});
afterAll(async () => {
  await shop[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});
beforeEach(() => (answer = { body: '{}' }));

const run = (actionId: string, rawBody = '{"input":{}}') =>
  shop.call('POST', `/connectors/bytes/actions/${actionId}/execute`, { rawBody });

/** Sends bytes as they are. */
async function post(path: string, body: Buffer | string, headers: Record<string, string> = {}) {
  const response = await fetch(shop.service.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${shop.service.developmentKey}`,
      'x-svc-userid': shop.userId,
      'x-api-version': '2025-09',
      'content-type': 'application/json',
      ...headers,
    },
    body,
  });
  const value = parseJson(await response.text());
  return { status: response.status, headers: response.headers, at: (path: string) => valueAt(value, path) };
}

describe('numbers beyond 2^53 in answers of apps', () => {
  test('numbers beyond 2^53 in answers of apps are texts of their digits over REST', async () => {
    answer.body = `{"id":${ID},"size":3,"price":12345678901234567.89,"most":1e400,"rate":0.1}`;
    expect((await run('get_it')).at('data')).toEqual({
      id: ID,
      size: 3,
      price: '12345678901234567.89',
      most: '1e400',
      rate: 0.1,
    });
  });

  test('numbers beyond 2^53 in answers of apps keep three records of a list apart', async () => {
    answer.body = '{"data":[{"id":9007199254740992},{"id":9007199254740993},{"id":9007199254740994}]}';
    expect((await run('list_it')).at('data')).toEqual([
      { id: '9007199254740992' },
      { id: '9007199254740993' },
      { id: '9007199254740994' },
    ]);
  });

  test('numbers beyond 2^53 in answers of apps are texts over MCP, in text and structure', async () => {
    answer.body = `{"id":${ID}}`;
    const called = await rpc(url, 'tools/call', { name: 'bytes_get_it', arguments: {} });
    expect(called.at('result.structuredContent.data.id')).toBe(ID);
    expect(String(called.at('result.content.0.text'))).toContain(`"${ID}"`);
  });

  test('numbers beyond 2^53 are texts in a large answer', async () => {
    const records = Array.from(
      { length: 4000 },
      (_, index) => `{"id":${9007199254740993n + BigInt(index)},"pad":"${'x'.repeat(60)}"}`,
    );
    answer.body = `{"data":[${records.join(',')}]}`;
    expect((await run('get_all')).at('data.data.3999.id')).toBe('9007199254744992');
  });

  test('numbers beyond 2^53 are named in the schema of the answer where they may occur', async () => {
    const described = await shop.call('GET', '/connectors/bytes/actions/get_it');
    expect(described.at('outputSchema.properties.data.properties')).toEqual({
      id: { type: ['integer', 'string'] },
      size: { type: 'integer', format: 'int32' },
    });
  });
});

describe.each(['number', 'text'])('an integer beyond 2^53 of a caller as a %s', (form) => {
  const given = form === 'number' ? ID : `"${ID}"`;
  const bodies: [string, string, string][] = [
    ['in a member', `{"id":${given}}`, `{"id":${ID}}`],
    ['in a list', `{"ids":[1,${given}]}`, `{"ids":[1,${ID}]}`],
    ['in an object', `{"within":{"id":${given}}}`, `{"within":{"id":${ID}}}`],
    ['as a number with a fraction', '{"amount":12345678901234567.89}', '{"amount":12345678901234567.89}'],
    ['next to a text of the same digits', `{"id":${given},"name":"${ID}"}`, `{"id":${ID},"name":"${ID}"}`],
    ['where any value is taken', `{"anything":{"id":${given}}}`, `{"anything":{"id":${given}}}`],
    ['where a text is taken as well', `{"either":${given}}`, `{"either":${given}}`],
  ];

  test.each(bodies)(
    'an integer beyond 2^53 %s reaches the app exactly over REST',
    async (_, input, expected) => {
      expect((await run('write_it', `{"input":${input}}`)).status).toBe(200);
      expect(sent.body).toBe(expected);
    },
  );

  test.each(bodies)(
    'an integer beyond 2^53 %s reaches the app exactly over MCP',
    async (_, input, expected) => {
      const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bytes_write_it","arguments":${input}}}`;
      const called = await rpc(url, 'tools/call', undefined, { raw });
      expect(called.at('result.isError') ?? false).toBe(false);
      expect(sent.body).toBe(expected);
    },
  );

  test('an integer beyond 2^53 reaches the app where execute_action_svc takes any value', async () => {
    const parameters = `{"anything":{"id":${given},"list":[${given}]},"either":${given}}`;
    const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_action_svc","arguments":{"connectorId":"bytes","actionId":"write_it","parameters":${parameters}}}}`;
    await rpc(url, 'tools/call', undefined, { raw });
    expect(parseJson(sent.body)).toEqual({ anything: { id: ID, list: [ID] }, either: ID });
    expect(sent.body).toContain(`{"id":${given},"list":[${given}]}`);
    expect(sent.body).toContain(`"either":${given}`);
  });

  test('an integer beyond 2^53 reaches the app in path, query, form and mapped body', async () => {
    await run('find_it', `{"input":{"id":${given},"before":${given}}}`);
    expect(sent.url).toBe(`/it/${ID}?before=${ID}`);
    await run('form_it', `{"input":{"id":${given}}}`);
    expect(sent.body).toBe(`id=${ID}`);
    await run('map_it', `{"input":{"id":${given}}}`);
    expect(sent.body).toContain(`"id":${ID}`);
  });
});

test('a text that is no integer is refused where an integer is wanted', async () => {
  for (const id of ['"9007199254740993.5"', '"x9007199254740993"', '1e400', '-9007199254740993']) {
    const refused = await run('write_it', `{"input":{"id":${id}}}`);
    expect([id, refused.status, refused.at('code')]).toEqual([id, 400, 'invalid_request']);
  }
});

test('an id of a JSON-RPC request beyond 2^53 is refused', async () => {
  const refused = await rpc(url, 'ping', undefined, { raw: `{"jsonrpc":"2.0","id":${ID},"method":"ping"}` });
  expect([refused.status, refused.at('error.code')]).toEqual([400, -32600]);
});

test('an Idempotency-Key distinguishes integers beyond 2^53', async () => {
  const headers = { 'idempotency-key': 'one' };
  const path = '/connectors/bytes/actions/write_it/execute';
  expect((await post(path, `{"input":{"id":${ID}}}`, headers)).status).toBe(200);
  const other = await post(path, '{"input":{"id":9007199254740992}}', headers);
  expect([other.status, other.at('code')]).toEqual([409, 'idempotency_conflict']);
});

describe('answers of apps', () => {
  const text = '{"name":"Größe"}';
  const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le');
  const answers: [string, Buffer, string][] = [
    ['with a byte order mark', Buffer.from(`\ufeff${text}`), ''],
    ['in ISO-8859-1', Buffer.from(text, 'latin1'), '; charset=iso-8859-1'],
    ['in UTF-16', utf16, '; charset=utf-16'],
    ['in UTF-16 by the mark alone', utf16, ''],
    ['in UTF-8 that is named in quotes', Buffer.from(text), '; charset="utf-8"'],
  ];
  test.each(answers)('answers of apps %s are read', async (_, body, charset) => {
    answer = { body, headers: { 'content-type': `application/json${charset}` } };
    expect((await run('get_it')).at('data')).toEqual({ name: 'Größe' });
  });

  test('refusals of apps in another charset are quoted', async () => {
    answer = {
      status: 422,
      body: Buffer.from('{"message":"zu groß"}', 'latin1'),
      headers: { 'content-type': 'application/json;charset=windows-1252' },
    };
    expect((await run('get_it')).text('error')).toContain('zu groß');
  });

  test('answers of apps in an unknown charset are refused with its name', async () => {
    answer = { body: text, headers: { 'content-type': 'application/json; charset=klingon' } };
    const refused = await run('get_it');
    expect([refused.status, refused.at('details.reason')]).toEqual([502, 'unknown_charset']);
    expect(refused.text('error')).toContain('klingon');
  });

  test('answers of apps that are compressed are read', async () => {
    answer = { body: gzipSync(text), headers: { 'content-encoding': 'gzip' } };
    expect((await run('get_it')).at('data')).toEqual({ name: 'Größe' });
  });
});

describe('a request body', () => {
  const user = (name: string) => `{"username":"${name}"}`;
  const requests: [string, string, Buffer, Record<string, string>][] = [
    [
      'in ISO-8859-1',
      'größe-1',
      Buffer.from(user('größe-1'), 'latin1'),
      { 'content-type': 'application/json; charset=iso-8859-1' },
    ],
    ['with a byte order mark', 'größe-2', Buffer.from(`\ufeff${user('größe-2')}`), {}],
    ['in gzip', 'größe-3', gzipSync(user('größe-3')), { 'content-encoding': 'gzip' }],
    ['in br', 'größe-4', brotliCompressSync(user('größe-4')), { 'content-encoding': 'br' }],
  ];
  test.each(requests)('a request body %s is read', async (_, username, body, headers) => {
    const made = await post('/users', body, headers);
    expect([made.status, made.at('username')]).toEqual([201, username]);
  });

  const refused: [string, number, string, Buffer, Record<string, string>][] = [
    [
      'in an unknown charset',
      415,
      'klingon',
      Buffer.from(user('a')),
      { 'content-type': 'application/json; charset=klingon' },
    ],
    ['in an unknown encoding', 415, 'compress', Buffer.from(user('b')), { 'content-encoding': 'compress' }],
    ['that is not UTF-8', 400, 'utf-8', Buffer.from(user('größe'), 'latin1'), {}],
    ['that is no gzip', 400, 'gzip', Buffer.from(user('c')), { 'content-encoding': 'gzip' }],
    [
      'that unpacks to too much',
      413,
      'unpacks',
      gzipSync(user(' '.repeat(2_000_000))),
      { 'content-encoding': 'gzip' },
    ],
  ];
  test.each(refused)(
    'a request body %s is refused over REST and MCP',
    async (_, status, word, body, headers) => {
      const rest = await post('/users', body, headers);
      expect([rest.status, rest.at('error')]).toEqual([status, expect.stringContaining(word)]);
      const path = new URL(url).pathname;
      const mcp = await post(path, body, { accept: 'text/event-stream', ...headers });
      expect([mcp.status, mcp.at('error.message')]).toEqual([status, expect.stringContaining(word)]);
    },
  );

  test('an uploaded file in gzip is unpacked while it arrives', async () => {
    const path = `/files?userId=${shop.userId}`;
    const type = { 'content-type': 'text/plain' };
    const stored = await post(path, gzipSync('x'.repeat(5000)), { ...type, 'content-encoding': 'gzip' });
    expect([stored.status, stored.at('size')]).toEqual([201, 5000]);
    for (const [coding, status] of [
      ['gzip', 400],
      ['compress', 415],
    ] as const)
      expect((await post(path, 'plain', { ...type, 'content-encoding': coding })).status).toBe(status);
  });

  test('a request body in gzip is read over MCP', async () => {
    const body = gzipSync('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    const headers = { accept: 'application/json, text/event-stream', 'content-encoding': 'gzip' };
    expect((await post(new URL(url).pathname, body, headers)).at('result')).toEqual({});
  });
});

describe('a call trigger', () => {
  let path: string;
  let workflowId: string;
  beforeAll(async () => {
    const definition = {
      trigger: { type: 'call' },
      steps: [
        {
          stepId: 'write',
          connectorId: 'bytes',
          actionId: 'write_it',
          input: { id: '=trigger.body.id', name: '=trigger.body.name' },
        },
      ],
    };
    workflowId = (await shop.call('POST', '/workflows', { body: { name: 'called', definition } })).text(
      'workflowId',
    );
    const credentials = await shop.call('GET', `/users/${shop.userId}/credentials`);
    const list: Json = credentials.at('data') ?? null;
    const bytes = Array.isArray(list)
      ? list.find((one) => valueAt(one, 'connectorId') === 'bytes')
      : undefined;
    const installed = await shop.call('POST', `/workflows/${workflowId}/install?userId=${shop.userId}`, {
      body: { config: {}, credentials: { bytes: valueAt(bytes, 'credentialId') } },
    });
    path = new URL(String(installed.at('hookUrl'))).pathname;
  });

  test('a call trigger passes an integer beyond 2^53 to the app and to its run', async () => {
    const started = await post(path, gzipSync(`{"id":${ID},"name":"x"}`), { 'content-encoding': 'gzip' });
    expect(started.status).toBe(202);
    const run = () =>
      shop.call('GET', `/workflows/${workflowId}/runs/${String(started.at('runId'))}?userId=${shop.userId}`);
    await expect.poll(async () => (await run()).at('status')).toBe('succeeded');
    expect(sent.body).toBe(`{"id":${ID},"name":"x"}`);
    expect((await run()).at('triggerValue.body.id') ?? (await run()).at('trigger.body.id')).toBe(ID);
  });

  test('a call trigger reads a form in its charset, and refuses bytes that are no text', async () => {
    const form = (charset: string) => ({ 'content-type': `application/x-www-form-urlencoded${charset}` });
    expect((await post(path, `id=${ID}&name=gr%F6%DFe`, form(';charset=iso-8859-1'))).status).toBe(202);
    await expect.poll(() => sent.body).toBe(`{"id":${ID},"name":"größe"}`);
    for (const [body, headers] of [
      ['name=gr%F6', form('')],
      [Buffer.from('{"name":"größe"}', 'latin1'), {}],
      ['{"name":"x"}', { 'content-encoding': 'gzip' }],
    ] as const)
      expect((await post(path, body, headers)).status).toBe(400);
  });
});
