import { afterAll, beforeAll, expect, test } from 'vitest';
import fc from 'fast-check';
import { pollSource } from '../../../src/sources/polling/poll.ts';
import { claimSources, resumeSources } from '../../../src/sources/due-sources.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { openWorld, stepsOf, styles, type World } from './world.ts';

/* `npm run proof:events -- adversary` plays 2,000 shops; see test/proofs/adversary.ts for the short form of the suite. */

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

test('a poller that keeps only the newest time misses or repeats orders', async () => {
  const result = await fc.check(
    fc.asyncProperty(styles, stepsOf, async (style, steps) => {
      const { published, expected } = await world.playWatermark(style, steps);
      expect(published).toEqual(expected);
    }),
    { numRuns: 100, seed: 1 },
  );
  expect(result.failed).toBe(true);
});

test('a source whose credential stops working waits, then continues at its cursor', async () => {
  const { clock, service, take, settle } = world;
  const { db } = service.context;
  const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0);
  await run.poll([]);
  await db
    .updateTable('credentials')
    .set({ state: 'needs_reconnect', reason: 'It was refused.' })
    .where('credential_id', '=', run.connectionId)
    .execute();
  await take(run, { kind: 'create', lateSeconds: 0 });
  clock.advance(20 * MINUTE);
  await run.poll([]);
  expect(await world.statusOf(run.connectionId)).toBe('suspended');
  clock.advance(48 * 60 * MINUTE);
  await db
    .updateTable('credentials')
    .set({ state: 'active', reason: null })
    .where('credential_id', '=', run.connectionId)
    .execute();
  await resumeSources(service.context);
  await settle(run);
  expect(await world.publishedOf(run.connectionId)).toEqual([...run.expected]);
});

test('a poll aborted by the end of its process is repeated at once', async () => {
  const { clock, service } = world;
  const run = await world.begin({ paging: 'page', order: 'ascending' }, 0);
  clock.advance(20 * MINUTE);
  const claimed = async () =>
    (await claimSources(service.context, 100)).find(({ credentialId }) => credentialId === run.connectionId);
  const source = await claimed();
  if (!source) throw new Error('nothing was due');
  expect(await claimed()).toBeUndefined();
  await pollSource(service.context, source, AbortSignal.abort());
  expect((await claimed())?.sourceId).toBe(source.sourceId);
});

test.each(['offset', 'page', 'cursor'] as const)(
  'a backlog longer than one poll is published whole, then polls are idle (%s)',
  async (paging) => {
    const { clock, shop, service } = world;
    const run = await world.begin({ paging, order: 'ascending' }, 0);
    await service.call('PUT', '/api/settings', { body: { eventsAddress: 'https://127.0.0.1:9/operator' } });
    await world.take(run, { kind: 'burst' });
    clock.advance(5 * MINUTE);
    for (let round = 0; round < 8; round++) {
      // Between two polls, a record before the continuation is removed, which shifts the others.
      if (round === 1) shop.remove(1);
      await run.poll([]);
      clock.advance(SECOND);
    }
    expect(await world.publishedOf(run.connectionId)).toEqual([...run.expected]);
    const source = await service.context.db
      .selectFrom('sources')
      .select(['continuation', 'next_poll_at', 'cursor_until'])
      .where('credential_id', '=', run.connectionId)
      .executeTakeFirstOrThrow();
    expect(source.continuation).toBeNull();
    expect(source.next_poll_at).toBeGreaterThan(clock.now());
    const warnings = await service.context.db
      .selectFrom('events')
      .select('body')
      .where('event', '=', 'poll.gap_risk')
      .execute();
    expect(warnings.filter(({ body }) => body.includes(run.connectionId))).toHaveLength(1);
  },
);

/** A connection whose polls found nothing until they are five minutes apart. */
async function idleRun() {
  const { clock, service } = world;
  const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0);
  const claim = async () =>
    (await claimSources(service.context, 100)).find(({ credentialId }) => credentialId === run.connectionId);
  /** Returns whether a poll is due after a time, and runs it. */
  const pollsWithin = async (ms: number) => {
    clock.advance(ms);
    const source = await claim();
    if (source) await pollSource(service.context, source);
    return source !== undefined;
  };
  for (let round = 0; round < 5; round++) expect(await pollsWithin(10 * MINUTE)).toBe(true);
  let listeners = 0;
  const listen = async () => {
    const answer = await service.call('POST', `/2023-03/one/webhooks?connectionId=${run.connectionId}`, {
      body: { address: `https://127.0.0.1:9/${listeners++}`, scope: 'commerce/orders', events: ['created'] },
    });
    expect(answer.status).toBe(201);
  };
  return { run, claim, pollsWithin, listen };
}

test('a new consumer of an idle source waits one shortest interval', async () => {
  const { pollsWithin, listen } = await idleRun();
  expect(await pollsWithin(2 * MINUTE)).toBe(false);
  await listen();
  expect(await pollsWithin(30 * SECOND)).toBe(false);
  // A further consumer does not postpone the poll.
  await listen();
  expect(await pollsWithin(29 * SECOND)).toBe(false);
  expect(await pollsWithin(SECOND)).toBe(true);
  // The next poll comes within two intervals.
  expect(await pollsWithin(2 * MINUTE)).toBe(true);
});

