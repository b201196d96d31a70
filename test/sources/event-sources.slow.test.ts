import { afterEach, describe, expect, test } from 'vitest';
import { listenUntil, readListenOptions } from '../../src/cli/listen.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { connectorFile, openApp, type TestedApp } from './app.ts';
import { connectListener, polled } from '../support/polls.ts';
import { startReceiver } from '../support/receiver.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { until } from '../support/until.ts';

/* Event sources of an app's own, from the connector file to the subscriber. */

/** Longer than the longest interval of polls. */
const LATER_MS = 10 * MINUTE;
const LISTED = /sourced\/order\.placed, sourced\/row\.added/;
const ORDERS = 'sourced/order.placed';
const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

describe.each(STORE_KINDS)('event sources over %s', (kind) => {
  async function open(): Promise<TestedApp> {
    const app = await openApp(kind);
    closing.push(() => app[Symbol.asyncDispose]());
    return app;
  }

  test('a polled source delivers the record of the app itself', async () => {
    const app = await open();
    await using receiver = await startReceiver();
    const connectionId = await app.connect('sourced');
    app.orders = [app.order('old')];
    // The first poll publishes records of the seconds before it.
    app.clock.advance(MINUTE);
    const more = { scope: ORDERS, address: receiver.url };
    const subscriptionId = await app.subscribe(connectionId, ['created', 'updated', 'deleted'], more);
    await app.poll(connectionId);
    app.clock.advance(MINUTE);
    const order = app.order('o1', app.clock.now(), { total: '5.00' });
    app.orders.push(order);
    await app.polls(connectionId, 1, LATER_MS);
    const [first] = await receiver.arrived(1);
    expect(first?.headers).toMatchObject({ 'x-svc-scope': ORDERS, 'x-svc-event': 'created' });
    expect(JSON.parse(first?.body ?? '')).toEqual({
      id: expect.stringMatching(/^order_placed_/),
      remoteId: 'o1',
      createdAt: order.created_at,
      updatedAt: order.updated_at,
      raw: order,
    });
    order.updated_at = new Date(app.clock.now()).toISOString();
    await app.polls(connectionId, 1, LATER_MS);
    expect((await receiver.arrived(2))[1]?.headers['x-svc-event']).toBe('updated');
    app.orders = app.orders.filter(({ id }) => id !== 'o1');
    app.clock.advance(2 * DAY);
    await app.look('jobs');
    const gone = (await receiver.arrived(3))[2];
    expect(gone?.headers['x-svc-event']).toBe('deleted');
    expect(JSON.parse(gone?.body ?? '')).toMatchObject({ remoteId: 'o1' });
    const shown = await app.service.call('GET', `/webhooks/${subscriptionId}`);
    expect(shown.body).toMatchObject({ scope: ORDERS, source: 'polling' });
    const tested = await app.service.call('POST', `/webhooks/${subscriptionId}/test`);
    expect(tested.status).toBe(202);
    expect((await receiver.arrived(4))[3]?.headers['x-svc-event']).toBe('test');
  });

  test('a backfill and a recovery deliver records of an event source', async () => {
    const app = await open();
    await using receiver = await startReceiver();
    const connectionId = await app.connect('sourced');
    app.orders = [app.order('o1', app.clock.now() - DAY), app.order('o2', app.clock.now() - DAY)];
    const more = { scope: ORDERS, address: receiver.url, backfill: true };
    const subscriptionId = await app.subscribe(connectionId, ['created'], more);
    await app.poll(connectionId);
    app.clock.advance(MINUTE);
    await app.look('readings');
    const ids = (await receiver.arrived(2)).map(({ body }) => JSON.parse(body).remoteId);
    expect(ids).toEqual(['o1', 'o2']);
    await app.service.call('POST', `/webhooks/${subscriptionId}/enable`);
    const since = new Date(app.clock.now() - DAY).toISOString();
    const recovered = await app.service.call('POST', `/webhooks/${subscriptionId}/recover`, {
      body: { since },
    });
    expect(recovered.status).toBe(202);
  });

  test('a source of several lists names the list and reports changes of its key', async () => {
    const app = await open();
    const connectionId = await app.connect('sourced');
    app.places = ['a', 'b'];
    await app.subscribe(connectionId, ['created', 'updated'], { scope: 'sourced/row.added' });
    await app.poll(connectionId);
    const rows = [
      { id: '1', place: 'a', total: '1' },
      { id: '1', place: 'b', total: '1' },
    ];
    app.orders = rows.map((row) => ({ ...row, updated_at: new Date(app.clock.now()).toISOString() }));
    await app.polls(connectionId, 1, LATER_MS);
    const [changed] = app.orders;
    if (changed) changed.total = '2';
    await app.polls(connectionId, 1, LATER_MS);
    const published = await app.published(connectionId);
    expect(published.toSorted()).toEqual(['created a:1', 'created b:1', 'updated a:1']);
    const last = (await app.events(connectionId)).at(-1);
    expect(last).toMatchObject({ createdAt: null, raw: { id: '1', sheet: 'a', total: '2' } });
  });

  test('a source without a list gets its events by webhooks of the app', async () => {
    const app = await open();
    const connectionId = await app.connect('sourced');
    const more = { scope: 'sourced/call.ended' };
    await app.subscribe(connectionId, ['created'], more);
    await app.look('jobs');
    await app.poll(connectionId);
    expect(await app.announce('made', app.order('c1'))).toBe(200);
    expect(await app.announce('made', app.order('c1'))).toBe(200);
    await app.look('inbox');
    expect(await app.published(connectionId)).toEqual(['created c1']);
    expect(app.calls.filter((call) => call.includes('/orders'))).toEqual([]);
    const backfilled = await app.service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
      body: { ...more, address: 'https://127.0.0.1:9/other', backfill: true },
    });
    expect([backfilled.status, backfilled.at('details.faults.0.field')]).toEqual([400, 'backfill']);
  });

  test.each([
    ['another connector', 'numbered/order.placed', ['created'], 'scope', LISTED],
    ['no source', 'sourced/order.lost', ['created'], 'scope', LISTED],
    ['a name of every object', 'sourced/constructor', ['created'], 'scope', LISTED],
    ['no scope at all', 'orders', ['created'], 'scope', /<connectorId>/],
    ['events that it does not report', 'sourced/row.added', ['deleted'], 'events', /created, updated$/],
  ])('a subscription to %s is refused with what there is', async (_, scope, events, field, rule) => {
    const app = await open();
    const connectionId = await app.connect('sourced');
    const answer = await app.service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
      body: { address: 'https://127.0.0.1:9/never', scope, events },
    });
    expect([answer.status, answer.at('details.faults.0.field')]).toEqual([400, field]);
    expect(answer.text('details.faults.0.rule')).toMatch(rule);
  });

  test('a changed subscription cannot want events that are not reported', async () => {
    const app = await open();
    const connectionId = await app.connect('sourced');
    const subscriptionId = await app.subscribe(connectionId, ['created'], { scope: 'sourced/row.added' });
    const change = (events: string[]) =>
      app.service.call('PUT', `/webhooks/${subscriptionId}`, { body: { events } });
    expect((await change(['deleted'])).at('details.faults.0.field')).toBe('events');
    expect((await change(['updated'])).status).toBe(200);
  });

  test('a workflow begins with an event of a source', async () => {
    const app = await open();
    const connectionId = await app.connect('sourced');
    const trigger = { type: 'event', connectorId: 'sourced', scope: ORDERS };
    const define = (given: object) =>
      app.service.call('POST', '/workflows', {
        body: {
          name: 'placed',
          definition: { trigger: given, steps: [{ stepId: 'm', map: 'trigger.data.raw.id' }] },
        },
      });
    const wrong = await define({ ...trigger, scope: 'sourced/order.lost' });
    expect(wrong.at('details.faults.0.field')).toMatch(/trigger\.scope$/);
    const made = await define(trigger);
    expect(made.status).toBe(201);
    const path = `/workflows/${made.text('workflowId')}`;
    const installed = await app.service.call('POST', `${path}/install?userId=${app.userId}`, {
      body: { config: {} },
    });
    expect(installed.status).toBe(201);
    await app.poll(connectionId);
    app.orders = [app.order('o1')];
    await app.polls(connectionId, 1, LATER_MS);
    let run: unknown;
    await until(async () => {
      run = (await app.service.call('GET', `${path}/runs`)).at('data.0');
      return Object(run).status === 'succeeded';
    });
    expect(run).toMatchObject({ status: 'succeeded' });
  });

  test('a client reads the events of a source and is notified of new ones', async () => {
    const app = await open();
    const connectionId = await app.connect('sourced');
    await app.subscribe(connectionId, ['created'], { scope: ORDERS });
    await app.poll(connectionId);
    const body = { name: 'all', restrictions: {} };
    const server = await app.service.call('POST', '/api/servers', { body });
    const client = await connectListener(app.service, server.text('accessUrl'), {
      'x-svc-userid': app.userId,
    });
    closing.push(() => client.close());
    const uri = `svc://events/${ORDERS}`;
    const { resources } = await client.listResources();
    expect(resources.map((one) => one.uri)).toContain(uri);
    await client.subscribeResource({ uri });
    app.orders = [app.order('o1')];
    await app.polls(connectionId, 1, LATER_MS);
    await polled(app.service);
    const { contents } = await client.readResource({ uri });
    const [content] = contents;
    const { events } = JSON.parse(content && 'text' in content ? content.text : '');
    expect(events).toMatchObject([{ event: 'created', record: { remoteId: 'o1', raw: { id: 'o1' } } }]);
    await expect(client.readResource({ uri: 'svc://events/sourced/order.lost' })).rejects.toThrow(
      /no resource/,
    );
  });

  test('listen prints the events of a source', async () => {
    const app = await open();
    await using receiver = await startReceiver();
    const connectionId = await app.connect('sourced');
    const options = readListenOptions({
      forward: receiver.url,
      connection: connectionId,
      scope: ORDERS,
    });
    if (typeof options === 'string') throw new Error(options);
    const { context } = app.service;
    const stop = new AbortController();
    const listening = listenUntil(context, options, { outbound: context.outbound, signal: stop.signal });
    await until(async () => (await context.db.selectFrom('sources').select('scope').execute()).length === 1);
    await app.poll(connectionId);
    app.orders = [app.order('o1')];
    await app.polls(connectionId, 1, LATER_MS);
    const [event] = await receiver.arrived(1);
    expect(event?.headers['x-svc-scope']).toBe(ORDERS);
    stop.abort();
    await listening;
  });

  test('a new version without a source in use reports that, and a later one continues', async () => {
    const app = await open();
    await app.warn();
    const text = connectorFile('sourced')
      .replace('id: sourced', 'id: mine')
      .replace('name: sourced', 'name: Mine');
    const added = await app.service.call('POST', '/api/connectors', { body: { definition: text } });
    expect([added.status, added.body]).toEqual([201, { connectorId: 'mine', version: 1 }]);
    const details = await app.service.call('GET', '/connectors/mine');
    expect(details.at('models')).toEqual(['commerce/orders']);
    expect(details.at('events')).toContainEqual({
      scope: 'mine/order.placed',
      title: 'Order placed',
      description: 'An order was placed.',
      events: ['created', 'updated', 'deleted'],
      native: false,
    });
    expect(details.at('events')).toContainEqual({
      scope: 'commerce/orders',
      title: 'commerce/orders',
      events: ['created', 'updated', 'deleted'],
      native: false,
    });
    expect(details.at('events')).toContainEqual(
      expect.objectContaining({ scope: 'mine/call.ended', native: true }),
    );
    const connectionId = await app.connect('mine');
    const subscriptionId = await app.subscribe(connectionId, ['created'], { scope: 'mine/order.placed' });
    await app.poll(connectionId);
    const put = (definition: string) =>
      app.service.call('PUT', '/api/connectors/mine', { body: { definition } });
    expect((await put(text.replace('order.placed:', 'order.made:'))).status).toBe(200);
    await app.poll(connectionId);
    expect(await app.warnings()).toMatchObject([
      { connectorId: 'mine', scope: 'mine/order.placed', reason: expect.stringContaining('mine/order.made') },
    ]);
    const reason = async () =>
      (await app.service.call('GET', `/webhooks/${subscriptionId}`)).at('sourceReason');
    expect(await reason()).toContain('does not offer mine/order.placed');
    app.orders = [app.order('o1')];
    expect((await put(text)).status).toBe(200);
    await app.poll(connectionId);
    expect(await reason()).toBeUndefined();
    expect(await app.published(connectionId)).toEqual(['created o1']);
  });
});
