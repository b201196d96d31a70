import { createSecretKey } from 'node:crypto';
import { createServer } from 'node:http';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createLog } from '../../src/log.ts';
import { createSandbox } from '../../src/sandbox/router.ts';
import { identityOf } from '../../src/sandbox/accounts.ts';
import { sweepWrites } from '../../src/sandbox/account-writes.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import { DAY } from '../../src/lib/clock.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';
import { manualClock } from '../support/clock.ts';

/** The sandbox alone, as any client sees it, without Gatehouse. */
const clock = manualClock();
const customerMade = z.object({ customer: z.object({ id: z.string() }) });
const contactMade = z.object({ contact: z.object({ id: z.string() }) });
let base = '';
let server: ReturnType<typeof createServer>;
let store: Store;

beforeAll(async () => {
  store = await openStore({ kind: 'sqlite', path: ':memory:' });
  await migrate(store, 1);
  [server, base] = await serve();
});
afterAll(async () => {
  server.close();
  await store.close();
});

test('a key that does not begin with sandbox_ is 401 in the sandbox error shape', async () => {
  for (const key of ['', 'live_123', 'Sandbox_1']) {
    const { status, body } = await call('GET', '/customers', { key });
    expect([status, body]).toEqual([
      401,
      { fault: { kind: 'unknown_key', text: expect.stringContaining('sandbox_') } },
    ]);
  }
});

test('a key gives the same data in every process, another key gives other data', async () => {
  const [other, otherBase] = await serve();
  const here = await call('GET', '/orders', { key: 'sandbox_same' });
  const there = await call('GET', '/orders', { key: 'sandbox_same', at: otherBase });
  const stranger = await call('GET', '/orders', { key: 'sandbox_else' });
  other.close();
  expect(there.body).toEqual(here.body);
  expect(stranger.body).not.toEqual(here.body);
});

test('customers come by offset with a total in the body', async () => {
  const ids: string[] = [];
  for (let skip = 0; ; skip += 50) {
    const { body } = await call('GET', `/customers?skip=${skip}&take=50`);
    const page = z.object({ total: z.literal(120), customers: z.array(record) }).parse(body);
    ids.push(...page.customers.map(({ id }) => id));
    if (skip + 50 >= page.total) break;
  }
  expect(new Set(ids).size).toBe(120);
});

test.each([
  ['', 240],
  ['&status=paid', undefined],
])('orders come by cursor, also with the filter "%s"', async (filter, count) => {
  const ids: string[] = [];
  let after = '';
  for (;;) {
    const { body } = await call('GET', `/orders?size=37${filter}${after}`, { key: 'sandbox_orders' });
    const page = z.object({ orders: z.array(record), next: z.string().nullable() }).parse(body);
    ids.push(...page.orders.map(({ id }) => id));
    if (page.next === null) break;
    after = `&after=${page.next}`;
  }
  expect(new Set(ids).size).toBe(count ?? ids.length);
  expect(ids.length).toBeGreaterThan(37);
});

test('products come by page number with totals in headers', async () => {
  const first = await call('GET', '/products?per_page=25');
  expect([first.headers.get('x-total'), first.headers.get('x-total-pages')]).toEqual(['60', '3']);
  const last = await call('GET', '/products?per_page=25&page=3');
  expect(z.array(record).parse(last.body)).toHaveLength(10);
  expect((await call('GET', '/products?per_page=25&page=4')).body).toEqual([]);
});

test('amounts are whole minor units, and the total of an order is right', async () => {
  const { body } = await call('GET', '/orders?size=50');
  const line = z.object({ quantity: z.int(), unit_price: z.int().positive() });
  const { orders } = z
    .object({ orders: z.array(z.object({ total: z.int(), lines: z.array(line) })) })
    .parse(body);
  for (const { total, lines } of orders) {
    expect(total).toBe(lines.reduce((sum, one) => sum + one.quantity * one.unit_price, 0));
  }
});

