import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { openApp, type TestedApp } from '../sources/app.ts';

let app: TestedApp;
beforeAll(async () => {
  app = await openApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const read = (connectionId: string, query = '', id = '') =>
  app.service.call('GET', `/2023-03/one/commerce/orders${id}?connectionId=${connectionId}${query}`);

test('a record that does not fit is left out of its page and named there', async () => {
  const { order } = app;
  const connectionId = await app.connect('numbered');
  const odd = order('odd', undefined, { total: '1e3' });
  app.orders = [order('o1'), odd, order('o2'), order('o3')];
  const page = await read(connectionId, '&limit=3');
  expect(page.status).toBe(200);
  expect([page.at('data.0.remoteId'), page.at('data.1.remoteId')]).toEqual(['o1', 'o2']);
  expect(page.at('leftOut')).toEqual([
    { remoteId: 'odd', reason: expect.stringContaining('totalPrice: must be a decimal string') },
  ]);
  expect(page.at('pagination')).toEqual({ hasMore: true, nextOffset: 3 });
  const next = await read(connectionId, '&offset=3');
  expect(next.body).toMatchObject({ data: [{ remoteId: 'o3' }], pagination: { hasMore: false } });
  expect(next.at('leftOut')).toBeUndefined();
});

test('a record that does not fit is an error when it is read alone', async () => {
  const connectionId = await app.connect('numbered');
  app.orders = [app.order('odd')];
  const id = (await read(connectionId)).text('data.0.id');
  app.orders = [app.order('odd', undefined, { total: '1e3' })];
  const answer = await read(connectionId, '', `/${id}`);
  expect([answer.status, answer.text('code')]).toEqual([502, 'upstream_failed']);
});

test('a deleted record that the app still returns is reported as deleted', async () => {
  const { clock, order } = app;
  app.orders = [order('o1'), order('o2')];
  // The first poll publishes records of the seconds before it.
  clock.advance(MINUTE);
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId);
  await app.poll(connectionId);
  await app.look('jobs');
  const id = (await read(connectionId)).text('data.0.id');

  app.orders = [order('o2')];
  app.instead = (url, res) => {
    if (url.pathname !== '/orders/o1') return false;
    app.send(res, 200, { id: 'o1', deleted: true });
    return true;
  };
  const answer = await read(connectionId, '', `/${id}`);
  expect([answer.status, answer.text('code')]).toEqual([404, 'record_not_found']);
  clock.advance(DAY);
  await app.look('jobs');
  expect(await app.published(connectionId)).toEqual(['deleted o1']);
});

describe("an app's own scope", () => {
  const get = (path: string) => app.service.call('GET', `/2023-03/one/${path}`);

  test("an app's own scope is listed by offset and read by id", async () => {
    const { order } = app;
    app.recover();
    const connectionId = await app.connect('sourced');
    app.orders = ['o1', 'o2', 'o3', 'o4'].map((id) => order(id));
    const page = await get(`sourced/order.placed?connectionId=${connectionId}&limit=3`);
    expect(page.status).toBe(200);
    expect(page.at('pagination')).toEqual({ hasMore: true, nextOffset: 3 });
    const [first] = app.orders;
    expect(page.at('data.0')).toEqual({
      id: expect.stringMatching(/^order_placed_/),
      remoteId: 'o1',
      createdAt: first?.created_at,
      updatedAt: first?.updated_at,
      raw: first,
    });
    const next = await get(`sourced/order.placed?connectionId=${connectionId}&offset=3`);
    expect(next.body).toMatchObject({ data: [{ remoteId: 'o4' }], pagination: { hasMore: false } });
    const one = await get(`sourced/order.placed/${page.text('data.0.id')}?connectionId=${connectionId}`);
    expect([one.status, one.body]).toEqual([200, page.at('data.0')]);
  });

  test("an app's own scope without a single read is searched in its lists", async () => {
    const connectionId = await app.connect('sourced');
    app.places = ['a', 'b'];
    app.orders = ['a', 'b'].map((place) => app.order('1', undefined, { place }));
    const page = await get(`sourced/row.added?connectionId=${connectionId}`);
    expect([page.at('data.0.remoteId'), page.at('data.1.remoteId')]).toEqual(['a:1', 'b:1']);
    const path = `sourced/row.added/${page.text('data.1.id')}?connectionId=${connectionId}`;
    expect((await get(path)).at('raw')).toMatchObject({ id: '1', sheet: 'b' });
    app.orders.pop();
    const gone = await get(path);
    expect([gone.status, gone.text('code')]).toEqual([404, 'record_not_found']);
  });

  test.each([
    ['sourced/call.ended', 400, 'reports its records by webhooks only'],
    ['sourced/order.lost', 400, 'Its scopes: commerce/orders, sourced/order.placed'],
    ['Sourced/order', 404, 'is no scope'],
  ])('the scope %s has no list, and the answer says why', async (scope, status, words) => {
    const connectionId = await app.connect('sourced');
    const answer = await get(`${scope}?connectionId=${connectionId}`);
    expect([answer.status, answer.text('error')]).toEqual([status, expect.stringContaining(words)]);
  });

  test("an app's own scope is not written", async () => {
    const connectionId = await app.connect('sourced');
    const answer = await app.service.call(
      'POST',
      `/2023-03/one/sourced/order.placed?connectionId=${connectionId}`,
      { body: { total: '1' } },
    );
    expect([answer.status, answer.text('code')]).toEqual([404, 'not_found']);
  });
});
