import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultsOfFile, startFileApp, type AppAnswer, type FileApp } from '../../support/file-app.ts';
import { connectClient } from '../../support/mcp.ts';
import { STORE_KINDS } from '../../support/stores.ts';

/** An app that takes files in several calls: by an address of its answer, in parts, and at many addresses. */
const FILE = `baseUrl: '{origin}'
authentication: [{type: bearer}]
errors: {message: [message]}
actions:
  share_file:
    description: Shares a file in a channel.
    request: POST /addresses
    bodyType: form
    parts:
      content: {type: string, format: binary, required: true, filename: file.bin}
      channel: {type: string, required: true}
    body: {filename: {type: string}, length: {type: integer}}
    before: {fill: {filename: files.content.name, length: files.content.size}}
    after:
      steps:
        sent: {upload: value.address, file: content, method: POST, origins: ['{origin}']}
        done: {action: complete, input: {id: '{value.id}', channel: '{input.channel}'}}
      give: '{"id": done.id, "status": sent.status}'
  resume_upload:
    description: Uploads a file in parts.
    request: POST /sessions
    parts: {content: {type: string, format: binary, required: true}}
    body: {name: {type: string}}
    response: {headers: {address: Location}}
    after:
      steps: {sent: {upload: value.address, file: content, origins: ['{origin}'], partBytes: 300000}}
      give: sent.body
  upload_parts:
    description: Uploads a file to an address for each part.
    request: POST /multipart
    parts: {content: {type: string, format: binary, required: true}}
    body: {size: {type: integer}}
    before: {fill: {size: files.content.size}}
    after:
      steps:
        sent: {upload: value.addresses, file: content, origins: ['{origin}'], partBytes: value.partSize, headers: {Content-Type: application/octet-stream}}
        done: {action: complete_parts, input: {parts: '{sent.parts}'}}
  fetch_report:
    description: Fetches a report.
    request: GET /report
    after: {steps: {file: {download: value.address, origins: ['{origin}']}}}
  complete: {internal: true, description: Completes., request: POST /complete, body: {id: {type: string}, channel: {type: string}}}
  complete_parts: {internal: true, description: Completes., request: POST /complete, body: {parts: {type: array}}}
`;
const CANARY = 'token-of-the-tests-canary';

