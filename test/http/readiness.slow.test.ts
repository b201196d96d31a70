import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { rpc, shop } from '../support/mcp.ts';
import { startPostgres } from '../support/postgres.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

const makeUser = (service: Service, headers: Record<string, string> = {}) =>
  service.call('POST', '/users', { body: { username: `user ${Math.random()}` }, headers });
const ready = async (service: Service) => {
  const answer = await service.call('GET', '/ready', { bearer: null });
  return [answer.status, answer.at('missing')];
};

describe('while the disk of SQLite is full', () => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  const pragma = (text: string) => sql.raw(`pragma ${text}`).execute(service.context.db);
  /**
   * Makes SQLite reject new pages as on a full disk: SQLITE_FULL. Returns the first refusal, because a later write may
   * still find space in a page.
   */
  const fill = async () => {
    await pragma('max_page_count = 1');
    let refused = await makeUser(service);
    await until(async () => refused.status === 503 || (refused = await makeUser(service)).status === 503);
    return refused;
  };
  beforeAll(async () => {
    service = await startService();
    one = await shop(service, { toolMode: 'direct' });
  });
  afterEach(() => pragma('max_page_count = 1073741823'));
  afterAll(() => service.stop());

  test('a write is 503 with Retry-After, and succeeds once there is space', async () => {
    const refused = await fill();
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(service.logged.some((line) => line.includes('database or disk is full'))).toBe(true);
    await pragma('max_page_count = 1073741823');
    expect((await makeUser(service)).status).toBe(201);
  });

  test('reads over REST and MCP still work while the disk of SQLite is full', async () => {
    await fill();
    expect((await service.call('GET', '/users')).status).toBe(200);
    // Answers that reveal a token need a row of the audit log, so lists of servers are no such read.
    expect((await service.call('GET', '/connectors')).status).toBe(200);
    const listed = await rpc(one.accessUrl, 'tools/list');
    expect(listed.status).toBe(200);
    const read = await rpc(one.accessUrl, 'tools/call', { name: 'sandbox_list_products', arguments: {} });
    expect(read.at('result.isError')).toBeUndefined();
    expect(read.at('result.structuredContent.data.0.id')).toBe('prd_101');
  });

  test('a list that is too large to inline still shows its first records', async () => {
    await fill();
    const read = await rpc(one.accessUrl, 'tools/call', {
      name: 'execute_action_svc',
      arguments: {
        connectorId: 'sandbox',
        actionId: 'list_orders',
        parameters: { limit: 50 },
        maxBytes: 4096,
      },
    });
    expect(read.at('result.isError')).toBeUndefined();
    expect(read.at('result.structuredContent.data.0.id')).toEqual(expect.any(String));
    expect(read.at('result.structuredContent.result.note')).toMatch(
      /records of this page are shown: continue with offset \d+\.$/,
    );
  });

  test('/ready is 503 and names the cause until there is space', async () => {
    await expect.poll(() => ready(service)).toEqual([200, []]);
    await fill();
    await expect
      .poll(() => ready(service))
      .toEqual([503, expect.arrayContaining(['the database takes no writes; its disk may be full'])]);
    await pragma('max_page_count = 1073741823');
    await expect.poll(() => ready(service)).toEqual([200, []]);
  });
});

test('while PostgreSQL is down requests are 503 and /ready names the cause', async () => {
  const server = await startPostgres([]);
  const service = await startService({ env: { DATABASE_URL: server.url } });
  let stopped = false;
  try {
    const { accessUrl } = await shop(service);
    await expect.poll(() => ready(service)).toEqual([200, []]);
    await server.stop();
    stopped = true;
    for (const answer of [await makeUser(service), await service.call('GET', '/users')]) {
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await expect
      .poll(async () => (await rpc(accessUrl, 'tools/list')).at('error.data.code'))
      .toBe('unavailable');
    await expect.poll(() => ready(service)).toEqual([503, ['the database does not answer']]);
    expect((await service.call('GET', '/health', { bearer: null })).status).toBe(200);
  } finally {
    await service.stop();
    if (!stopped) await server.stop();
  }
});

test('/ready is 503 after the event loop was blocked for over a second', async () => {
  await using service = await startService();
  await expect.poll(() => ready(service)).toEqual([200, []]);
  const end = performance.now() + 1600;
  while (performance.now() < end);
  const [status, missing] = await ready(service);
  expect(status).toBe(503);
  expect(JSON.stringify(missing)).toMatch(/the event loop was blocked for \d+\.\d s/);
});

test('/ready is 503 until the first API keys are stored', async () => {
  await using service = await startService();
  await expect.poll(() => ready(service)).toEqual([200, []]);
  const { db } = service.context;
  const keys = await db.selectFrom('api_keys').selectAll().execute();
  await db.deleteFrom('api_keys').execute();
  await expect.poll(() => ready(service)).toEqual([503, ['the first API keys are not stored yet']]);
  await db.insertInto('api_keys').values(keys).execute();
  await expect.poll(() => ready(service)).toEqual([200, []]);
});