test.each([
  ['/customers/cus_1', 'missing'],
  ['/orders/ord_1', 'missing'],
  ['/products/nothing', 'missing'],
  ['/nowhere', 'no_such_page'],
])('GET %s is 404 in its own error shape', async (path, kind) => {
  const { status, body } = await call('GET', path);
  expect([status, body]).toMatchObject([404, { fault: { kind } }]);
});

test.each([
  ['GET', '/customers?take=101', undefined, 'take'],
  ['GET', '/customers?skip=-1', undefined, 'skip'],
  ['GET', '/customers?colour=red', undefined, 'colour'],
  ['GET', '/orders?after=rubbish', undefined, 'after'],
  ['GET', '/products?page=0', undefined, 'page'],
  ['GET', '/fail/99', undefined, 'status'],
  ['GET', '/slow?ms=60001', undefined, 'ms'],
  ['POST', '/customers', { name: 'Ada' }, 'email'],
  ['POST', '/customers', { name: 'Ada', email: 'ada@example.com', age: 3 }, 'age'],
  [
    'POST',
    '/orders',
    { customer_id: 'cus_1', lines: [{ product_id: 'prd_101', quantity: 1 }] },
    'customer_id',
  ],
  [
    'POST',
    '/orders',
    { customer_id: 'cus_1001', lines: [{ product_id: 'x', quantity: 1 }] },
    'lines.0.product_id',
  ],
  ['POST', '/messages', { to: 'nobody', text: 'hi' }, 'to'],
  ['POST', '/tickets', { title: 'T', body: 'B', customer_id: 'cus_1' }, 'customer_id'],
])('%s %s with a wrong field is 422 and names it', async (method, path, json, field) => {
  const { status, body } = await call(method, path, { json, key: 'sandbox_faults' });
  expect([status, body]).toMatchObject([
    422,
    { fault: { kind: 'invalid', fields: { [field]: expect.any(String) } } },
  ]);
});

test('a missing or invalid JSON body is rejected', async () => {
  expect(await call('POST', '/customers', { text: '{' })).toMatchObject({
    status: 400,
    body: { fault: { kind: 'bad_body' } },
  });
  expect(await call('POST', '/customers')).toMatchObject({
    status: 415,
    body: { fault: { kind: 'no_json' } },
  });
  expect((await call('POST', '/messages', { text: `"${'x'.repeat(70_000)}"` })).status).toBe(413);
});

test('written records are visible to their key only', async () => {
  const key = 'sandbox_writer';
  const made = await call('POST', '/customers', { key, json: { name: 'Ada', email: 'Ada@Example.com' } });
  expect(made).toMatchObject({
    status: 201,
    body: { customer: { id: expect.stringMatching(/^cus_\d+$/), email: 'ada@example.com', segment: 'new' } },
  });
  const customerId = customerMade.parse(made.body).customer.id;
  expect(
    await call('POST', '/customers', { key, json: { name: 'A', email: 'ada@example.com' } }),
  ).toMatchObject({ status: 409 });
  expect((await call('GET', `/customers/${customerId}`, { key })).status).toBe(200);
  expect((await call('GET', `/customers/${customerId}`)).status).toBe(404);

  const wish = { customer_id: customerId, currency: 'JPY', lines: [{ product_id: 'prd_101', quantity: 2 }] };
  const order = await call('POST', '/orders', { key, json: wish });
  expect(order).toMatchObject({
    status: 201,
    body: { order: { id: expect.stringMatching(/^ord_\d+$/), status: 'open', currency: 'JPY' } },
  });

  expect((await call('DELETE', `/customers/${customerId}`, { key })).status).toBe(204);
  expect((await call('GET', `/customers/${customerId}`, { key })).status).toBe(404);
  expect((await call('DELETE', `/customers/${customerId}`, { key })).status).toBe(404);
});

