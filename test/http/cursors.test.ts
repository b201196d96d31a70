import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';

/* Lists that are followed by cursor: each record once, in the order of the list. */

let service: Service;
beforeAll(async () => {
  service = await startService();
  for (let at = 0; at < 7; at++) await service.call('POST', '/users', { body: { username: `user ${at}` } });
});
afterAll(() => service.stop());

const LISTS = ['/api/audit', '/users'];

test.each(LISTS)('%s gives each record once by cursor', async (path) => {
  const all = await service.call('GET', path);
  const found: unknown[] = [];
  let query = '';
  for (;;) {
    const page = await service.call('GET', `${path}?limit=3${query}`);
    expect(page.status).toBe(200);
    found.push(page.at('data.0'), page.at('data.1'), page.at('data.2'));
    if (page.at('pagination.hasMore') === false) break;
    expect(page.at('pagination.nextOffset')).toBe(query === '' ? 3 : undefined);
    query = `&cursor=${page.text('pagination.nextCursor')}`;
  }
  expect(found.filter((one) => one !== undefined)).toEqual(all.at('data'));
  expect(all.at('data.6')).toBeDefined();
});

test.each(LISTS)('%s refuses a cursor of no page, and one with an offset', async (path) => {
  const cursor = (await service.call('GET', `${path}?limit=1`)).text('pagination.nextCursor');
  for (const query of ['cursor=zzz', 'cursor=WzEsIlx1MDAwMCJd', `cursor=${cursor}&offset=1`]) {
    const answer = await service.call('GET', `${path}?${query}`);
    expect([answer.status, answer.text('code')]).toEqual([400, 'invalid_request']);
  }
});

test('the audit refuses offsets beyond 10,000 and names the cursor', async () => {
  expect((await service.call('GET', '/api/audit?offset=10000')).at('data')).toEqual([]);
  const refused = await service.call('GET', '/api/audit?offset=10001');
  expect(refused.status).toBe(400);
  expect(refused.text('error')).toMatch(/offset.*cursor/);
});
