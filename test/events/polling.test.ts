import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { claimSources, resumeSources } from '../../src/events/sources.ts';
import { pollSource } from '../../src/events/poll.ts';
import { manualClock, type ManualClock } from '../support/clock.ts';
import { startService, type Service } from '../support/service.ts';
import { shopConnector, startShop, type Shop, type ShopStyle } from './adversary.ts';

/** `GATEHOUSE_POLL_RUNS=2000` is the whole proof. */
const RUNS = Number(process.env['GATEHOUSE_POLL_RUNS'] ?? 60);
const STYLES: ShopStyle[] = (['offset', 'page', 'cursor'] as const).flatMap((paging) =>
  (['none', 'ascending', 'descending'] as const).map((order) => ({ paging, order })),
);

type Step =
  | { kind: 'create'; lateSeconds: number }
  | { kind: 'update' | 'remove' | 'shift'; pick: number }
  | { kind: 'wait'; seconds: number }
  | { kind: 'poll'; faults: Shop['faults'] }
  | { kind: 'die' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('create'),
      lateSeconds: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 540 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('update', 'remove', 'shift'), pick: fc.nat(1000) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait'),
      seconds: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1200 })),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('poll'),
      faults: fc.array(fc.constantFrom<Shop['faults'][number]>('none', 'none', 429, 500, 'drop'), {
        maxLength: 3,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('die') }) },
);

const listAnswer = z.object({
  orders: z.array(z.object({ id: z.number(), created_at: z.string(), updated_at: z.string() })),
  more: z.boolean(),
  next: z.string().nullable(),
});

let service: Service;
let shop: Shop;
let clock: ManualClock;
let folder: string;
let userId: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-shops-'));
  for (const style of STYLES) {
    const { id, text } = shopConnector(style);
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), text);
  }
  clock = manualClock();
  shop = await startShop();
  service = await startService({
    clock,
    catalogFolder: folder,
    env: { GATEHOUSE_SANDBOX: '0', LOG_LEVEL: 'error' },
  });
  await service.context.sources.close();
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await shop.close();
  rmSync(folder, { recursive: true, force: true });
});

test('whatever a shop does, each of its orders is told once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...STYLES),
      fc.integer({ min: -10 * 60, max: 10 * 60 }),
      fc.array(step, { minLength: 5, maxLength: 40 }),
      async (style, skewSeconds, steps) => {
        const run = await begin(style, skewSeconds);
        for (const one of steps) await take(run, one);
        await settle(run);
        const told = await toldOf(run.connectionId);
        await end(run);
        expect(told).toEqual([...run.expected].sort((a, b) => a - b));
      },
    ),
    {
      numRuns: RUNS,
      ...(process.env['GATEHOUSE_POLL_SEED'] ? { seed: Number(process.env['GATEHOUSE_POLL_SEED']) } : {}),
    },
  );
}, 600_000);

test('a poller that keeps the largest time it saw fails that', async () => {
  const result = await fc.check(
    fc.asyncProperty(
      fc.constantFrom(...STYLES),
      fc.array(step, { minLength: 5, maxLength: 40 }),
      async (style, steps) => {
        beginShop(style, 0);
        const naive = watermarkPoller();
        const run = { ...newRun(''), poll: naive.poll };
        await naive.poll([]);
        naive.told.length = 0;
        clock.advance(2 * SECOND);
        for (const one of steps) await take(run, one);
        await settle(run);
        expect(naive.told.sort((a, b) => a - b)).toEqual([...run.expected].sort((a, b) => a - b));
      },
    ),
    { numRuns: 100, seed: 1 },
  );
  expect(result.failed).toBe(true);
});

