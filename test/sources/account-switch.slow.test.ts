import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { claimSources } from '../../src/sources/due-sources.ts';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { openApp, type TestedApp } from './app.ts';

/* No process works on a source while the records of the previous account are pruned. */

test('a claim during an account switch returns no source of it, on postgres', async () => {
  await using app = await openApp('postgres');
  const { context } = app.service;
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId, ['created']);
  app.orders = [app.order('1', app.clock.now() + MINUTE)];
  await app.look();
  app.clock.advance(HOUR);
  const { claiming } = await context.db.transaction().execute(async (tx) => {
    await context.accountChanges.other(tx, connectionId);
    const looking = claimSources(context, 10);
    await waitsForLock(app);
    return { claiming: looking };
  });
  expect(await claiming).toEqual([]);
  await app.look('jobs');
  expect(await context.db.selectFrom('seen').select('key').execute()).toEqual([]);
});

test.each(STORE_KINDS)(
  'a new consumer after an account switch receives only the new account, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const { connectionId, subscriptionId } = await begin(app);
    // A webhook and the registrations wait, because the app is down when its last consumer goes.
    outage(app);
    expect(await app.announce('made', { id: '2' })).toBe(200);
    await app.look('inbox');
    await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
    await app.look('jobs');
    expect((await app.source(connectionId)).status).toBe('ending');
    await switchAccount(app, connectionId);
    app.orders = [app.order('2', app.clock.now() - 700 * DAY)];
    await app.subscribe(connectionId, ['created']);
    await settle(app);
    expect(await app.published(connectionId)).toEqual(['created 1']);
    await announceFirst(app);
    expect(await app.published(connectionId)).toEqual(['created 1', 'created 1']);
  },
);

test.each(STORE_KINDS)(
  'the previous account is pruned after a moment without consumers, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const { connectionId, subscriptionId } = await begin(app);
    await switchAccount(app, connectionId);
    await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
    await app.subscribe(connectionId, ['created']);
    await settle(app);
    await announceFirst(app);
    expect(await app.published(connectionId)).toEqual(['created 1', 'created 1']);
  },
);

test('an inventory from before an account switch stores nothing of the old account', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  app.orders = [app.order('1')];
  const subscriptionId = await app.subscribe(connectionId);
  await app.look();
  let answer: (() => void) | undefined;
  app.instead = (url, res) => {
    if (answer || url.pathname !== '/orders') return false;
    answer = () => app.send(res, 200, { orders: [app.order('1')], more: false });
    return true;
  };
  const reading = app.look('jobs');
  await expect.poll(() => answer !== undefined).toBe(true);
  await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
  await switchAccount(app, connectionId);
  await app.subscribe(connectionId);
  // This prunes the keys of the previous account.
  await app.look('jobs');
  answer?.();
  await reading;
  const seen = await app.service.context.db.selectFrom('seen').select('key').execute();
  expect(seen).toEqual([]);
});

test.each(STORE_KINDS)(
  'webhooks are registered after pruning, so their events come once, on %s',
  async (kind) => {
    await using app = await openApp(kind);
    const { connectionId } = await begin(app);
    app.clock.advance(DAY);
    await switchAccount(app, connectionId);
    app.dropHooks();
    // The daily check of registrations is due, and comes first.
    const { context } = app.service;
    await context.db
      .updateTable('jobs')
      .set({ next_at: app.clock.now() + 1 })
      .where('kind', '=', 'anew')
      .execute();
    await app.look('jobs');
    expect(app.hooks).toEqual([]);
    app.clock.advance(MINUTE);
    await app.look('jobs');
    await app.look('jobs');
    await announceFirst(app);
    await settle(app);
    expect(await app.published(connectionId)).toEqual(['created 1', 'created 1']);
  },
);

test('a webhook stored during an account switch publishes nothing, on postgres', async () => {
  await using app = await openApp('postgres');
  const { db } = app.service.context;
  const { connectionId } = await begin(app);
  await sql`create function wait_for_test() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock(1); return new; end $$`.execute(db);
  await sql`create trigger slow before insert on inbox for each row execute function wait_for_test()`.execute(
    db,
  );
  const { announcing } = await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(1)`.execute(tx);
    const stored = app.announce('made', { id: '2' });
    await waitsForLock(app);
    await switchAccount(app, connectionId);
    return { announcing: stored };
  });
  expect(await announcing).toBe(200);
  app.orders = [app.order('2')];
  await app.look('inbox');
  expect(await app.published(connectionId)).toEqual(['created 1']);
  await settle(app);
  expect(await db.selectFrom('inbox').select('inbox_id').execute()).toEqual([]);
});

/** Connects the first account and publishes its order 1. */
async function begin(app: TestedApp): Promise<{ connectionId: string; subscriptionId: string }> {
  const connectionId = await app.connect('naming');
  const subscriptionId = await app.subscribe(connectionId, ['created']);
  await app.look();
  await app.look('jobs');
  await announceFirst(app);
  expect(await app.published(connectionId)).toEqual(['created 1']);
  return { connectionId, subscriptionId };
}

/** Announces order 1 of the account that is connected now. */
async function announceFirst(app: TestedApp): Promise<void> {
  const order = app.order('1');
  app.orders = [order];
  expect(await app.announce('made', order)).toBe(200);
  await app.look('inbox');
}

function outage(app: TestedApp): void {
  app.instead = (_url, res) => {
    app.send(res, 503, {});
    return true;
  };
}

/** Replaces the key by one of another account, which has no orders and answers. */
async function switchAccount(app: TestedApp, connectionId: string): Promise<void> {
  app.account = 'acct_2';
  app.orders = [];
  app.instead = () => false;
  expect((await app.replaceKey(connectionId, 'y')).at('account.id')).toBe('acct_2');
}

/** Runs all work that is due in the next hours. */
async function settle(app: TestedApp): Promise<void> {
  for (let hour = 0; hour < 3; hour++) {
    await app.look('jobs');
    await app.look();
    await app.look('inbox');
    app.clock.advance(HOUR);
  }
}

/** Waits until one connection waits for a lock. */
async function waitsForLock({ service }: TestedApp): Promise<void> {
  const waiting = sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await waiting.execute(service.context.db)).rows.length).toBe(1);
}