test('messages are listed newest first', async () => {
  const key = 'sandbox_mail';
  for (const text of ['one', 'two']) {
    await call('POST', '/messages', { key, json: { to: 'a@example.com', text } });
    clock.advance(1000);
  }
  const { body } = await call('GET', '/messages?take=1', { key });
  expect(body).toMatchObject({ total: 2, messages: [{ text: 'two', subject: null }] });
});

test('a contact is added once and changed later', async () => {
  const key = 'sandbox_contacts';
  const first = await call('POST', '/contacts', {
    key,
    json: { email: 'b@example.com', name: 'B', tags: ['x'] },
  });
  const second = await call('POST', '/contacts', { key, json: { email: 'B@example.com', tags: ['y'] } });
  expect(first).toMatchObject({ status: 201, body: { created: true } });
  expect(second).toMatchObject({
    status: 200,
    body: {
      created: false,
      contact: { id: contactMade.parse(first.body).contact.id, name: 'B', tags: ['y'] },
    },
  });
});

test('a repeated Idempotency-Key gives the first answer, or 409 for another body', async () => {
  const key = 'sandbox_keyed';
  const headers = { 'Idempotency-Key': 'k1' };
  const json = { title: 'Broken', body: 'It broke.' };
  const first = await call('POST', '/tickets', { key, headers, json });
  const again = await call('POST', '/tickets', { key, headers, json });
  const other = await call('POST', '/tickets', { key, headers, json: { ...json, title: 'Else' } });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(other).toMatchObject({ status: 409, body: { fault: { kind: 'key_reused' } } });
});

test('an account accepts 10,000 writes a day, then answers that it is full', async () => {
  const key = 'sandbox_full';
  const write = () => call('POST', '/messages', { key, json: { to: 'a@example.com', text: 'x' } });
  expect((await write()).status).toBe(201);
  const [first] = await rowsOf(key);
  if (!first) throw new Error('no row');
  for (let from = 1; from < 9999; from += 500) {
    const rows = Array.from({ length: Math.min(500, 9999 - from) }, (_, n) => ({
      ...first,
      position: first.position + from + n,
    }));
    await store.db.insertInto('sandbox_writes').values(rows).execute();
  }
  expect((await write()).status).toBe(201);
  expect(await write()).toMatchObject({ status: 507, body: { fault: { kind: 'full' } } });
  clock.advance(DAY);
  expect((await write()).status).toBe(201);
});

test.each(STORE_KINDS)('two processes on one %s see the writes of each other', async (kind) => {
  const fresh = await freshDatabase(kind);
  const key = 'sandbox_shared';
  const stores: Store[] = [await openStore(fresh.database), await openStore(fresh.database)];
  for (const one of stores) await migrate(one, 1);
  const served = await Promise.all(stores.map(({ db }) => serve(db)));
  try {
    const [one = '', other = ''] = served.map(([, url]) => url);
    const json = { name: 'Ada', email: 'ada@example.com' };
    const headers = { 'Idempotency-Key': 'k1' };
    const made = await call('POST', '/customers', { key, json, headers, at: one });
    const again = await call('POST', '/customers', { key, json, headers, at: other });
    expect(again.body).toEqual(made.body);
    const { customer } = z.object({ customer: record }).parse(made.body);
    const path = `/customers/${customer.id}`;
    expect((await call('GET', path, { key, at: other })).body).toEqual(made.body);
    const writes = Array.from({ length: 20 }, (_, n) =>
      call('POST', '/tickets', { key, json: { title: `${n}`, body: 'x' }, at: n % 2 ? one : other }),
    );
    const ids = (await Promise.all(writes)).map(
      ({ body }) => z.object({ ticket: record }).parse(body).ticket.id,
    );
    expect(new Set(ids).size).toBe(20);
    expect((await call('DELETE', path, { key, at: other })).status).toBe(204);
    expect((await call('GET', path, { key, at: one })).status).toBe(404);
    expect((await call('GET', '/customers/cus_1001', { key, at: one })).status).toBe(200);
  } finally {
    for (const [server] of served) server.close();
    for (const one of stores) await one.close();
    await fresh.remove();
  }
});

