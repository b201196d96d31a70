import { describe, expect, test } from 'vitest';
import { pollSource } from '../../src/sources/polling/poll.ts';
import { claimSources } from '../../src/sources/due-sources.ts';
import { HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { created, eventsCatalog, startEvents, subscribe } from '../support/events.ts';
import { until } from '../support/until.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { serveUntilKilled } from '../support/serving.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { openApp, type TestedApp } from './app.ts';

/*
 * Another process continues the work of a stopped process within 30 s. The clock of the first process stands
 * still, so its leases expire as those of a dead process. Later it wakes up and must change nothing.
 */

const WITHIN_MS = 30 * SECOND;

/** Starts a second process over the same store, whose clock is 30 s ahead. */
const startSecond = ({ env }: Service, now: number, catalogFolder: string): Promise<Service> =>
  startService({ env, clock: manualClock(now + WITHIN_MS), catalogFolder });

const secondOf = ({ service, clock, catalogFolder }: TestedApp): Promise<Service> =>
  startSecond(service, clock.now(), catalogFolder);

describe.each(STORE_KINDS)('on %s', (kind) => {
  test('a source whose poll stopped midway is polled by another process', async () => {
    await using app = await openApp(kind);
    const { clock, order, service } = app;
    const connectionId = await app.listen('sequential', { polled: true });
    clock.advance(HOUR);
    app.orders = [order('o1')];
    const [source] = await claimSources(service.context, 1);
    if (!source) throw new Error('nothing is due');
    const held = app.hold('/orders');
    const stopped = pollSource(service.context, source);
    await held.asked;
    app.recover();

    await using second = await secondOf(app);
    await until(async () => (await app.published(connectionId)).length > 0);
    await second.context.sources.close();
    clock.advance(MINUTE);
    await held.answer(200, { orders: app.orders, more: false, next: null });
    expect((await stopped).deliveries).toBe(0);
    expect(await app.published(connectionId)).toEqual(['created o1']);
  });

  test('a poll whose process is killed by SIGKILL is taken over within 30 s', async () => {
    await using app = await openApp(kind);
    const { order, service } = app;
    const connectionId = await app.listen('sequential', { polled: true });
    app.orders = [order('o1')];
    const held = app.hold('/orders');
    await using served = await serveUntilKilled(service, app.catalogFolder);
    await held.asked;
    await served.kill();
    app.recover();

    await using second = await startSecond(service, Date.now(), app.catalogFolder);
    await until(async () => (await app.published(connectionId)).length > 0);
    await second.context.sources.close();
    expect(await app.published(connectionId)).toEqual(['created o1']);
  });

  test('a backfill that stopped midway is continued by another process', async () => {
    await using app = await openApp(kind);
    const { clock, order, service } = app;
    app.orders = [order('old', clock.now() - HOUR)];
    const connectionId = await app.listen('sequential', { polled: true });
    const subscriptionId = await app.subscribe(connectionId, ['created'], {
      address: 'https://127.0.0.1:9/backfilled',
      backfill: true,
    });
    const held = app.hold('/orders');
    const stopped = app.look('readings');
    await held.asked;
    app.recover();

    await using second = await secondOf(app);
    const backfill = async () => (await service.call('GET', `/webhooks/${subscriptionId}`)).at('backfill');
    await until(async () => (await backfill()) === 'done');
    await second.context.sources.close();
    clock.advance(MINUTE);
    await held.answer(200, { orders: app.orders, more: false, next: null });
    await stopped;
    const listed = await service.call('GET', `/webhooks/${subscriptionId}/deliveries`);
    expect(listed.at('data.0.sequence')).toBe(1);
    expect(listed.at('data.1')).toBeUndefined();
  });

  test('webhooks that a stopped process was removing are removed by another process', async () => {
    await using app = await openApp(kind);
    const { clock, service } = app;
    const connectionId = await app.connect('sequential');
    const subscriptionId = await app.subscribe(connectionId);
    await app.look('jobs');
    expect(app.hooks).not.toEqual([]);
    await service.call('DELETE', `/webhooks/${subscriptionId}`);
    const held = app.hold('/hooks');
    const stopped = app.look('jobs');
    await held.asked;
    app.recover();

    await using second = await secondOf(app);
    await until(() => app.hooks.length === 0);
    await second.context.sources.close();
    clock.advance(MINUTE);
    await held.answer(200, { hooks: [] });
    await stopped;
  });

  test('a renewal of webhooks whose process is killed is finished without a gap', async () => {
    await using app = await openApp(kind);
    const { clock, order, service } = app;
    await app.warn();
    const connectionId = await app.listen('replacing');
    clock.advance(19 * HOUR);
    const second = Promise.withResolvers<void>();
    let made = 0;
    app.instead = ({ pathname }, _res, { method }) => {
      if (pathname !== '/hooks' || method !== 'POST' || ++made === 1) return false;
      second.resolve();
      return true;
    };
    await using served = await serveUntilKilled(service, app.catalogFolder, {
      at: clock.now(),
      more: { GATEHOUSE_PUBLIC_URL: service.url },
    });
    await second.promise;
    await served.kill();
    app.recover();

    // The first registration was replaced and stored. The other two are still the old ones.
    expect(app.hooks.map(({ id }) => id)).toEqual(['h2', 'h3', 'h4']);
    expect(await app.announce('made', order('o1'))).toBe(200);
    const changed = order('o1', clock.now() + 1, { total: '2.00' });
    expect(await app.announce('changed', changed)).toBe(200);
    // The inventory may be due too. It would report an order that the app does not list as deleted.
    app.orders = [changed];
    clock.advance(5 * MINUTE);
    await app.look('jobs');
    expect(app.hooks.map(({ id }) => id)).toEqual(['h4', 'h5', 'h6']);
    expect(await app.announce('made', order('o2'))).toBe(200);
    expect((await app.published(connectionId)).toSorted()).toEqual([
      'created o1',
      'created o2',
      'updated o1',
    ]);
    expect(await app.warnings()).toEqual([]);
  });

  test('an ordered queue is continued by another process, in its order', async () => {
    const clock = manualClock();
    const catalogFolder = eventsCatalog();
    await using service = await startEvents({ kind, clock, catalogFolder });
    await using receiver = await startReceiver();
    const { promise: end, resolve: endFirst } = Promise.withResolvers<void>();
    receiver.answer = (_, res) => {
      const isFirst = receiver.received.length === 1;
      void (isFirst ? end : Promise.resolve()).then(() => res.writeHead(200).end());
    };
    const { subscriptionId } = await subscribe(service, { address: receiver.url, ordered: true });
    await created(service, ['o1', 'o2', 'o3']);
    await receiver.arrived(1);

    await using second = await startSecond(service, clock.now(), catalogFolder);
    await receiver.arrived(4);
    const succeeded = () => service.call('GET', `/webhooks/${subscriptionId}/deliveries?status=succeeded`);
    await until(async () => (await succeeded()).at('data.2') !== undefined);
    await second.context.dispatcher.close();
    clock.advance(MINUTE);
    endFirst();
    await until(() => receiver.open === 0);
    await service.context.dispatcher.close();
    const sequences = receiver.received.map(({ headers }) => headers['x-svc-sequence']);
    expect(sequences).toEqual(['1', '1', '2', '3']);
    const attempts = [0, 1, 2].map(async (n) => (await succeeded()).at(`data.${n}.attemptCount`));
    expect(await Promise.all(attempts)).toEqual([1, 1, 1]);
  });
});
