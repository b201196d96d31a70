import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { z } from 'zod';
import { claimSources } from '../../../src/sources/due-sources.ts';
import { pruneJob } from '../../../src/sources/prune.ts';
import { createClockJumps } from '../../../src/sources/clock-jumps.ts';
import { pollSource } from '../../../src/sources/polling/poll.ts';
import { createTurns } from '../../../src/sources/source-turns.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { manualClock } from '../../support/clock.ts';
import { separate } from '../../support/events.ts';
import { startService } from '../../support/service.ts';
import { shopConnector, startShop, type Shop, type ShopStyle } from './adversary.ts';

const POLLED: ShopStyle[] = (['offset', 'page', 'cursor'] as const).flatMap((paging) =>
  (['none', 'ascending', 'descending'] as const).map((order) => ({ paging, order })),
);
const WITH_WEBHOOKS: ShopStyle[] = [
  { paging: 'offset', order: 'ascending', hooks: 'record' },
  { paging: 'cursor', order: 'descending', hooks: 'record' },
  { paging: 'page', order: 'none', hooks: 'id' },
];

/** Step of a run between a shop and its poller. */
export type Step =
  | { kind: 'create'; lateSeconds: number }
  /** More orders than one poll reads. */
  | { kind: 'burst' }
  | { kind: 'update' | 'remove' | 'shift'; pick: number }
  | { kind: 'wait'; seconds: number }
  | { kind: 'poll'; faults: Shop['faults'] }
  | { kind: 'die' }
  /** One pending webhook, in any order, or a repetition. With `later` it is processed with the next poll. */
  | { kind: 'announce'; pick: number; again: boolean; later: boolean }
  /** Days without a poll, after which old keys are pruned. */
  | { kind: 'away'; days: number }
  /** Our clock is ahead for one poll, or while a process dies under its lease. */
  | { kind: 'jump'; hours: number; dies: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 60,
    arbitrary: fc.record({
      kind: fc.constant('create'),
      lateSeconds: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 540 })),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('burst') }) },
  {
    weight: 40,
    arbitrary: fc.record({
      kind: fc.constantFrom('update', 'update', 'remove', 'shift'),
      pick: fc.nat(1000),
    }),
  },
  {
    weight: 30,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      seconds: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1200 })),
    }),
  },
  {
    weight: 40,
    arbitrary: fc.record({
      kind: fc.constant('poll'),
      faults: fc.array(fc.constantFrom<Shop['faults'][number]>('none', 'none', 400, 429, 500, 'drop'), {
        maxLength: 3,
      }),
    }),
  },
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('die') }) },
  {
    weight: 50,
    arbitrary: fc.record({
      kind: fc.constant('announce'),
      pick: fc.integer({ min: -3, max: 1 }),
      again: fc.boolean(),
      later: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('away'), days: fc.integer({ min: 2, max: 5 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('jump'),
      hours: fc.oneof(fc.integer({ min: 1, max: 23 }), fc.integer({ min: 25, max: 14 * 24 })),
      dies: fc.boolean(),
    }),
  },
);

/** Orders of a burst; one poll reads 40 pages of three. */
export const BURST = 125;
/** Polls of one listing: two for the pages of a burst, and four page walks. */
const ROUNDS_OF_A_READING = 8;

export const styles = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...POLLED) },
  { weight: 1, arbitrary: fc.constantFrom(...WITH_WEBHOOKS) },
);
export const stepsOf = fc.array(step, { minLength: 5, maxLength: 40 });
/** Records beyond which a shop rejects pages, where its list has a lower bound. */
export const depths = fc.constantFrom(Infinity, 60);
/** Polls that fail before the first one that works. */
export const delays = fc.integer({ min: 0, max: 3 });
/** Seconds that a shop's clock is ahead of ours. */
export const skews = fc.integer({ min: -10 * 60, max: 10 * 60 });

const listAnswer = z.object({
  orders: z.array(z.object({ id: z.number(), created_at: z.string(), updated_at: z.string() })),
  more: z.boolean(),
  next: z.string().nullable(),
});

/** A connection that is polled, or another poller for comparison. */
export interface Run {
  connectionId: string;
  expected: Set<number>;
  alive: number[];
  poll(faults: Shop['faults']): Promise<void>;
}

/** Published and expected orders, by id. */
export interface Outcome {
  published: number[];
  expected: number[];
}

export type World = Awaited<ReturnType<typeof openWorld>>;

let catalog: string | undefined;