describe('a source', () => {
  test('whose credential dies waits, and goes on where it stopped', async () => {
    const run = await begin({ paging: 'offset', order: 'ascending' }, 0);
    await run.poll([]);
    shop.faults = [];
    await service.context.db
      .updateTable('credentials')
      .set({ state: 'needs_reconnect', reason: 'It was refused.' })
      .where('credential_id', '=', run.connectionId)
      .execute();
    await take(run, { kind: 'create', lateSeconds: 0 });
    clock.advance(20 * MINUTE);
    await run.poll([]);
    expect(await statusOf(run.connectionId)).toBe('suspended');
    clock.advance(48 * 60 * MINUTE);
    await service.context.db
      .updateTable('credentials')
      .set({ state: 'active', reason: null })
      .where('credential_id', '=', run.connectionId)
      .execute();
    await resumeSources(service.context);
    await settle(run);
    expect(await toldOf(run.connectionId)).toEqual([...run.expected]);
  });
});

interface Run {
  connectionId: string;
  expected: Set<number>;
  alive: number[];
  poll(faults: Shop['faults']): Promise<void>;
}

function newRun(connectionId: string): Run {
  return {
    connectionId,
    expected: new Set(),
    alive: [],
    async poll(faults) {
      shop.faults = [...faults];
      for (const source of await claimSources(service.context, 100)) {
        if (source.credentialId === connectionId) await pollSource(service.context, source);
      }
      shop.faults = [];
    },
  };
}

function beginShop(style: ShopStyle, skewSeconds: number): void {
  shop.reset();
  shop.style = style;
  shop.setClock(() => clock.now() + skewSeconds * SECOND);
  for (let n = 0; n < 5; n++) shop.create(0);
}

async function begin(style: ShopStyle, skewSeconds: number): Promise<Run> {
  beginShop(style, skewSeconds);
  const connectorId = shopConnector(style).id;
  const made = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId, data: { token: 'x', origin: shop.url } },
  });
  const connectionId = made.text('credentialId');
  const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: {
      address: 'https://127.0.0.1:9/never',
      scope: 'commerce/orders',
      events: ['created', 'updated', 'deleted'],
    },
  });
  expect(subscribed.status).toBe(201);
  const run = newRun(connectionId);
  await run.poll([]);
  clock.advance(2 * SECOND);
  return run;
}

async function end({ connectionId }: Run): Promise<void> {
  const gone = await service.call('DELETE', `/users/${userId}/credentials/${connectionId}`, {
    headers: { 'x-svc-userid': userId },
  });
  expect(gone.status).toBe(200);
}

/** What many integrations do: ask for what is newer than the newest seen, without overlap or memory. */
function watermarkPoller() {
  const told: number[] = [];
  let watermark = 0;
  return {
    told,
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
          if (order.created_at === order.updated_at) told.push(order.id);
          watermark = Math.max(watermark, at);
        }
        if (!read.more) break;
        after = read.next ?? '';
      }
      shop.faults = [];
    },
  };
}

async function take(run: Run, one: Step): Promise<void> {
  switch (one.kind) {
    case 'create': {
      const id = shop.create(one.lateSeconds * SECOND);
      run.expected.add(id);
      run.alive.push(id);
      return;
    }
    case 'update': {
      const id = run.alive[one.pick % Math.max(1, run.alive.length)];
      if (id !== undefined) shop.update(id);
      return;
    }
    case 'remove':
      // One of those from before, which shifts the pages of the others.
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
      // A process that took the source and was killed: its lease has to run out.
      clock.advance(5 * MINUTE);
      await claimSources(service.context, 100);
      clock.advance(6 * MINUTE);
  }
}

/** Quiet time until everything has come to light and was polled. */
async function settle(run: Run): Promise<void> {
  for (let round = 0; round < 6; round++) {
    clock.advance(2 * 60 * MINUTE);
    await run.poll([]);
  }
}

async function toldOf(connectionId: string): Promise<number[]> {
  const rows = await service.context.db
    .selectFrom('events')
    .innerJoin('sources', 'sources.source_id', 'events.source_id')
    .select('body')
    .where('sources.credential_id', '=', connectionId)
    .where('event', '=', 'created')
    .execute();
  return rows.map(({ body }) => Number(JSON.parse(body).remoteId)).sort((a, b) => a - b);
}

async function statusOf(connectionId: string): Promise<string | undefined> {
  const row = await service.context.db
    .selectFrom('sources')
    .select('status')
    .where('credential_id', '=', connectionId)
    .executeTakeFirst();
  return row?.status;
}
