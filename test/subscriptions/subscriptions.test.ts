import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEvents, subscribe, type EventsService } from '../support/events.ts';

let service: EventsService;
let guarded: EventsService;
beforeAll(async () => {
  service = await startEvents();
  guarded = await startEvents({ env: { GATEHOUSE_ALLOW_PRIVATE_NETWORK: '0' } });
});
afterAll(async () => {
  await service.stop();
  await guarded.stop();
});

const create = (body: Record<string, unknown>, on = service) =>
  on.call('POST', `/2023-03/one/webhooks?connectionId=${on.connectionId}`, {
    body: { scope: 'commerce/orders', ...body },
  });

test('a subscription has its documented fields, and its secret appears only once', async () => {
  const address = 'http://127.0.0.1:9/contract';
  const made = await create({ address, headers: { 'X-Key': 'canary-value' } });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    connectionId: service.connectionId,
    address,
    scope: 'commerce/orders',
    events: ['created'],
    status: 'active',
    source: 'polling',
    headers: ['x-key'],
    ordered: false,
  });
  expect(made.text('secret')).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const id = made.text('subscriptionId');
  const read = await service.call('GET', `/webhooks/${id}`);
  expect(JSON.stringify(read.body)).not.toMatch(/whsec_|canary-value/);
  const listed = await service.call('GET', `/2023-03/one/webhooks?connectionId=${service.connectionId}`);
  expect(listed.at('data.0.subscriptionId')).toBe(id);
  expect((await create({ address })).text('code')).toBe('subscription_exists');
  const rows = await service.context.db.selectFrom('subscriptions').selectAll().execute();
  expect(JSON.stringify(rows)).not.toMatch(/whsec_|canary-value/);

  const other = 'http://127.0.0.1:9/other';
  const changed = await service.call('PUT', `/webhooks/${id}`, {
    body: { address: other, events: ['created', 'deleted'], headers: {}, ratePerSecond: 5 },
  });
  expect(changed.body).toMatchObject({
    address: other,
    events: ['created', 'deleted'],
    headers: [],
    ratePerSecond: 5,
  });
  expect(await service.call('DELETE', `/webhooks/${id}`)).toMatchObject({
    status: 200,
    body: { message: 'The subscription was deleted.', subscriptionId: id },
  });
  expect(await service.context.db.selectFrom('sources').selectAll().execute()).toEqual([]);
});

test.each([
  [{ address: 'ftp://example.com/' }, 'address'],
  [{ address: 'https://user:pass@example.com/' }, 'address'],
  [{ address: 'https://example.com/#part' }, 'address'],
  [{ address: 'http://example.com/hook' }, 'address'],
  [{ address: 'https://no-such-host.invalid/hook' }, 'address'],
  [{ address: 'http://127.0.0.1:9/', scope: 'commerce/invoices' }, 'scope'],
  [{ address: 'http://127.0.0.1:9/', events: [] }, 'events'],
  [{ address: 'http://127.0.0.1:9/', events: ['created', 'created'] }, 'events'],
  [{ address: 'http://127.0.0.1:9/', ratePerSecond: 0 }, 'ratePerSecond'],
  [{ address: 'http://127.0.0.1:9/', events: ['updated', 'deleted'], backfill: true }, 'backfill'],
  ...['connection', 'webhook-id', 'X-Svc-Event', 'content-length', 'host', 'proxy-authorization', 'a b'].map(
    (name): [Record<string, unknown>, string] => [
      { address: 'http://127.0.0.1:9/', headers: { [name]: 'x' } },
      `headers.${name.toLowerCase()}`,
    ],
  ),
  [{ address: 'http://127.0.0.1:9/', headers: { 'x-a': 'b\r\nc: d' } }, 'headers.x-a'],
])('a subscription with %j is refused at %s', async (body, field) => {
  const answer = await create(body);
  expect(answer.status).toBe(400);
  expect(answer.at('details.faults.0.field')).toBe(field);
});

test('private addresses are refused when private networks are not allowed', async () => {
  for (const host of [
    '127.0.0.1',
    '10.0.0.1',
    '[::1]',
    '169.254.169.254',
    '0x7f.1',
    '2130706433',
    'localhost',
  ]) {
    const answer = await create({ address: `https://${host}/hook` }, guarded);
    expect([host, answer.status, answer.at('details.reason')]).toEqual([host, 400, 'blocked_address']);
  }
});

