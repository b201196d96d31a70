import { afterEach, describe, expect, test } from 'vitest';
import { SECOND } from '../../../src/lib/clock.ts';
import { manualClock } from '../../support/clock.ts';
import { faultsOfFile, lineOf, startFileApp, type AppAnswer, type FileApp } from '../../support/file-app.ts';

/** An app of GraphQL with a bucket of points that refills. */
const COSTS = `baseUrl: '{origin}'
authentication: [{type: bearer}]
errors:
  message: [errors.0.message]
  rules: [{means: upstream_rate_limited, body: {path: 'errors.*.extensions.code', equals: THROTTLED}}]
budget:
  remaining: 'body:extensions.cost.throttleStatus.currentlyAvailable'
  cost: 'body:extensions.cost.requestedQueryCost'
  restorePerSecond: 'body:extensions.cost.throttleStatus.restoreRate'
actions:
  list_orders:
    description: Orders.
    request: POST /graphql
    effect: read
    graphql: '{ orders { id } }'
    response: {data: data.orders}
  get_shop:
    description: The shop.
    request: POST /graphql
    effect: read
    graphql: '{ shop { id } }'
    response: {data: data.shop}
  create_order:
    description: Creates an order.
    request: POST /graphql
    effect: write
    graphql: 'mutation { create { id } }'
`;
const WINDOWS = `baseUrl: '{origin}'
authentication: [{type: bearer}]
rateLimit:
  - {requests: 2, perSeconds: 30}
  - {requests: 3, perSeconds: 86400}
actions:
  get_thing: {description: A thing., request: GET /thing}
`;
const POINTS = `baseUrl: '{origin}'
authentication: [{type: bearer}]
rateLimit: {points: 10, perSeconds: 60}
actions:
  get_thing: {description: A thing., request: GET /thing}
  export_things: {description: All things., request: GET /export, cost: 8}
`;
const RESET = `baseUrl: '{origin}'
authentication: [{type: bearer}]
budget: {remaining: 'header:X-Remaining', reset: 'header:X-Reset'}
actions:
  get_thing: {description: A thing., request: GET /thing}
`;

let app: FileApp | undefined;
afterEach(() => app?.[Symbol.asyncDispose]());

async function start(file: string) {
  const clock = manualClock();
  app = await startFileApp(file, { clock });
  await app.connect({ token: 'token-of-the-tests' });
  return { app, clock };
}
const limited = async (one: FileApp, actionId: string) => {
  const answer = await one.execute(actionId);
  return [answer.status, answer.at('code'), Number(answer.headers.get('retry-after'))];
};

describe('points that answers report', () => {
  /** A bucket of 1,000 points that gets 10 a second; orders cost 900, the shop 1. */
  async function bucket() {
    const { app, clock } = await start(COSTS);
    let left = 1000;
    let at = clock.now();
    app.answer = ({ body }): AppAnswer => {
      left = Math.min(1000, left + ((clock.now() - at) / SECOND) * 10);
      at = clock.now();
      const requestedQueryCost = body.includes('shop') ? 1 : 900;
      const isThrottled = left < requestedQueryCost;
      if (!isThrottled) left -= requestedQueryCost;
      const throttleStatus = { maximumAvailable: 1000, currentlyAvailable: left, restoreRate: 10 };
      const extensions = { cost: { requestedQueryCost, throttleStatus } };
      if (!isThrottled) return { body: { data: { orders: [], shop: {} }, extensions } };
      return { body: { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }], extensions } };
    };
    return { app, clock };
  }

  test('a call that would exceed the points is not sent before they are back', async () => {
    const { app, clock } = await bucket();
    expect((await app.execute('list_orders')).status).toBe(200);
    expect(await limited(app, 'list_orders')).toEqual([429, 'upstream_rate_limited', 80]);
    expect(app.seen).toHaveLength(1);
    expect((await app.execute('get_shop')).status).toBe(200);
    clock.advance(81 * SECOND);
    expect((await app.execute('list_orders')).status).toBe(200);
    expect(app.seen).toHaveLength(3);
  });

  test('a refusal for lack of points holds the calls until the points are back', async () => {
    const { app, clock } = await bucket();
    await app.execute('list_orders');
    expect(await limited(app, 'create_order')).toEqual([429, 'upstream_rate_limited', 80]);
    expect(app.seen).toHaveLength(2);
    expect(await limited(app, 'create_order')).toEqual([429, 'upstream_rate_limited', 80]);
    expect(app.seen).toHaveLength(2);
    clock.advance(80 * SECOND);
    expect((await app.execute('create_order')).status).toBe(200);
  });
});

test('calls wait for the reset that a header names', async () => {
  const { app, clock } = await start(RESET);
  app.answer = () => ({ headers: { 'x-remaining': '0', 'x-reset': '90' } });
  expect((await app.execute('get_thing')).status).toBe(200);
  expect(await limited(app, 'get_thing')).toEqual([429, 'upstream_rate_limited', 90]);
  clock.advance(90 * SECOND);
  expect((await app.execute('get_thing')).status).toBe(200);
  expect(app.seen).toHaveLength(2);
});

