import { expect, test } from 'vitest';
import { pruneJob } from '../../src/sources/prune.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { openApp } from './app.ts';

/* Apps that reject polls, and accounts that continue once they work again. */

test('a credential that is refused with any token is marked, not renewed for ever', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.listen('renewed', {
    data: { clientId: 'a', clientSecret: 'b' },
    polled: true,
  });
  app.refuseAccount(401);
  clock.advance(10 * MINUTE);
  app.clearCalls();
  for (let second = 0; second < 20; second++) {
    await app.look('polls');
    clock.advance(SECOND);
  }
  expect(app.calls.filter((call) => call.endsWith('/token')).length).toBeLessThan(3);
  const { state } = await app.service.context.db
    .selectFrom('credentials')
    .select('state')
    .where('credential_id', '=', connectionId)
    .executeTakeFirstOrThrow();
  expect([state, (await app.source(connectionId)).status]).toEqual(['needs_reconnect', 'suspended']);
});

test('an app whose Retry-After is a year is polled after an hour', async () => {
  await using app = await openApp();
  const connectionId = await app.listen('numbered', { polled: true });
  app.instead = (_url, res) => {
    app.send(res, 429, {}, { 'retry-after': '31536000' });
    return true;
  };
  await app.polls(connectionId, 1, 10 * MINUTE);
  const waitMs = (await app.source(connectionId)).next_poll_at - app.clock.now();
  expect(waitMs).toBeGreaterThanOrEqual(HOUR);
  expect(waitMs).toBeLessThan(1.5 * HOUR);
});

test('an account that was reconnected late publishes nothing twice', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const { context } = app.service;
  const connectionId = await app.listen('numbered', { polled: true });
  for (let n = 0; n < 5; n++) {
    app.orders.push(order(`o${n}`, clock.now() + MINUTE));
    await app.polls(connectionId, 1, 10 * MINUTE);
  }
  await app.polls(connectionId, 2, 10 * MINUTE);
  const before = await app.published(connectionId);
  expect(before).toHaveLength(5);
  const set = (state: 'needs_reconnect' | 'active') =>
    context.db
      .updateTable('credentials')
      .set({ state, updated_at: clock.now() })
      .where('credential_id', '=', connectionId)
      .execute();
  await set('needs_reconnect');
  await app.polls(connectionId, 1, 20 * MINUTE);
  for (let day = 0; day < 40; day++) {
    clock.advance(DAY);
    await pruneJob(context).run({}, new AbortController().signal);
  }
  await set('active');
  await app.look('polls');
  await app.polls(connectionId, 2, 10 * MINUTE);
  expect(await app.published(connectionId)).toEqual(before);
});

test('a source resumes after reconnecting, even with a new subscription at that moment', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  app.refuseAccount(401);
  clock.advance(10 * MINUTE);
  await app.look();
  expect((await app.source(connectionId)).status).toBe('suspended');
  app.recover();
  clock.advance(MINUTE);
  expect((await app.replaceKey(connectionId, 'y')).status).toBe(200);
  await app.subscribe(connectionId, ['created'], { address: 'https://127.0.0.1:9/second' });
  app.orders = [order('o1')];
  await app.look();
  expect(await app.published(connectionId)).toEqual(['created o1']);
});

test('a poll refused after its account was reconnected fails without suspending', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.listen('numbered', { polled: true });
  const held = app.hold('/orders');
  clock.advance(10 * MINUTE);
  const polling = app.poll(connectionId);
  await held.asked;
  expect((await app.replaceKey(connectionId, 'y')).status).toBe(200);
  clock.advance(SECOND);
  await held.answer(401, {});
  await polling;
  expect(await app.source(connectionId)).toMatchObject({ status: 'active', failures: 1 });
  app.orders = [order('o1')];
  await app.polls(connectionId, 1, 5 * MINUTE);
  expect(await app.published(connectionId)).toEqual(['created o1']);
});

test('an app that keeps refusing a later page is polled less often after each failure', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.listen('sequential', { polled: true });
  clock.advance(HOUR);
  app.orders = Array.from({ length: 9 }, (_, n) => app.order(`o${n}`, clock.now() - 40 * MINUTE + n));
  app.instead = (url, res) => {
    if (url.searchParams.get('after') !== '6') return false;
    app.send(res, 400, { message: 'Not beyond the sixth.' });
    return true;
  };
  app.clearCalls();
  // The sixth refusal comes after 31 minutes and the seventh after 63, each a tenth earlier or later.
  await app.polls(connectionId, 540, 5 * SECOND);
  expect(app.calls.length).toBeLessThan(100);
  expect(await app.source(connectionId)).toMatchObject({
    failures: 6,
    reason: expect.stringContaining('HTTP 400'),
  });
  expect(await app.published(connectionId)).toHaveLength(6);
  app.recover();
  await app.polls(connectionId, 1, HOUR + 10 * MINUTE);
  await app.polls(connectionId, 1, 2 * HOUR);
  expect(await app.published(connectionId)).toHaveLength(9);
  expect(await app.source(connectionId)).toMatchObject({ failures: 0, reason: null });
});