test('writes expire after a day, and seeded records return', async () => {
  const key = 'sandbox_daily';
  await call('POST', '/messages', { key, json: { to: 'a@example.com', text: 'x' } });
  const seeded = await call('GET', '/customers', { key });
  const [first] = z.object({ customers: z.array(record) }).parse(seeded.body).customers;
  const path = `/customers/${first?.id}`;
  expect((await call('DELETE', path, { key })).status).toBe(204);
  clock.advance(DAY);
  expect((await call('GET', '/messages', { key })).body).toMatchObject({ total: 0 });
  expect((await call('GET', path, { key })).status).toBe(200);
  await sweepWrites({ db: store.db, clock });
  expect(await rowsOf(key)).toEqual([]);
});

const rowsOf = (key: string) =>
  store.db.selectFrom('sandbox_writes').selectAll().where('account_id', '=', identityOf(key)).execute();

test('more than 50 requests in a second are 429 with Retry-After, until it is over', async () => {
  const key = 'sandbox_eager';
  clock.advance(1000);
  for (let count = 0; count < 50; count++) expect((await call('GET', '/messages', { key })).status).toBe(200);
  const refused = await call('GET', '/messages', { key });
  expect(refused).toMatchObject({ status: 429, body: { fault: { kind: 'too_fast' } } });
  expect(refused.headers.get('retry-after')).toBe('1');
  clock.advance(1000);
  expect((await call('GET', '/messages', { key })).status).toBe(200);
});

test.each([200, 204, 400, 401, 404, 418, 429, 500, 503, 599])('fail answers with %i', async (wanted) => {
  const { status, headers } = await call('GET', `/fail/${wanted}`, { key: 'sandbox_fail' });
  expect(status).toBe(wanted);
  expect(headers.get('retry-after')).toBe(wanted === 429 || wanted === 503 ? '1' : null);
});

test('slow sends progress to clients that accept events', async () => {
  const plain = await call('GET', '/slow?ms=60', { key: 'sandbox_slow' });
  expect(plain.body).toEqual({ waited_ms: 60 });
  const response = await fetch(`${base}/slow?ms=150`, {
    headers: { 'x-sandbox-key': 'sandbox_slow', accept: 'text/event-stream' },
  });
  const text = await response.text();
  expect(text.match(/event: progress\n/g)).toHaveLength(3);
  expect(text).toContain('data: {"progress":3,"total":3,"message":"step 3 of 3"}');
  expect(text.trimEnd().endsWith('event: result\ndata: {"waited_ms":150}')).toBe(true);
});

const record = z.object({ id: z.string() });

async function serve(db = store.db): Promise<[ReturnType<typeof createServer>, string]> {
  const app = express();
  app.use(
    '/sandbox',
    createSandbox({
      clock,
      log: createLog('silent'),
      db,
      publicUrl: '',
      hashKey: createSecretKey(Buffer.alloc(32)),
    }),
  );
  const listening = createServer(app);
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const address = listening.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return [listening, `http://127.0.0.1:${address.port}/sandbox/api`];
}

interface CallOptions {
  key?: string;
  json?: unknown;
  text?: string;
  headers?: Record<string, string>;
  at?: string;
}

async function call(method: string, path: string, options: CallOptions = {}) {
  const body = options.text ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
  const response = await fetch((options.at ?? base) + path, {
    method,
    headers: {
      'x-sandbox-key': options.key ?? 'sandbox_test',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const answer = await response.text();
  const parsed: unknown = answer === '' ? null : JSON.parse(answer);
  return { status: response.status, headers: response.headers, body: parsed };
}