test('several windows hold at the same time', async () => {
  const { app, clock } = await start(WINDOWS);
  expect((await app.execute('get_thing')).status).toBe(200);
  expect((await app.execute('get_thing')).status).toBe(200);
  expect(await limited(app, 'get_thing')).toEqual([429, 'upstream_rate_limited', 30]);
  clock.advance(30 * SECOND);
  expect((await app.execute('get_thing')).status).toBe(200);
  clock.advance(30 * SECOND);
  expect(await limited(app, 'get_thing')).toEqual([429, 'upstream_rate_limited', 86_400 - 60]);
  expect(app.seen).toHaveLength(3);
});

test('a window of points counts the cost of each action', async () => {
  const { app } = await start(POINTS);
  expect((await app.execute('export_things')).status).toBe(200);
  expect((await app.execute('get_thing')).status).toBe(200);
  expect((await app.execute('get_thing')).status).toBe(200);
  expect(await limited(app, 'get_thing')).toEqual([429, 'upstream_rate_limited', 60]);
  expect(app.seen).toHaveLength(3);
});

describe('a planted fault is found with its line', () => {
  test.each<[from: string, to: string, fault: string, file: string]>([
    ['points: 10', 'points: 10, requests: 5', 'needs requests or points', POINTS],
    [", reset: 'header:X-Reset'", '', 'needs restorePerSecond or reset', RESET],
    ['header:X-Remaining', 'X-Remaining', 'must be body:<path>', RESET],
    ['body:extensions.cost.requestedQueryCost', 'last:cost', 'must be body:<path> or header:<name>', COSTS],
  ])('a planted fault of a limit is found with its line: %s', async (from, to, fault, file) => {
    const faulty = file.replace(from, to);
    const faults = await faultsOfFile(faulty);
    expect(faults.join('\n')).toContain(fault);
    expect(Number(faults[0]?.split(' ')[0])).toBeGreaterThanOrEqual(lineOf(faulty, 'authentication:'));
  });
});

describe('a limit that all users of an OAuth app share', () => {
  const SHARED = `baseUrl: '{origin}'
authentication:
  - {type: oauth2, authorizeUrl: 'https://app.example.com/authorize', tokenUrl: 'https://app.example.com/token'}
  - {type: bearer}
rateLimit:
  - {requests: 3, perSeconds: 60, per: app}
  - {requests: 2, perSeconds: 60}
actions:
  get_thing: {description: A thing., request: GET /thing}
`;

  /** Returns what a call of another user with an account of their own comes to. */
  async function another(one: FileApp, username: string, [type, data]: [string, object]) {
    const { service, origin } = one;
    const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
    const as = (path: string, body: object) =>
      service.call('POST', path, { headers: { 'x-svc-userid': userId }, body });
    const connected = await as(`/users/${userId}/credentials`, {
      connectorId: 'app',
      type,
      data: { origin, ...data },
    });
    expect(connected.status).toBe(201);
    return () => as('/connectors/app/actions/get_thing/execute', { input: {} });
  }

  test('a limit of an OAuth app counts the calls of two users, next to their own limits', async () => {
    const clock = manualClock();
    app = await startFileApp(SHARED, { clock });
    await app.connect({ accessToken: 'token-of-ada' }, 'oauth2');
    const bob = await another(app, 'bob', ['oauth2', { accessToken: 'token-of-bob' }]);
    const carol = await another(app, 'carol', ['bearer', { token: 'token-of-carol' }]);
    expect((await app.execute('get_thing')).status).toBe(200);
    expect((await app.execute('get_thing')).status).toBe(200);
    expect(await limited(app, 'get_thing')).toEqual([429, 'upstream_rate_limited', 60]);
    expect((await bob()).status).toBe(200);
    const refused = await bob();
    expect([refused.status, refused.text('error')]).toEqual([
      429,
      'App limits the calls of this OAuth app. Try again in 60 s.',
    ]);
    // A key has no OAuth app, so it has the limit for itself.
    expect([(await carol()).status, (await carol()).status, (await carol()).status]).toEqual([200, 200, 429]);
    clock.advance(60 * SECOND);
    expect((await bob()).status).toBe(200);
    expect(app.seen).toHaveLength(6);
  });

  test('a limit of an OAuth app bounds concurrent calls, next to the limit of each user', async () => {
    app = await startFileApp(
      SHARED.replace('requests: 3, perSeconds: 60', 'requests: 90, perSeconds: 60, concurrency: 2').replace(
        'requests: 2, perSeconds: 60',
        'requests: 90, perSeconds: 60, concurrency: 1',
      ),
    );
    await app.connect({ accessToken: 'token-of-ada' }, 'oauth2');
    const bob = await another(app, 'bob', ['oauth2', { accessToken: 'token-of-bob' }]);
    const carol = await another(app, 'carol', ['oauth2', { accessToken: 'token-of-carol' }]);
    const running = new Map<unknown, number>();
    let most = 0;
    let mostEach = 0;
    app.answer = async ({ headers: { authorization } }): Promise<AppAnswer> => {
      const own = (running.get(authorization) ?? 0) + 1;
      running.set(authorization, own);
      mostEach = Math.max(mostEach, own);
      most = Math.max(
        most,
        [...running.values()].reduce((sum, one) => sum + one, 0),
      );
      await new Promise((resolve) => setImmediate(resolve));
      running.set(authorization, (running.get(authorization) ?? 0) - 1);
      return { body: {} };
    };
    const { execute } = app;
    const calls = Array.from({ length: 8 }, () => [execute('get_thing'), bob(), carol()]).flat();
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect([new Set(statuses), mostEach]).toEqual([new Set([200]), 1]);
    expect(most).toBeLessThanOrEqual(2);
  });
});