/** Creates the catalogue of the shops. Its definitions are checked once for all tests. */
function newCatalog(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-shops-'));
  for (const style of [...POLLED, ...WITH_WEBHOOKS]) {
    const { id, text } = shopConnector(style);
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), text);
  }
  return folder;
}

/** Starts a Gatehouse whose sources are polled when a test calls it, and a shop. One clock drives both. */
export async function openWorld() {
  const catalogFolder = (catalog ??= newCatalog());
  const clock = manualClock();
  const shop = await startShop();
  const service = await startService({
    clock,
    catalogFolder,
    env: { GATEHOUSE_SANDBOX: '0', LOG_LEVEL: 'error' },
  });
  await service.context.sources.close();
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');

  const how = { signal: new AbortController().signal, freeSlots: 100 };
  const turns = createTurns();
  const makeDueAfterJump = createClockJumps();
  /** Milliseconds by which our clock is ahead of the true time, which the shop follows. */
  let aheadMs = 0;

  function newRun(connectionId: string): Run {
    return {
      connectionId,
      expected: new Set(),
      alive: [],
      async poll(faults) {
        shop.faults = [...faults];
        await makeDueAfterJump(service.context);
        for (const source of await claimSources(service.context, 100)) {
          if (source.credentialId === connectionId) await pollSource(service.context, source);
        }
        await understand();
        shop.faults = [];
      },
    };
  }

  async function understand(): Promise<void> {
    await Promise.all(await turns.inbox(service.context, how));
  }

  function beginShop(style: ShopStyle, skewSeconds: number, deepest = Infinity): void {
    shop.reset();
    shop.style = style;
    if (style.order === 'ascending' && style.paging !== 'cursor') shop.deepest = deepest;
    shop.setClock(() => clock.now() - aheadMs + skewSeconds * SECOND);
    for (let n = 0; n < 5; n++) shop.create(0);
  }

  /**
   * Connects to a shop. `ageMs` is the age of its orders when collecting begins, and `dateAheadMs` moves its
   * Date header.
   */
  async function begin(
    style: ShopStyle,
    skewSeconds: number,
    { ageMs = 2 * SECOND, dateAheadMs = 0, downFor = 0, deepest = Infinity } = {},
  ): Promise<Run> {
    beginShop(style, skewSeconds, deepest);
    clock.advance(ageMs);
    shop.dateAheadMs = dateAheadMs;
    const connectorId = shopConnector(style).id;
    const made = await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId, data: { token: 'x', origin: shop.url } },
    });
    const connectionId = await separate(service, made.text('credentialId'));
    const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
      body: {
        address: 'https://127.0.0.1:9/never',
        scope: 'commerce/orders',
        events: ['created', 'updated', 'deleted'],
      },
    });
    if (subscribed.status !== 201) throw new Error(JSON.stringify(subscribed.body));
    await Promise.all(await turns.shortJobs(service.context, how));
    const run = newRun(connectionId);
    for (let polls = 0; polls < downFor; polls++) {
      await run.poll([500]);
      clock.advance(70 * MINUTE);
      create(run, 0);
    }
    await run.poll([]);
    clock.advance(2 * SECOND);
    return run;
  }

  async function end({ connectionId }: Run): Promise<void> {
    const gone = await service.call('DELETE', `/users/${userId}/credentials/${connectionId}`, {
      headers: { 'x-svc-userid': userId },
    });
    if (gone.status !== 200) throw new Error(JSON.stringify(gone.body));
  }

  /**
   * A simple poller for comparison: it asks for records newer than the newest one, without overlap or memory.
   */
  function watermarkPoller() {
    const published: number[] = [];
    let watermark = 0;
    return {
      published,
      async poll(faults: Shop['faults']): Promise<void> {
        shop.faults = [...faults];
        const since = new Date(watermark).toISOString();
        for (let offset = 0, page = 1, after = ''; ; offset += 3, page += 1) {
          const query = new URLSearchParams({ since, offset: `${offset}`, page: `${page}`, limit: '3' });
          if (after !== '') query.set('after', after);
          const answer = await fetch(`${shop.url}/orders?${query}`).catch(() => undefined);
          if (!answer?.ok) break;
          const read = listAnswer.parse(await answer.json());
          for (const order of read.orders) {
            const at = Date.parse(order.updated_at);
            if (at <= watermark) continue;
            if (order.created_at === order.updated_at) published.push(order.id);
            watermark = Math.max(watermark, at);
          }
          if (!read.more) break;
          after = read.next ?? '';
        }
        shop.faults = [];
      },
    };
  }

  function create(run: Run, lateMs: number): void {
    const id = shop.create(lateMs);
    run.expected.add(id);
    run.alive.push(id);
  }

  async function take(run: Run, one: Step): Promise<void> {
    switch (one.kind) {
      case 'create':
        create(run, one.lateSeconds * SECOND);
        return;
      case 'burst':
        for (let n = 0; n < BURST; n++) {
          create(run, 0);
          if (n % 10 === 0) clock.advance(2 * SECOND);
        }
        return;
      case 'update': {
        const id = run.alive[one.pick % Math.max(1, run.alive.length)];
        if (id !== undefined) shop.update(id);
        return;
      }
      case 'remove':
        // Removing an older order shifts the pages of the others.
        shop.remove((one.pick % 5) + 1);
        return;
      case 'shift':
        shop.between = () => {
          const id = run.alive[one.pick % Math.max(1, run.alive.length)];
          if (id !== undefined) shop.update(id);
          shop.remove((one.pick % 5) + 1);
        };
        return;
      case 'wait':
        clock.advance(one.seconds * SECOND);
        return;
      case 'poll':
        clock.advance(5 * MINUTE);
        await run.poll(one.faults);
        return;
      case 'die':
        // A process that claimed the source was killed, so its lease must expire.
        clock.advance(5 * MINUTE);
        await claimSources(service.context, 100);
        clock.advance(6 * MINUTE);
        return;
      case 'announce':
        await shop.announce(one.pick, one.again);
        if (!one.later) await understand();
        return;
      case 'away':
        clock.advance(one.days * DAY);
        await forget();
        return;
      case 'jump':
        aheadMs = one.hours * HOUR;
        clock.advance(aheadMs);
        if (one.dies) await claimSources(service.context, 100);
        else await run.poll([]);
        await forget();
        clock.advance(-aheadMs);
        aheadMs = 0;
    }
  }

  async function forget(): Promise<void> {
    await pruneJob(service.context).run({}, how.signal);
  }

  /** Lets time pass until all records are visible and polled. Sources with webhooks are polled once a day. */
  async function settle(run: Run): Promise<void> {
    for (let round = 0; round < 6; round++) {
      clock.advance(shop.style.hooks ? 14 * HOUR : 2 * HOUR);
      for (let more = 0; more < ROUNDS_OF_A_READING; more++) {
        await run.poll([]);
        clock.advance(SECOND);
      }
    }
  }

  async function publishedOf(connectionId: string): Promise<number[]> {
    const rows = await service.context.db
      .selectFrom('events')
      .innerJoin('sources', 'sources.source_id', 'events.source_id')
      .select('body')
      .where('sources.credential_id', '=', connectionId)
      .where('event', '=', 'created')
      .execute();
    return rows.map(({ body }) => Number(JSON.parse(body).remoteId)).toSorted((a, b) => a - b);
  }

  async function statusOf(connectionId: string): Promise<string | undefined> {
    const row = await service.context.db
      .selectFrom('sources')
      .select('status')
      .where('credential_id', '=', connectionId)
      .executeTakeFirst();
    return row?.status;
  }

  /** Runs all steps with a connection of its own, then lets time pass. */
  async function play(
    style: ShopStyle,
    skewSeconds: number,
    steps: readonly Step[],
    shopIs: { downFor?: number; deepest?: number } = {},
  ): Promise<Outcome> {
    const run = await begin(style, skewSeconds, shopIs);
    for (const one of steps) await take(run, one);
    await settle(run);
    const published = await publishedOf(run.connectionId);
    await end(run);
    return { published, expected: sorted(run.expected) };
  }

  /** Runs the same steps with the simple poller. */
  async function playWatermark(style: ShopStyle, steps: readonly Step[]): Promise<Outcome> {
    beginShop(style, 0);
    const naive = watermarkPoller();
    const run = { ...newRun(''), poll: naive.poll };
    await naive.poll([]);
    naive.published.length = 0;
    clock.advance(2 * SECOND);
    for (const one of steps) await take(run, one);
    await settle(run);
    return { published: sorted(naive.published), expected: sorted(run.expected) };
  }

  return {
    clock,
    shop,
    service,
    begin,
    take,
    settle,
    publishedOf,
    statusOf,
    play,
    playWatermark,
    async [Symbol.asyncDispose]() {
      await service.stop();
      await shop.close();
    },
  };
}

function sorted(ids: Iterable<number>): number[] {
  return [...ids].toSorted((a, b) => a - b);
}