test('the host of a JWT issuer is not allowed as an address for deliveries', async () => {
  const origin = 'http://127.0.0.1:9';
  const issuer = {
    issuer: origin,
    audience: 'gatehouse',
    jwksUrl: `${origin}/jwks`,
    environment: 'development',
  };
  await using trusting = await startEvents({
    env: { GATEHOUSE_ALLOW_PRIVATE_NETWORK: '0', GATEHOUSE_JWT_ISSUERS: JSON.stringify([issuer]) },
  });
  const answer = await create({ address: `${origin}/hook` }, trusting);
  expect([answer.status, answer.at('details.reason')]).toEqual([400, 'blocked_address']);
});

test('a subscription whose headers cannot be opened is listed without them', async () => {
  const ids: string[] = [];
  for (const name of ['sealed', 'other'])
    ids.push(
      (await create({ address: `http://127.0.0.1:9/${name}`, headers: { 'x-a': 'b' } })).text(
        'subscriptionId',
      ),
    );
  await service.context.db
    .updateTable('subscriptions')
    .set({ headers_sealed: 'broken' })
    .where('subscription_id', '=', ids[0] ?? '')
    .execute();
  const list = await service.call('GET', '/2023-03/one/webhooks');
  const shown = ids.map((subscriptionId, index) => ({ subscriptionId, headers: index === 0 ? [] : ['x-a'] }));
  expect(list).toMatchObject({ status: 200, body: { data: shown } });
  expect(service.logged.join('')).toContain('subscription headers not opened');
  for (const id of ids) expect((await service.call('DELETE', `/webhooks/${id}`)).status).toBe(200);
});

test('deliveries are paged by cursor, and by offset up to 10,000', async () => {
  const { subscriptionId } = await subscribe(service, { address: 'http://127.0.0.1:9/paged' });
  for (let n = 0; n < 5; n++) await service.call('POST', `/webhooks/${subscriptionId}/test`);
  const page = (query: string) => service.call('GET', `/webhooks/${subscriptionId}/deliveries?${query}`);
  const first = await page('limit=2');
  expect(first.at('pagination')).toMatchObject({ hasMore: true, nextOffset: 2 });
  const second = await page(`limit=2&cursor=${first.text('pagination.nextCursor')}`);
  const third = await page(`limit=2&cursor=${second.text('pagination.nextCursor')}`);
  const sequences = [first, second, third].flatMap((one) => [
    one.at('data.0.sequence'),
    one.at('data.1.sequence'),
  ]);
  expect(sequences).toEqual([5, 4, 3, 2, 1, undefined]);
  expect(third.at('pagination')).toEqual({ hasMore: false });
  expect((await page('offset=10001')).text('code')).toBe('invalid_request');
  expect((await page('cursor=junk')).at('details.faults.0.field')).toBe('cursor');
  await service.call('DELETE', `/webhooks/${subscriptionId}`);
});

test('the address of operator events is a setting', async () => {
  const put = (body: Record<string, unknown>) => service.call('PUT', '/api/settings', { body });
  const made = await put({ eventsAddress: 'http://127.0.0.1:9/operator' });
  expect(made.text('eventsSecret')).toMatch(/^whsec_/);
  const again = await put({ eventsAddress: 'http://127.0.0.1:9/operator2' });
  expect(again.at('eventsSecret')).toBeUndefined();
  expect(again.at('eventsSubscriptionId')).toBe(made.at('eventsSubscriptionId'));
  expect((await put({ userServers: 'on' })).at('eventsAddress')).toBe('http://127.0.0.1:9/operator2');
  expect((await put({ eventsAddress: 'ftp://x' })).at('details.faults.0.field')).toBe('eventsAddress');
  expect((await put({ eventsAddress: null })).at('eventsAddress')).toBeNull();
});

test('a user is deleted while another request deletes their subscription', async () => {
  await using beside = await startEvents();
  for (const name of ['one', 'two']) await subscribe(beside, { address: `http://127.0.0.1:9/${name}` });
  await sql`create trigger somebody_else after update on subscriptions when new.status = 'disabled'
    begin delete from subscriptions where subscription_id <> new.subscription_id; end`.execute(
    beside.context.db,
  );
  expect((await beside.call('DELETE', `/users/${beside.userId}`)).status).toBe(200);
  for (const table of ['users', 'subscriptions', 'sources'] as const)
    expect(await beside.context.db.selectFrom(table).selectAll().execute()).toEqual([]);
});
