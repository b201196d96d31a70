import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { until } from '../../support/until.ts';
import { openApp } from '../app.ts';

/* Webhooks that name a record which cannot be read now. */

/** Starts an app that sends webhooks about orders, and answers reads as the test says. */
async function openWebhookApp() {
  const app = await openApp();
  const connectionId = await app.listen('telling');
  const { context } = app.service;
  const { db } = context;
  const credential = () => db.updateTable('credentials').where('credential_id', '=', connectionId);
  const teller = {
    app,
    connectionId,
    /** Answer to a read of an order: the order, an error status, or none. */
    answers: 'well' as 'well' | 'never' | 401 | 403 | 404 | 500,
    /** Ids whose reads always get 500. */
    broken: new Set<string>(),
    /** Ids that were read. */
    asked: [] as string[],
    async send(what: 'made' | 'told' | 'hinted', order: object = {}): Promise<void> {
      expect(await app.announce(what, order)).toBe(200);
    },
    async look(signal = new AbortController().signal): Promise<void> {
      await Promise.all(await app.turns.inbox(context, { signal, freeSlots: 100 }));
    },
    /** Lets time pass, and processes due webhooks after each step. */
    async pass(ms: number, everyMs: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += everyMs) {
        await teller.look();
        app.clock.advance(everyMs);
      }
    },
    setState: (state: 'active' | 'needs_reconnect') => credential().set({ state }).execute(),
    async state(): Promise<string> {
      const row = await db
        .selectFrom('credentials')
        .select('state')
        .where('credential_id', '=', connectionId)
        .executeTakeFirstOrThrow();
      return row.state;
    },
    /** Returns the attempts of each waiting webhook. */
    async waiting(): Promise<number[]> {
      const rows = await db
        .selectFrom('inbox')
        .select('attempts')
        .where('processed_at', 'is', null)
        .execute();
      return rows.map(({ attempts }) => attempts);
    },
    async published(): Promise<string[]> {
      return (await app.published(connectionId)).map((one) => one.replace('created ', '')).toSorted();
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
  app.instead = ({ pathname }, res) => {
    const id = /^\/orders\/(.+)$/.exec(pathname)?.[1];
    if (id === undefined) {
      // A refused account fails its probe too.
      if (teller.answers === 401) app.send(res, 401, {});
      return teller.answers === 401;
    }
    teller.asked.push(id);
    if (teller.answers === 'never') return true;
    const status = teller.answers === 'well' ? 200 : teller.answers;
    app.send(res, teller.broken.has(id) ? 500 : status, { id });
    return true;
  };
  return teller;
}

test('a webhook waits without a call until its account is reconnected', async () => {
  await using teller = await openWebhookApp();
  await teller.setState('needs_reconnect');
  await teller.send('made', { id: 'ord_1' });
  await teller.send('told', { id: 'ord_2' });
  await teller.pass(48 * HOUR, HOUR);
  expect([teller.asked, await teller.waiting(), await teller.published()]).toEqual([[], [0], ['ord_2']]);
  await teller.setState('active');
  await teller.look();
  expect(await teller.published()).toEqual(['ord_1', 'ord_2']);
});

test('an account that is refused when a record is read must be reconnected', async () => {
  await using teller = await openWebhookApp();
  teller.answers = 401;
  await teller.send('made', { id: 'ord_1' });
  await teller.pass(24 * HOUR, HOUR);
  expect([teller.asked, await teller.waiting(), await teller.state()]).toEqual([
    ['ord_1'],
    [0],
    'needs_reconnect',
  ]);
  teller.answers = 'well';
  await teller.setState('active');
  await teller.look();
  expect(await teller.published()).toEqual(['ord_1']);
});

test.each([500, 'never'] as const)(
  'an app that answers %s is called once for all waiting webhooks',
  async (how) => {
    await using teller = await openWebhookApp();
    teller.answers = how;
    const ids = Array.from({ length: 60 }, (_, n) => `ord_${n}`);
    for (const id of ids) await teller.send('made', { id });
    await teller.send('told', { id: 'whole' });
    await teller.look();
    expect([teller.asked.length, await teller.published()]).toEqual([1, ['whole']]);
    expect(await teller.waiting()).toEqual(ids.map(() => 0));
    teller.answers = 'well';
    teller.app.clock.advance(MINUTE);
    await teller.look();
    expect(await teller.published()).toEqual([...ids, 'whole'].toSorted());
  },
);

test('webhooks that wait for an app that is down are postponed unread', async () => {
  await using teller = await openWebhookApp();
  const { db } = teller.app.service.context;
  teller.answers = 500;
  // This is more than one batch.
  for (let n = 0; n < 50; n++) await teller.send('made', { id: `ord_${n}` });
  teller.app.clock.advance(1);
  await teller.send('made', { id: 'unread' });
  await db.updateTable('inbox').set({ body: 'no JSON' }).where('body', 'like', '%unread%').execute();
  await teller.look();
  expect(new Set(await teller.waiting())).toEqual(new Set([0]));
  await teller.look();
  expect(teller.asked).toHaveLength(1);
});

test('webhooks outlive an outage of days, and are published within an hour of its end', async () => {
  await using teller = await openWebhookApp();
  teller.answers = 500;
  await teller.send('made', { id: 'ord_1' });
  await teller.send('made', { id: 'ord_2' });
  await teller.pass(72 * HOUR, HOUR);
  teller.answers = 'well';
  await teller.pass(60 * MINUTE, MINUTE);
  expect(await teller.published()).toEqual(['ord_1', 'ord_2']);
});

test('records on which the app always fails delay no others', async () => {
  await using teller = await openWebhookApp();
  const ids = Array.from({ length: 40 }, (_, n) => `broken_${n}`);
  teller.broken = new Set(ids);
  for (const id of ids) await teller.send('made', { id });
  await teller.pass(60 * MINUTE, MINUTE);
  teller.asked = [];
  for (const id of ['ord_1', 'ord_2']) await teller.send('made', { id });
  await teller.look();
  expect([teller.asked.slice(0, 2), await teller.published()]).toEqual([
    ['ord_1', 'ord_2'],
    ['ord_1', 'ord_2'],
  ]);
});

test('a webhook whose record fails for over a week is given up, after retries', async () => {
  await using teller = await openWebhookApp();
  teller.broken = new Set(['broken']);
  await teller.send('made', { id: 'broken' });
  teller.app.clock.advance(8 * DAY);
  await teller.look();
  expect(await teller.waiting()).toEqual([1]);
  for (let hours = 0; hours < 12; hours++) {
    teller.app.clock.advance(HOUR);
    await teller.look();
  }
  expect(await teller.waiting()).toEqual([]);
});

test('a webhook that is given up is reported to the operator, and may come again', async () => {
  await using teller = await openWebhookApp();
  await teller.app.service.call('PUT', '/api/settings', {
    body: { eventsAddress: 'https://127.0.0.1:9/operator' },
  });
  const nameless = { total: '1.00' };
  await teller.send('told', nameless);
  for (let hours = 0; hours < 12; hours++) {
    await teller.send('told', nameless);
    await teller.look();
    teller.app.clock.advance(HOUR);
  }
  expect(await teller.waiting()).toEqual([]);
  const { connectionId } = teller;
  expect(await teller.app.warnings()).toMatchObject([
    { connectionId, reason: 'A webhook was given up: The webhook names no record.' },
  ]);
  expect(teller.app.service.logged.filter((line) => line.includes('given up'))).toHaveLength(1);
  await teller.send('told', nameless);
  expect(await teller.waiting()).toEqual([0]);
});

test('a record that the app shows only after its webhook is published', async () => {
  await using teller = await openWebhookApp();
  teller.answers = 404;
  await teller.send('made', { id: 'ord_1' });
  await teller.look();
  teller.answers = 'well';
  teller.app.clock.advance(15 * SECOND);
  await teller.look();
  expect(await teller.published()).toEqual(['ord_1']);
});

test('a missing record is read a few times only', async () => {
  await using teller = await openWebhookApp();
  teller.answers = 404;
  await teller.send('made', { id: 'ord_1' });
  await teller.pass(10 * MINUTE, 10 * SECOND);
  expect([teller.asked, await teller.waiting(), await teller.published()]).toEqual([
    Array(4).fill('ord_1'),
    [],
    [],
  ]);
});

test('a webhook without a record causes two polls within two minutes', async () => {
  await using teller = await openWebhookApp();
  const polls: number[] = [];
  const began = teller.app.clock.now();
  await teller.send('hinted');
  for (let seconds = 0; seconds < 600; seconds += 10) {
    await teller.look();
    if ((await teller.app.look()) > 0) polls.push((teller.app.clock.now() - began) / SECOND);
    teller.app.clock.advance(10 * SECOND);
  }
  expect([polls, await teller.waiting()]).toEqual([[0, 90], []]);
});

test('webhooks wait while their connector is missing', async () => {
  await using teller = await openWebhookApp();
  const { context } = teller.app.service;
  const { catalog } = context;
  // The webhook holds only the id of its record. One with the record is published at once.
  await teller.send('made', { id: 'ord_1' });
  Object.assign(context, { catalog: { ...catalog, connector: () => undefined } });
  try {
    await teller.pass(24 * HOUR, HOUR);
  } finally {
    Object.assign(context, { catalog });
  }
  expect(await teller.waiting()).toEqual([0]);
  await teller.look();
  expect(await teller.published()).toEqual(['ord_1']);
});

test('a record that the app refuses delays no other', async () => {
  await using teller = await openWebhookApp();
  teller.answers = 403;
  await teller.send('made', { id: 'ord_1' });
  await teller.send('made', { id: 'ord_2' });
  await teller.look();
  expect(teller.asked).toEqual(['ord_1', 'ord_2']);
});

test('a read that is aborted by the end of the process counts as no attempt', async () => {
  await using teller = await openWebhookApp();
  teller.answers = 'never';
  await teller.send('made', { id: 'ord_1' });
  const stop = new AbortController();
  const looked = teller.look(stop.signal);
  await until(() => teller.asked.length === 1);
  stop.abort();
  await looked;
  expect(await teller.waiting()).toEqual([0]);
  // A timeout of the app would postpone the webhook for a minute.
  teller.answers = 'well';
  await teller.look();
  expect(await teller.published()).toEqual(['ord_1']);
});

test('long webhooks are published one by one, before later ones are read', async () => {
  await using teller = await openWebhookApp();
  teller.answers = 'never';
  for (const id of ['long_1', 'long_2']) await teller.send('told', { id, note: '[],'.repeat(100_000) });
  await teller.send('made', { id: 'ord_1' });
  const stop = new AbortController();
  const looked = teller.look(stop.signal);
  await until(() => teller.asked.length === 1);
  const before = await teller.published();
  stop.abort();
  await looked;
  expect(before).toEqual(['long_1', 'long_2']);
});

test('a new consumer receives no webhooks from before it subscribed', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.connect('naming');
  const first = await app.subscribe(connectionId, ['created']);
  await app.look('jobs');
  await app.look();
  clock.advance(MINUTE);
  app.orders = [app.order('5')];
  // While the app is down, its webhooks wait, and so does the removal of registrations.
  expect(await app.announce('made', app.order('5'))).toBe(200);
  app.instead = (_url, res) => {
    app.send(res, 503, {});
    return true;
  };
  await app.look('inbox');
  await app.service.call('DELETE', `/webhooks/${first}`);
  await app.look('jobs');
  clock.advance(HOUR);
  await app.subscribe(connectionId, ['created']);
  app.recover();
  for (let n = 0; n < 4; n++) {
    for (const what of ['jobs', 'polls', 'inbox'] as const) await app.look(what);
    clock.advance(HOUR);
  }
  expect(await app.published(connectionId)).toEqual([]);
});
