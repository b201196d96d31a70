import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectClient } from '../../support/mcp.ts';
import { faultsOfFile, startFileApp, type FileApp } from '../../support/file-app.ts';
import { STORE_KINDS } from '../../support/stores.ts';

/** An app that takes and gives files in every form. */
const FILE = `baseUrl: '{origin}'
authentication: [{type: bearer}]
errors: {message: [message]}
actions:
  put_asset:
    description: Stores the content of an asset.
    request: PUT /assets/{name}
    bodyType: binary
    path: {name: {type: string}}
    body: {content: {type: string, format: binary, required: true, description: The content.}}
  put_picture:
    description: Stores a picture.
    request: PUT /picture
    bodyType: binary
    body: {content: {type: string, format: binary, contentType: image/png}}
  create_post:
    description: Creates a post with pictures.
    request: POST /posts
    bodyType: multipart
    body:
      title: {type: string, required: true}
      meta: {type: object, contentType: application/json}
      cover: {type: string, format: binary, as: cover_image, filename: cover.bin}
      media: {type: array, items: {type: string, format: binary}, as: 'media[]'}
  create_document:
    description: Creates a document with its metadata.
    request: POST /documents
    bodyType: related
    parts: {file: {type: string, format: binary, required: true}}
    body: {title: {type: string}}
  attach:
    description: Attaches a file to a ticket.
    request: POST /attachments
    wrap: attachment
    body:
      ticketId: {type: string, as: ticket.id}
      content: {type: string, format: binary, required: true, as: data}
  get_asset: {description: The content of an asset., request: 'GET /assets/{name}', path: {name: {type: string}}, response: {body: file}}
  send_twice: {description: Sends a file., request: PUT /twice, bodyType: binary, body: {content: {type: string, format: binary}}}
`;
const CANARY = 'token-of-the-tests-canary';