describe.each(STORE_KINDS)('uploads in several calls on %s', (kind) => {
  let app: FileApp;
  beforeAll(async () => {
    app = await startFileApp(FILE, { kind });
    await app.connect({ token: CANARY });
  });
  afterAll(() => app[Symbol.asyncDispose]());
  beforeEach(() => {
    app.seen.length = 0;
  });
  const calls = () => app.seen.map(({ method, path }) => `${method} ${path}`);
  const uploads = () => app.seen.filter(({ path }) => path.startsWith('/store'));

  test('a file goes to the address of the answer without the credential', async () => {
    const content = randomBytes(400 * 1024);
    const fileId = await app.upload(content, { name: 'plan.pdf', type: 'application/pdf' });
    app.answer = ({ path }): AppAnswer =>
      path === '/addresses'
        ? { body: { id: 'f1', address: `${app.origin}/store/f1?signature=s` } }
        : { body: path === '/complete' ? { id: 'f1' } : 'OK' };
    const shared = await app.execute('share_file', { content: { fileId }, channel: 'general' });
    expect(shared.body).toEqual({ data: { id: 'f1', status: 200 } });
    expect(calls()).toEqual(['POST /addresses', 'POST /store/f1', 'POST /complete']);
    expect(app.seen[0]?.body).toBe(`filename=plan.pdf&length=${content.length}`);
    const [sent] = uploads();
    expect(sent?.raw.equals(content)).toBe(true);
    expect(sent?.target).toBe('/store/f1?signature=s');
    expect(sent?.headers).toMatchObject({ 'content-type': 'application/pdf' });
    expect(JSON.stringify(sent?.headers)).not.toContain(CANARY);
    expect(JSON.parse(app.seen[2]?.body ?? '')).toEqual({ id: 'f1', channel: 'general' });
  });

  test('a resumable upload follows the ranges that the app has', async () => {
    const content = randomBytes(700_000);
    const fileId = await app.upload(content);
    const stored: Buffer[] = [];
    let lost = 100_000;
    app.answer = ({ path, raw }): AppAnswer => {
      if (path === '/sessions') return { headers: { location: `${app.origin}/store/s1` } };
      // The app keeps less of the first part than it was sent.
      stored.push(raw.subarray(0, raw.length - lost));
      lost = 0;
      const size = Buffer.concat(stored).length;
      if (size < content.length) return { status: 308, headers: { range: `bytes=0-${size - 1}` } };
      return { body: { sha256: createHash('sha256').update(Buffer.concat(stored)).digest('hex') } };
    };
    const done = await app.execute('resume_upload', { content: { fileId }, name: 'x' });
    expect(done.body).toEqual({ data: { sha256: createHash('sha256').update(content).digest('hex') } });
    expect(uploads().map(({ headers }) => headers['content-range'])).toEqual([
      'bytes 0-299999/700000',
      'bytes 200000-499999/700000',
      'bytes 500000-699999/700000',
    ]);
  });

  test('parts of an upload go to one address each, and their tags complete it', async () => {
    const content = randomBytes(250_000);
    const fileId = await app.upload(content);
    const partSize = 100_000;
    app.answer = ({ path }): AppAnswer => {
      if (path === '/multipart')
        return { body: { partSize, addresses: [1, 2, 3].map((part) => `${app.origin}/store/${part}`) } };
      return { headers: { etag: `"tag${path}"` }, body: { ok: true } };
    };
    expect((await app.execute('upload_parts', { content: { fileId } })).status).toBe(200);
    expect(app.seen[0]?.body).toBe('{"size":250000}');
    expect(Buffer.concat(uploads().map(({ raw }) => raw)).equals(content)).toBe(true);
    expect(uploads().some(({ headers }) => headers['content-range'] !== undefined)).toBe(false);
    expect(JSON.parse(app.seen.at(-1)?.body ?? '')).toEqual({
      parts: [
        { number: 1, size: 100_000, etag: '"tag/store/1"' },
        { number: 2, size: 100_000, etag: '"tag/store/2"' },
        { number: 3, size: 50_000, etag: '"tag/store/3"' },
      ],
    });
  });

  test('a part that fails for a moment is sent again, and a refused one names its step', async () => {
    const content = randomBytes(1000);
    const fileId = await app.upload(content);
    const statuses = [503, 200];
    app.answer = ({ path }): AppAnswer =>
      path === '/sessions'
        ? { headers: { location: `${app.origin}/store/s1` } }
        : { status: statuses.shift() ?? 403, body: { stored: true } };
    const done = await app.execute('resume_upload', { content: { fileId } });
    expect(done.body).toEqual({ data: { stored: true } });
    expect(uploads().map(({ raw }) => raw.equals(content))).toEqual([true, true]);
    const refused = await app.execute('resume_upload', { content: { fileId } });
    expect([refused.status, refused.at('code'), refused.at('details.step')]).toEqual([
      502,
      'upstream_failed',
      'sent',
    ]);
    expect(refused.text('error')).toContain('HTTP 403');
  });

  test('addresses outside of the origins of the file are not called', async () => {
    const fileId = await app.upload('secret content');
    const foreign = [
      'http://localhost:1/store',
      `${app.origin.replace('127.0.0.1', '127.0.0.1@evil.example')}/x`,
      'file:///etc/passwd',
      '/store',
      7,
      undefined,
    ];
    for (const address of foreign) {
      app.seen.length = 0;
      app.answer = () => ({ body: { id: 'f1', address } });
      const refused = await app.execute('share_file', { content: { fileId }, channel: 'c' });
      expect([refused.status, refused.at('code')]).toEqual([502, 'upstream_failed']);
      expect(calls()).toEqual(['POST /addresses']);
      expect((await app.execute('fetch_report')).status).toBe(502);
    }
  });

  test('a binary download of an address is a file of the user over MCP', async () => {
    app.answer = ({ path }): AppAnswer =>
      path === '/report'
        ? { body: { address: `${app.origin}/store/r` } }
        : { body: Buffer.from([1, 0, 2]), headers: { 'content-type': 'application/pdf' } };
    const server = await app.service.call('POST', '/api/servers', {
      headers: { 'x-svc-userid': app.userId },
      body: { name: `reports ${Math.random()}`, toolMode: 'direct' },
    });
    const client = await connectClient(server.text('accessUrl'));
    const got = await client.callTool({ name: 'app_fetch_report', arguments: {} });
    expect(got.structuredContent).toMatchObject({ data: { mediaType: 'application/pdf', size: 3 } });
    const uri = `svc://files/${/file_\w+/.exec(JSON.stringify(got.structuredContent))?.[0]}`;
    expect((await client.readResource({ uri })).contents[0]).toMatchObject({ blob: 'AQAC' });
    await client.close();
  });
});

test('the check names faults of uploads', async () => {
  const file = (step: string, effect = 'write') => `baseUrl: https://app.example.com
authentication: [{type: bearer}]
actions:
  send:
    description: Sends.
    request: POST /x
    effect: ${effect}
    parts: {content: {type: string, format: binary}}
    after: {steps: {sent: ${step}}}
`;
  const good = "upload: value.url, file: content, origins: ['https://*.example.com']";
  expect(await faultsOfFile(file(`{${good}}`))).toEqual([]);
  const rules = async (step: string, effect?: string) => (await faultsOfFile(file(step, effect))).join('\n');
  expect(await rules(`{${good}}`, 'read')).toContain('must be write or destructive');
  expect(await rules(`{${good.replace('file: content', 'file: other')}}`)).toContain(
    'is no parameter of the format binary',
  );
  expect(await rules(`{${good.replace('value.url', 'nothing.url')}}`)).toContain('"nothing" is none of');
  for (const origin of ['*', 'https://*', 'http://a.example', 'https://a.example/x', 'https://u@a.example'])
    expect(await rules(`{upload: value.url, file: content, origins: ['${origin}']}`)).not.toBe('');
  expect(await rules("{upload: value.url, file: content, origins: ['{token}']}")).toContain('is no variable');
});
