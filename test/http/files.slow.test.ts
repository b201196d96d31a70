import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { DAY } from '../../src/lib/clock.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;

describe.each(STORE_KINDS)('on %s, a file', (kind) => {
  let ahead = 0;
  const clock = { now: () => Date.now() + ahead };
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  let other: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService({ kind, clock });
    one = await shop(service);
    other = await shop(service);
  });
  afterAll(() => service.stop());
  afterEach(() => {
    ahead = 0;
  });

  const auth = (bearer = service.developmentKey) => ({
    authorization: `Bearer ${bearer}`,
    'x-api-version': '2025-09',
  });
  const send = async (
    content: Buffer | string,
    { query = `userId=${one.userId}`, headers = {} }: { query?: string; headers?: object } = {},
  ) => {
    const answer = await fetch(`${service.url}/files?${query}`, {
      method: 'POST',
      headers: { ...auth(), 'content-type': 'application/pdf', ...headers },
      body: typeof content === 'string' ? content : new Uint8Array(content),
    });
    const body: { fileId: string; size: number; sha256: string; code?: string } = JSON.parse(
      await answer.text(),
    );
    return { status: answer.status, ...body };
  };
  const get = (
    fileId: string,
    { userId = one.userId, url = service.url, bearer = service.developmentKey } = {},
  ) => fetch(`${url}/files/${fileId}?userId=${userId}`, { headers: auth(bearer) });
  const rows = async (table: string) => {
    const { rows: found } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(
      service.context.db,
    );
    return Number(found[0]?.n);
  };
  const clear = () => sql`delete from files`.execute(service.context.db);

  test('a file is downloaded as it was sent', async () => {
    const content = randomBytes(3 * MIB + 17);
    const sent = await send(content, {
      query: `userId=${one.userId}&name=${encodeURIComponent('Plan ä.pdf')}`,
    });
    expect(sent).toMatchObject({
      status: 201,
      size: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
      mediaType: 'application/pdf',
      name: 'Plan ä.pdf',
    });
    const answer = await get(sent.fileId);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/pdf');
    expect(answer.headers.get('content-length')).toBe(String(content.length));
    expect(answer.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''Plan%20%C3%A4.pdf");
    expect(Buffer.from(await answer.arrayBuffer()).equals(content)).toBe(true);
    const head = await fetch(`${service.url}/files/${sent.fileId}?userId=${one.userId}`, {
      method: 'HEAD',
      headers: auth(),
    });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(content.length)]);
  });

  test('a file without bytes is downloaded as it was sent', async () => {
    const sent = await send('');
    expect(sent).toMatchObject({ status: 201, size: 0 });
    const answer = await get(sent.fileId);
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  test('a file is a resource of MCP in pages for its user', async () => {
    const content = randomBytes(300 * 1024);
    const { fileId } = await send(content);
    const client = await connectClient(one.accessUrl);
    const pages: Buffer[] = [];
    for (const page of [1, 2]) {
      const { contents } = await client.readResource({ uri: `svc://files/${fileId}?page=${page}` });
      expect(contents[0]).toMatchObject({
        mimeType: 'application/pdf',
        _meta: { 'gatehouse/page': page, 'gatehouse/pages': 2, 'gatehouse/size': content.length },
      });
      pages.push(Buffer.from(contents[0] && 'blob' in contents[0] ? contents[0].blob : '', 'base64'));
    }
    expect(Buffer.concat(pages).equals(content)).toBe(true);
    await expect(client.readResource({ uri: `svc://files/${fileId}?page=3` })).rejects.toMatchObject({
      code: -32002,
    });
    await client.close();
    const stranger = await connectClient(other.accessUrl);
    await expect(stranger.readResource({ uri: `svc://files/${fileId}` })).rejects.toMatchObject({
      code: -32002,
    });
    await stranger.close();
  });

  test('a file is unknown to other users and to the other environment', async () => {
    const { fileId } = await send('private');
    const asOther = await get(fileId, { userId: other.userId });
    expect([asOther.status, await asOther.json()]).toMatchObject([404, { code: 'file_not_found' }]);
    const unknown = await get('file_0000000000000000000000', { userId: other.userId });
    expect(unknown.status).toBe(404);
    const asProduction = await get(fileId, { bearer: service.productionKey });
    expect(asProduction.status).toBe(404);
    const removed = await service.call('DELETE', `/files/${fileId}?userId=${other.userId}`);
    expect([removed.status, removed.at('code')]).toEqual([404, 'file_not_found']);
    expect((await get(fileId)).status).toBe(200);
  });

  test("a file is stored and read with the user's JWT, for that user alone", async () => {
    const jwt = (await service.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
    const sent = await send('mine', { query: '', headers: auth(jwt) });
    expect(sent.status).toBe(201);
    expect(await (await get(sent.fileId, { bearer: jwt })).text()).toBe('mine');
    const foreign = await send('mine', { query: `userId=${other.userId}`, headers: auth(jwt) });
    expect([foreign.status, foreign.code]).toEqual([403, 'forbidden']);
  });

  test('the upload of a file with an API key needs a user', async () => {
    const sent = await send('whose', { query: '' });
    expect([sent.status, sent.code]).toEqual([400, 'invalid_request']);
    const named = await send('ours', { query: '', headers: { 'x-svc-userid': one.userId } });
    expect(named.status).toBe(201);
    expect((await send('nobody', { query: 'userId=usr_none' })).code).toBe('user_not_found');
    expect((await send('no type', { headers: { 'content-type': 'pdf' } })).code).toBe('invalid_request');
  });

  test('a file expires after 24 hours, and its chunks are swept', async () => {
    await clear();
    const { fileId } = await send(randomBytes(MIB));
    ahead = DAY - 60_000;
    expect((await get(fileId)).status).toBe(200);
    ahead = DAY + 60_000;
    expect((await get(fileId)).status).toBe(404);
    await deleteOldRows(service.context.db, clock.now());
    expect([await rows('files'), await rows('file_chunks')]).toEqual([0, 0]);
  });

  test('a file leaves nothing when its upload is cut', async () => {
    await clear();
    const upload = request(`${service.url}/files?userId=${one.userId}`, {
      method: 'POST',
      headers: { ...auth(), 'content-length': String(2 * MIB) },
    });
    upload.on('error', () => {});
    upload.write(randomBytes(MIB));
    await until(async () => (await rows('file_chunks')) > 0);
    upload.destroy();
    await until(async () => (await rows('files')) === 0);
    expect(await rows('file_chunks')).toBe(0);
  });

  test('a file over 100 MiB is refused before it is sent', async () => {
    const upload = request(`${service.url}/files?userId=${one.userId}`, {
      method: 'POST',
      headers: { ...auth(), 'content-length': String(100 * MIB + 1) },
    });
    const status = new Promise((resolve, reject) => {
      upload.on('response', ({ statusCode }) => resolve(statusCode));
      upload.on('error', reject);
    });
    upload.write('x');
    expect(await status).toBe(413);
    upload.destroy();
  });

  test("a file beyond the user's gibibyte is refused, and another user's is not", async () => {
    await clear();
    const { fileId } = await send('large');
    await sql`update files set bytes = ${1024 * MIB - 10}`.execute(service.context.db);
    expect(await send('more than ten')).toMatchObject({
      status: 409,
      code: 'limit_reached',
      details: { limit: 1024 * MIB },
    });
    expect((await send('ten bytes!')).status).toBe(201);
    expect((await send('more than ten', { query: `userId=${other.userId}` })).status).toBe(201);
    const deleted = await service.call('DELETE', `/files/${fileId}?userId=${one.userId}`);
    expect(deleted.status).toBe(200);
    expect((await send('more than ten')).status).toBe(201);
  });

  test('a file is encrypted in the store, and each chunk opens only at its place', async () => {
    await clear();
    const { fileId } = await send(Buffer.concat([Buffer.alloc(256 * 1024, 'secret-a'), Buffer.from('tail')]));
    const { db } = service.context;
    const chunks = await db.selectFrom('file_chunks').selectAll().orderBy('chunk').execute();
    expect(chunks).toHaveLength(2);
    expect(chunks.some(({ content }) => content.includes('secret-a'))).toBe(false);
    await db
      .updateTable('file_chunks')
      .set({ content: chunks[1]?.content ?? Buffer.alloc(0) })
      .where('file_id', '=', fileId)
      .where('chunk', '=', 1)
      .execute();
    await expect(get(fileId).then((answer) => answer.arrayBuffer())).rejects.toThrow(
      /terminated|aborted|fetch failed/,
    );
  });

  test('a file is deleted with its user', async () => {
    await clear();
    const leaving = await shop(service);
    const { fileId } = await send(randomBytes(MIB), { query: `userId=${leaving.userId}` });
    expect((await service.call('DELETE', `/users/${leaving.userId}`)).status).toBe(200);
    expect([await rows('files'), await rows('file_chunks')]).toEqual([0, 0]);
    expect((await get(fileId, { userId: leaving.userId })).status).toBe(404);
  });

  test('a file is the same for another process over the store', async () => {
    const { fileId } = await send('shared');
    const second = await startService({ env: service.env });
    try {
      expect(await (await get(fileId, { url: second.url })).text()).toBe('shared');
    } finally {
      await second.stop();
    }
  });
});

test('a full disk refuses a file in words and leaves nothing', async () => {
  const service = await startService({ kind: 'sqlite' });
  try {
    const { userId } = await shop(service);
    const upload = (size: number) =>
      fetch(`${service.url}/files?userId=${userId}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.developmentKey}`, 'x-api-version': '2025-09' },
        body: new Uint8Array(size),
      });
    const { db } = service.context;
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db);
    await sql`pragma max_page_count = ${sql.lit(Number(rows[0]?.page_count) + 400)}`.execute(db);
    const full = await upload(8 * MIB);
    expect(full.status).toBe(503);
    expect(await full.json()).toMatchObject({ code: 'unavailable' });
    await until(async () => (await db.selectFrom('files').selectAll().execute()).length === 0);
    expect(await db.selectFrom('file_chunks').selectAll().execute()).toEqual([]);
    expect((await upload(MIB)).status).toBe(201);
  } finally {
    await service.stop();
  }
});
