import { expect, test } from 'vitest';
import { createClockJumps } from '../../src/sources/clock-jumps.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { openApp } from './app.ts';

test.each(STORE_KINDS)(
  'webhooks from while our clock was ahead come in order once it is back (%s)',
  async (kind) => {
    await using app = await openApp(kind);
    const { clock } = app;
    const connectionId = await app.connect('naming');
    await app.subscribe(connectionId);
    await app.look();
    await app.look('jobs');
    const working = app.instead;
    // This is older than the records that polls list.
    app.orders = ['failed', 'o3', 'o2', 'o1'].map((id) => app.order(id, clock.now() - 30 * DAY));

    clock.advance(20 * DAY);
    app.instead = (_url, res) => {
      app.send(res, 503, {});
      return true;
    };
    await app.announce('made', { id: 'failed' });
    await app.look('inbox');
    for (const id of ['o1', 'o2', 'o3', 'none']) {
      clock.advance(SECOND);
      await app.announce('made', { id });
    }
    clock.advance(MINUTE - 20 * DAY);
    app.instead = working;
    app.clearCalls();
    await app.look();
    await app.look('inbox');
    const asked = app.calls.filter((call) => call.startsWith('GET /orders/'));
    // A webhook that failed before comes after the others.
    expect(asked).toEqual(['o1', 'o2', 'o3', 'none', 'failed'].map((id) => `GET /orders/${id}`));
    const published = await app.published(connectionId);
    expect(published.toSorted()).toEqual(['failed', 'o1', 'o2', 'o3'].map((id) => `created ${id}`));
    for (let n = 0; n < 60; n++) {
      clock.advance(MINUTE);
      await app.look();
      await app.look('inbox');
    }
    // Its record is asked for as long as any missing record.
    expect(app.calls.filter((call) => call === 'GET /orders/none').length).toBeLessThan(5);
  },
);

test('a webhook with an ordinary wait is not made due', async () => {
  await using app = await openApp();
  const { clock, order } = app;
  const connectionId = await app.connect('naming');
  await app.subscribe(connectionId);
  await app.look();
  await app.look('jobs');
  app.instead = (_url, res) => {
    app.send(res, 503, {});
    return true;
  };
  await app.announce('made', order('o1'));
  clock.advance(HOUR);
  await app.look('inbox');
  app.clearCalls();
  clock.advance(MINUTE);
  await createClockJumps()(app.service.context);
  await app.look('inbox');
  expect(app.calls).toEqual([]);
});

test('a record deleted while our clock was ahead is published when it exists again', async () => {
  await using app = await openApp();
  const { clock } = app;
  const connectionId = await app.connect('numbered');
  const order = app.order('o1', clock.now() - DAY);
  app.orders = [order];
  await app.subscribe(connectionId);
  await app.look();
  await app.look('jobs');
  await app.look();
  clock.advance(20 * DAY);
  await app.announce('gone', order);
  await app.look('inbox');
  clock.advance(HOUR - 20 * DAY);
  app.orders = [{ ...order, updated_at: new Date(clock.now()).toISOString() }];
  for (let day = 0; day < 2; day++) {
    clock.advance(1.2 * DAY);
    await app.look();
  }
  // The order is by id, and each id contains a time.
  expect((await app.published(connectionId)).toSorted()).toEqual(['deleted o1', 'updated o1']);
});
