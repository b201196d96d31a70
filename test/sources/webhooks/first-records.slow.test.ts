import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DAY, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { STORE_KINDS } from '../../support/stores.ts';
import { openApp, type ConnectorName, type TestedApp } from '../app.ts';

/*
 * Webhooks of the first moments of a source: the first listing may store a record before its webhook is handled.
 * The loops of these services turn when a test calls them.
 */

describe.each(STORE_KINDS)('first records on %s', (kind) => {
  let app: TestedApp;

  beforeEach(async () => {
    app = await openApp(kind);
  });
  afterEach(() => app[Symbol.asyncDispose]());

  /** Connects, subscribes and registers webhooks, without a poll. */
  async function register(connectorId: ConnectorName, more = {}): Promise<string> {
    const connectionId = await app.connect(connectorId);
    await app.subscribe(connectionId, ['created', 'updated'], more);
    await app.look('jobs');
    return connectionId;
  }

  test('an accepted webhook is published after a poll that listed its record', async () => {
    const connectionId = await register('telling');
    app.orders = [app.order('1', app.clock.now() - 10 * MINUTE)];
    // The webhook names its record, so it waits until the loop reads the record.
    expect(await app.announce('made', { id: '1' })).toBe(200);
    await app.poll(connectionId);
    expect(await app.published(connectionId)).toEqual([]);
    await app.look('inbox');
    expect(await app.published(connectionId)).toEqual(['created 1']);
  });

  test('an accepted webhook that waits for another transaction is published', async () => {
    const connectionId = await register('numbered');
    const { db } = app.service.context;
    const order = app.order('1', app.clock.now() - 10 * MINUTE);
    app.orders = [order];
    const statuses: number[] = [];
    // On PostgreSQL the webhook finds the row locked, as by a poll, and is stored. SQLite lets it wait.
    await db.transaction().execute(async (tx) => {
      await tx
        .updateTable('sources')
        .set({ updated_at: app.clock.now() })
        .where('credential_id', '=', connectionId)
        .execute();
      const said = app.announce('made', order).then((status) => statuses.push(status));
      if (kind === 'postgres') await said;
    });
    await app.poll(connectionId);
    await app.look('inbox');
    await expect.poll(() => statuses).toEqual([200]);
    expect(await app.published(connectionId)).toEqual(['created 1']);
  });

  test('a webhook of a record from before the first listing is published once', async () => {
    const connectionId = await register('numbered');
    const order = app.order('1', app.clock.now() - 10 * MINUTE);
    app.orders = [order];
    await app.poll(connectionId);
    expect(await app.announce('made', order)).toBe(200);
    expect(await app.announce('made', { ...order, total: '2.00' })).toBe(200);
    expect(await app.published(connectionId)).toEqual(['created 1']);
    app.clock.advance(DAY + MINUTE);
    await app.poll(connectionId);
    expect(await app.published(connectionId)).toEqual(['created 1']);
  });

  test('an update that the first listing stored is published once its webhook arrives', async () => {
    const connectionId = await register('numbered');
    const began = app.clock.now() - 10 * MINUTE;
    const order = app.order('1', began, { updated_at: new Date(began + MINUTE).toISOString() });
    app.orders = [order];
    await app.poll(connectionId);
    expect(await app.announce('changed', order)).toBe(200);
    expect(await app.published(connectionId)).toEqual(['updated 1']);
    app.clock.advance(DAY + MINUTE);
    await app.poll(connectionId);
    expect(await app.published(connectionId)).toEqual(['updated 1']);
  });

  test('a webhook with an earlier state than the listed one is followed by an update', async () => {
    const connectionId = await register('numbered');
    const made = app.order('1', app.clock.now() - 5 * MINUTE, { total: '1.00' });
    app.orders = [
      { ...made, total: '2.00', updated_at: new Date(app.clock.now() - 4 * MINUTE).toISOString() },
    ];
    await app.poll(connectionId);
    expect(await app.announce('made', made)).toBe(200);
    expect(await app.published(connectionId)).toEqual(['created 1']);
    app.clock.advance(2 * MINUTE);
    await app.poll(connectionId);
    expect(await app.events(connectionId)).toMatchObject([{ totalPrice: '1.00' }, { totalPrice: '2.00' }]);
  });

  test('a record that a backfill delivers is not delivered again by its webhook', async () => {
    const connectionId = await register('numbered', { backfill: true });
    const order = app.order('1', app.clock.now() - 10 * MINUTE);
    app.orders = [order];
    await app.poll(connectionId);
    app.clock.advance(MINUTE);
    await app.look('jobs');
    expect(await app.announce('made', order)).toBe(200);
    const { db } = app.service.context;
    const sent = await db.selectFrom('deliveries').select('marks').execute();
    expect(sent).toEqual([{ marks: '{"x-svc-backfill":"only"}' }]);
  });

  test('a record of the second of the subscription is published by the first listing', async () => {
    const connectionId = await register('numbered');
    // The app's Date header, and the times of its records, have whole seconds.
    app.clock.advance(SECOND - (app.clock.now() % SECOND) + 900);
    const later = await app.connect('sequential');
    await app.subscribe(later, ['created']);
    app.clock.advance(50);
    const second = Math.floor(app.clock.now() / SECOND) * SECOND;
    app.orders = [app.order('1', second), app.order('old', second - 3 * SECOND)];
    await app.poll(later);
    expect(await app.published(later)).toEqual(['created 1']);
    expect(await app.published(connectionId)).toEqual([]);
  });
});
