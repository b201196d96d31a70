import { afterAll, beforeAll, expect, test } from 'vitest';
import fc from 'fast-check';
import { pollSource } from '../../../src/sources/polling/poll.ts';
import { claimSources, resumeSources } from '../../../src/sources/sources.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { openWorld, stepsOf, styles, type World } from './world.ts';

/* `npm run proof:events -- adversary` plays 2,000 shops; see test/proofs/adversary.ts for the short form of the suite. */

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

test('a poller that keeps the largest time it saw misses or repeats orders', async () => {
  const result = await fc.check(
    fc.asyncProperty(styles, stepsOf, async (style, steps) => {
      const { told, expected } = await world.playWatermark(style, steps);
      expect(told).toEqual(expected);
    }),
    { numRuns: 100, seed: 1 },
  );
  expect(result.failed).toBe(true);
});

test('a source whose credential dies waits, and goes on where it stopped', async () => {
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
  expect(await world.toldOf(run.connectionId)).toEqual([...run.expected]);
});

test('a round that the end of its process cut short is another one at once', async () => {
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
  'a backlog of more pages than a round reads is told whole, and then polls are at rest (%s)',
  async (paging) => {
    const { clock, shop, service } = world;
    const run = await world.begin({ paging, order: 'ascending' }, 0);
    await service.call('PUT', '/api/settings', { body: { eventsAddress: 'https://127.0.0.1:9/operator' } });
    await world.take(run, { kind: 'burst' });
    clock.advance(5 * MINUTE);
    for (let round = 0; round < 8; round++) {
      // Between two rounds a record before the place where the reading goes on is removed, which shifts the others.
      if (round === 1) shop.remove(1);
      await run.poll([]);
      clock.advance(SECOND);
    }
    expect(await world.toldOf(run.connectionId)).toEqual([...run.expected]);
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

/** A connection whose polls found nothing for so long that they are five minutes apart. */
async function idleRun() {
  const { clock, service } = world;
  const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0);
  const claim = async () =>
    (await claimSources(service.context, 100)).find(({ credentialId }) => credentialId === run.connectionId);
  /** Whether a poll is due after so long; it takes place. */
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

test('who begins to listen to what was idle for long waits no longer than the first did', async () => {
  const { pollsWithin, listen } = await idleRun();
  expect(await pollsWithin(2 * MINUTE)).toBe(false);
  await listen();
  expect(await pollsWithin(30 * SECOND)).toBe(false);
  // The next one to listen puts nothing off.
  await listen();
  expect(await pollsWithin(29 * SECOND)).toBe(false);
  expect(await pollsWithin(SECOND)).toBe(true);
  // Two intervals at the most.
  expect(await pollsWithin(2 * MINUTE)).toBe(true);
});

test('who begins to listen while what was idle is polled is heard of as the poll ends', async () => {
  const { claim, pollsWithin, listen } = await idleRun();
  world.clock.advance(10 * MINUTE);
  const source = await claim();
  await listen();
  if (source) await pollSource(world.service.context, source);
  expect(await pollsWithin(50 * SECOND)).toBe(false);
  expect(await pollsWithin(20 * SECOND)).toBe(true);
  expect(await pollsWithin(2 * MINUTE)).toBe(true);
});

test('who begins to listen holds up no reading of several rounds', async () => {
  const { run, claim, pollsWithin, listen } = await idleRun();
  await world.take(run, { kind: 'burst' });
  world.clock.advance(10 * MINUTE);
  const source = await claim();
  await listen();
  if (source) await pollSource(world.service.context, source);
  expect(await pollsWithin(SECOND)).toBe(true);
});

test('an app that fails is left alone as long as it was, whoever begins to listen', async () => {
  const { run, pollsWithin, listen } = await idleRun();
  for (let round = 0; round < 3; round++) {
    world.clock.advance(HOUR);
    await run.poll([500]);
  }
  await listen();
  expect(await pollsWithin(MINUTE)).toBe(false);
});

test('an app whose webhooks are heard is polled no sooner, whoever begins to listen', async () => {
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
])('an app that once says a time %s loses and repeats nothing', async (_name, aheadMs) => {
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
  expect(await world.toldOf(run.connectionId)).toEqual([...run.expected]);
});

test.each([
  ['ten years ahead', YEARS],
  ['ten years behind', -YEARS],
])('a time %s at the first poll makes no old record a new one', async (_name, aheadMs) => {
  const { shop } = world;
  const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0, {
    ageMs: DAY,
    dateAheadMs: aheadMs,
  });
  shop.dateAheadMs = 0;
  await world.take(run, { kind: 'create', lateSeconds: 0 });
  await world.settle(run);
  expect(await world.toldOf(run.connectionId)).toEqual([...run.expected]);
});

test.each([
  ['ahead', 3 * 60 * 60],
  ['behind', -3 * 60 * 60],
])('an app whose clock is three hours %s is heard', async (_name, skewSeconds) => {
  const run = await world.begin({ paging: 'page', order: 'descending' }, skewSeconds, { ageMs: DAY });
  for (let round = 0; round < 5; round++) {
    await world.take(run, { kind: 'create', lateSeconds: 0 });
    world.clock.advance(10 * MINUTE);
    await run.poll([]);
  }
  expect(await world.toldOf(run.connectionId)).toEqual([...run.expected]);
});

test.each([
  ['six hours', 6 * HOUR],
  ['twenty days', 20 * DAY],
])(
  'our own clock, %s ahead for one poll, neither stops the next ones nor loses anything',
  async (_name, aheadMs) => {
    const { clock, shop, service } = world;
    const run = await world.begin({ paging: 'offset', order: 'ascending' }, 0);
    clock.advance(aheadMs);
    shop.setClock(() => clock.now() - aheadMs);
    await run.poll([]);
    clock.advance(MINUTE - aheadMs);
    shop.setClock(clock.now);
    // The app is down as the clock is put right, and for days.
    await world.take(run, { kind: 'create', lateSeconds: 0 });
    clock.advance(5 * MINUTE);
    await run.poll([500]);
    clock.advance(3 * DAY);
    await run.poll([]);
    expect(await world.toldOf(run.connectionId)).toEqual([...run.expected]);
    // Far enough back once a day again.
    const deep = () =>
      service.context.db
        .selectFrom('sources')
        .select('next_reconcile_at')
        .where('credential_id', '=', run.connectionId)
        .executeTakeFirstOrThrow();
    clock.advance(2 * DAY);
    await run.poll([]);
    expect((await deep()).next_reconcile_at).toBeLessThan(clock.now() + 2 * DAY);
  },
);

test('an order that changes while a list is read after days is told as created', async () => {
  const { clock, take } = world;
  const run = await world.begin({ paging: 'cursor', order: 'descending' }, 0);
  await take(run, { kind: 'create', lateSeconds: 0 });
  await take(run, { kind: 'away', days: 4 });
  for (let n = 0; n < 4; n++) await take(run, { kind: 'create', lateSeconds: 0 });
  // It moves to the top, where the reading was already.
  await take(run, { kind: 'shift', pick: 0 });
  await run.poll([]);
  clock.advance(10 * MINUTE);
  await run.poll([]);
  expect(await world.toldOf(run.connectionId)).toEqual([...run.expected]);
});