describe.each(STORE_KINDS)('an app of files on %s', (kind) => {
  let app: FileApp;
  beforeAll(async () => {
    app = await startFileApp(FILE, { kind });
    await app.connect({ token: CANARY });
  });
  afterAll(() => app[Symbol.asyncDispose]());
  beforeEach(() => {
    app.seen.length = 0;
    app.answer = () => ({ body: { ok: true } });
  });
  const get = async (fileId: string) => {
    const answer = await fetch(`${app.service.url}/files/${fileId}?userId=${app.userId}`, {
      headers: { authorization: `Bearer ${app.service.developmentKey}`, 'x-api-version': '2025-09' },
    });
    return { type: answer.headers.get('content-type'), bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  /** Returns the parts of the last multipart body: the head lines and the content of each. */
  const parts = () => {
    const { headers, raw } = app.seen.at(-1) ?? { headers: {}, raw: Buffer.alloc(0) };
    const boundary = /boundary=(\S+)$/.exec(headers['content-type'] ?? '')?.[1] ?? '?';
    return raw
      .toString('latin1')
      .split(`--${boundary}`)
      .slice(1, -1)
      .map((part) => part.split('\r\n\r\n').map((text) => text.replace(/^\r\n|\r\n$/g, '')));
  };

  test('an app gets a stored file as the whole body, with its media type and size', async () => {
    const content = randomBytes(1024 * 1024 + 5);
    const fileId = await app.upload(content, { type: 'application/pdf' });
    expect((await app.execute('put_asset', { name: 'plan.pdf', content: { fileId } })).status).toBe(200);
    expect(app.seen[0]?.headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': String(content.length),
      authorization: `Bearer ${CANARY}`,
    });
    expect(app.seen[0]?.raw.equals(content)).toBe(true);
    await app.execute('put_picture', { content: { fileId } });
    expect(app.seen[1]?.headers['content-type']).toBe('image/png');
  });

  test('an app gets a small file of the input itself, and larger ones are refused', async () => {
    const base64 = Buffer.from([0, 255, 10]).toString('base64');
    await app.execute('put_asset', { name: 'x', content: { base64, mediaType: 'image/gif' } });
    expect([app.seen[0]?.headers['content-type'], app.seen[0]?.raw]).toEqual([
      'image/gif',
      Buffer.from([0, 255, 10]),
    ]);
    const large = await app.execute('put_asset', {
      name: 'x',
      content: { base64: Buffer.alloc(256 * 1024 + 1).toString('base64') },
    });
    expect([large.status, large.at('code')]).toEqual([413, 'payload_too_large']);
    expect(app.seen).toHaveLength(1);
  });

  test('an app gets text parts, parts of JSON and files in one multipart body', async () => {
    const cover = await app.upload(Buffer.from([1, 2, 3]), { name: 'Über "uns".png', type: 'image/png' });
    const second = await app.upload('b', { name: 'b.txt', type: 'text/plain' });
    const result = await app.execute('create_post', {
      title: 'Hello',
      meta: { tags: ['a'] },
      cover: { fileId: cover },
      media: [{ base64: 'YQ==', name: 'a.txt', mediaType: 'text/plain' }, { fileId: second }],
    });
    expect(result.status).toBe(200);
    const utf8 = (text: string) => Buffer.from(text).toString('latin1');
    expect(parts()).toEqual([
      ['Content-Disposition: form-data; name="title"', 'Hello'],
      ['Content-Disposition: form-data; name="meta"\r\nContent-Type: application/json', '{"tags":["a"]}'],
      [
        utf8(
          'Content-Disposition: form-data; name="cover_image"; filename="Über %22uns%22.png"\r\nContent-Type: image/png',
        ),
        '\u0001\u0002\u0003',
      ],
      ['Content-Disposition: form-data; name="media[]"; filename="a.txt"\r\nContent-Type: text/plain', 'a'],
      ['Content-Disposition: form-data; name="media[]"; filename="b.txt"\r\nContent-Type: text/plain', 'b'],
    ]);
  });

  test('an app gets a file after its metadata in a related body, and as base64 in JSON', async () => {
    const content = randomBytes(700 * 1024 + 1);
    const fileId = await app.upload(content, { type: 'image/webp' });
    await app.execute('create_document', { title: 'Plan', file: { fileId } });
    expect(parts().map(([head]) => head)).toEqual([
      'Content-Type: application/json; charset=UTF-8',
      'Content-Type: image/webp',
    ]);
    expect(app.seen[0]?.raw.includes(content)).toBe(true);
    await app.execute('attach', { ticketId: 't1', content: { fileId } });
    expect(JSON.parse(app.seen[1]?.body ?? '')).toEqual({
      attachment: { ticket: { id: 't1' }, data: content.toString('base64') },
    });
  });

  test('an app gets the whole file again when the call is repeated', async () => {
    const content = randomBytes(600 * 1024);
    const fileId = await app.upload(content);
    const statuses = [503, 200];
    app.answer = () => ({ status: statuses.shift() ?? 200, body: {} });
    expect((await app.execute('send_twice', { content: { fileId } })).status).toBe(200);
    expect(app.seen.map(({ raw }) => raw.equals(content))).toEqual([true, true]);
  });

  test("an app's binary answers are files of the user, and texts stay texts", async () => {
    const content = Buffer.concat([randomBytes(400 * 1024), Buffer.from(CANARY), randomBytes(64)]);
    app.answer = () => ({ body: content, headers: { 'content-type': 'image/png' } });
    const binary = await app.execute('get_asset', { name: 'a.png' });
    expect(binary.body).toEqual({
      data: { fileId: expect.stringMatching(/^file_/), mediaType: 'image/png', size: content.length },
    });
    const stored = await get(binary.text('data.fileId'));
    expect([stored.type, stored.bytes.length]).toEqual(['image/png', content.length]);
    // The secrets of the call are blanked in answers.
    expect(stored.bytes.includes(CANARY)).toBe(false);
    expect(stored.bytes.subarray(0, 400 * 1024).equals(content.subarray(0, 400 * 1024))).toBe(true);
    app.answer = () => ({ body: 'grüße', headers: { 'content-type': 'text/plain' } });
    expect((await app.execute('get_asset', { name: 'a.txt' })).body).toEqual({
      data: { mediaType: 'text/plain', size: 7, text: 'grüße' },
    });
  });

  test('an answer over 100 MiB is refused and leaves nothing', async () => {
    const before = await app.service.context.db.selectFrom('files').selectAll().execute();
    app.answer = () => ({
      body: Buffer.from([0, 1]),
      headers: { 'content-type': 'image/png', 'content-length': String(101 * 1024 * 1024) },
    });
    const refused = await app.execute('get_asset', { name: 'a.png' });
    expect(refused.status).toBe(502);
    expect(await app.service.context.db.selectFrom('files').selectAll().execute()).toEqual(before);
  });

  test('an action refuses missing files, files of other users and inputs without a file', async () => {
    const other = await app.service.call('POST', '/users', { body: { username: `bob ${Math.random()}` } });
    const sent = await app.service.call('POST', `/files?userId=${other.text('userId')}`, { rawBody: 'x' });
    for (const fileId of [sent.text('fileId'), 'file_0000000000000000000000']) {
      const refused = await app.execute('put_asset', { name: 'x', content: { fileId } });
      expect([refused.status, refused.at('code')]).toEqual([404, 'file_not_found']);
    }
    const own = await app.upload('x');
    for (const content of [{}, { fileId: own, base64: 'eA==' }, { base64: '?' }, 'text', { name: 'x' }]) {
      const refused = await app.execute('put_asset', { name: 'x', content });
      expect([refused.status, refused.at('code')]).toEqual([400, 'invalid_request']);
      expect(refused.text('error')).toContain('content');
    }
    expect(app.seen).toHaveLength(0);
  });

  test('an action takes and gives files over MCP', async () => {
    const server = await app.service.call('POST', '/api/servers', {
      headers: { 'x-svc-userid': app.userId },
      body: { name: `files ${Math.random()}`, toolMode: 'direct' },
    });
    const client = await connectClient(server.text('accessUrl'));
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === 'app_put_asset')?.inputSchema;
    expect(schema?.properties?.['content']).toMatchObject({
      type: 'object',
      properties: { fileId: { type: 'string' }, base64: { type: 'string' } },
    });
    const fileId = await app.upload(Buffer.from([0, 1, 2]));
    const sent = await client.callTool({
      name: 'app_put_asset',
      arguments: { name: 'x', content: { fileId } },
    });
    expect([sent.isError, app.seen[0]?.raw]).toEqual([undefined, Buffer.from([0, 1, 2])]);
    app.answer = () => ({ body: Buffer.from([9, 0, 9]), headers: { 'content-type': 'image/png' } });
    const got = await client.callTool({ name: 'app_get_asset', arguments: { name: 'x' } });
    expect(got.structuredContent).toMatchObject({ data: { mediaType: 'image/png', size: 3 } });
    const text = JSON.stringify(got.structuredContent);
    const uri = `svc://files/${/file_\w+/.exec(text)?.[0]}`;
    expect((await client.readResource({ uri })).contents[0]).toMatchObject({ blob: 'CQAJ' });
    await client.close();
  });
});

test('the check names places where files cannot be', async () => {
  const file = (action: string) => `baseUrl: https://app.example.com
authentication: [{type: bearer}]
actions:
  send:
    description: Sends.
    request: POST /x
${action}
`;
  const rules = async (action: string) => (await faultsOfFile(file(action))).join('\n');
  expect(await rules('    query: {a: {type: string, format: binary}}')).toContain(
    'which only a body can hold',
  );
  expect(await rules('    bodyType: form\n    body: {a: {type: string, format: binary}}')).toContain(
    'which a form body cannot hold',
  );
  expect(await rules('    body: {a: {type: array, items: {type: string, format: binary}}}')).toContain(
    'which only a multipart body can hold',
  );
  expect(
    await rules('    bodyType: binary\n    body: {a: {type: string, format: binary}, b: {type: string}}'),
  ).toContain('one parameter of the format binary');
  expect(await rules('    body: {a: {type: string, contentType: text/csv}}')).toContain(
    'is for a file, or a part of a multipart body',
  );
  expect(await rules('    body: {a: {type: string, filename: x}}')).toContain('is for a file');
});