test('a new consumer during a poll of an idle source shortens the wait after it', async () => {
  const { claim, pollsWithin, listen } = await idleRun();
  world.clock.advance(10 * MINUTE);
  const source = await claim();
  await listen();
  if (source) await pollSource(world.service.context, source);
  expect(await pollsWithin(50 * SECOND)).toBe(false);
  expect(await pollsWithin(20 * SECOND)).toBe(true);
  expect(await pollsWithin(2 * MINUTE)).toBe(true);
});

test('a new consumer does not delay a listing of several polls', async () => {
  const { run, claim, pollsWithin, listen } = await idleRun();
  await world.take(run, { kind: 'burst' });
  world.clock.advance(10 * MINUTE);
  const source = await claim();
  await listen();
  if (source) await pollSource(world.service.context, source);
  expect(await pollsWithin(SECOND)).toBe(true);
});

test('a new consumer does not shorten the wait after failures', async () => {
  const { run, pollsWithin, listen } = await idleRun();
  for (let round = 0; round < 3; round++) {
    world.clock.advance(HOUR);
    await run.poll([500]);
  }
  await listen();
  expect(await pollsWithin(MINUTE)).toBe(false);
});

test('a new consumer does not hasten the poll of a source with webhooks', async () => {
  const { clock, service } = world;
  const run = await world.begin({ paging: 'offset', order: 'ascending', hooks: 'record' }, 0);
  const nextOf = async () => {
    const { next_poll_at: next } = await service.context.db
      .selectFrom('sources')
      .select('next_poll_at')
      .where('credential_id', '=', run.connectionId)
      .executeTakeFirstOrThrow();
    return next;
  };
  const next = await nextOf();
  expect(next).toBeGreaterThan(clock.now() + HOUR);
  await service.call('POST', `/2023-03/one/webhooks?connectionId=${run.connectionId}`, {
    body: { address: 'https://127.0.0.1:9/too', scope: 'commerce/orders' },
  });
  expect(await nextOf()).toBe(next);
});

const YEARS = 10 * 365 * DAY;

test.each([
  ['ten years ahead', YEARS],
  ['ten years behind', -YEARS],
  ['a quarter of an hour ahead', 15 * MINUTE],
])('one Date header %s neither loses nor repeats an event', async (_name, aheadMs) => {
  const { clock, shop } = world;
  const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0);
  shop.dateAheadMs = aheadMs;
  clock.advance(5 * MINUTE);
  await run.poll([]);
  shop.dateAheadMs = 0;
  for (let round = 0; round < 5; round++) {
    run.expected.add(shop.create(0));
    clock.advance(30 * MINUTE);
    await run.poll([]);
  }
  expect(await world.publishedOf(run.connectionId)).toEqual([...run.expected]);
});

test.each([
  ['ten years ahead', YEARS],
  ['ten years behind', -YEARS],
])('a Date header %s at the first poll makes no old record new', async (_name, aheadMs) => {
  const { shop } = world;
  const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0, {
    ageMs: DAY,
    dateAheadMs: aheadMs,
  });
  shop.dateAheadMs = 0;
  await world.take(run, { kind: 'create', lateSeconds: 0 });
  await world.settle(run);
  expect(await world.publishedOf(run.connectionId)).toEqual([...run.expected]);
});

test.each([
  ['ahead', 3 * 60 * 60],
  ['behind', -3 * 60 * 60],
])('an app whose clock is three hours %s loses no events', async (_name, skewSeconds) => {
  const run = await world.begin({ paging: 'page', order: 'descending' }, skewSeconds, { ageMs: DAY });
  for (let round = 0; round < 5; round++) {
    await world.take(run, { kind: 'create', lateSeconds: 0 });
    world.clock.advance(10 * MINUTE);
    await run.poll([]);
  }
  expect(await world.publishedOf(run.connectionId)).toEqual([...run.expected]);
});

test.each([
  ['six hours', 6 * HOUR],
  ['twenty days', 20 * DAY],
])('our clock, %s ahead for one poll, neither stops later polls nor loses events', async (_name, aheadMs) => {
  const { clock, shop, service } = world;
  const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0);
  clock.advance(aheadMs);
  shop.setClock(() => clock.now() - aheadMs);
  await run.poll([]);
  clock.advance(MINUTE - aheadMs);
  shop.setClock(clock.now);
  // The app is down when the clock is set back, and for days after.
  await world.take(run, { kind: 'create', lateSeconds: 0 });
  clock.advance(5 * MINUTE);
  await run.poll([500]);
  clock.advance(3 * DAY);
  await run.poll([]);
  expect(await world.publishedOf(run.connectionId)).toEqual([...run.expected]);
  // The daily poll reaches back far enough again.
  const deep = () =>
    service.context.db
      .selectFrom('sources')
      .select('next_reconcile_at')
      .where('credential_id', '=', run.connectionId)
      .executeTakeFirstOrThrow();
  clock.advance(2 * DAY);
  await run.poll([]);
  expect((await deep()).next_reconcile_at).toBeLessThan(clock.now() + 2 * DAY);
});

test('an order that changes during a listing after days is published as created', async () => {
  const { clock, take } = world;
  const run = await world.begin({ paging: 'cursor', order: 'descending' }, 0);
  await take(run, { kind: 'create', lateSeconds: 0 });
  await take(run, { kind: 'away', days: 4 });
  for (let n = 0; n < 4; n++) await take(run, { kind: 'create', lateSeconds: 0 });
  // The order moves to the top, which the listing has read already.
  await take(run, { kind: 'shift', pick: 0 });
  await run.poll([]);
  clock.advance(10 * MINUTE);
  await run.poll([]);
  expect(await world.publishedOf(run.connectionId)).toEqual([...run.expected]);
});
