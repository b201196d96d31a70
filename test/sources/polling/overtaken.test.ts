import { expect, test } from 'vitest';
import { pollSource } from '../../../src/sources/polling/poll.ts';
import { claimSources, renewLease } from '../../../src/sources/due-sources.ts';
import { HOUR, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { LEASE_MS } from '../../../src/runtime/lease.ts';
import { STORE_KINDS } from '../../support/stores.ts';
import { openApp, type TestedApp } from '../app.ts';

/* Polls that outlast their lease, while other processes take the source. */

type Begun = Awaited<ReturnType<typeof begin>>;

/** Starts a poll of the due source, which reads until the test answers. */
async function begin(app: TestedApp) {
  const { context } = app.service;
  const [source] = await claimSources(context, 1);
  if (!source) throw new Error('nothing is due');
  const stop = new AbortController();
  const { asked, answer } = app.hold('/orders');
  const polled = pollSource(context, source, stop.signal);
  await asked;
  app.recover();
  return { source, polled, answer, stop: () => stop.abort() };
}

/** Returns all that polls store. */
async function leftBy({ service, published, warnings }: TestedApp, connectionId: string) {
  const { db } = service.context;
  const source = await db
    .selectFrom('sources')
    .selectAll()
    .where('credential_id', '=', connectionId)
    .executeTakeFirstOrThrow();
  const deliveries = db
    .selectFrom('deliveries')
    .innerJoin('subscriptions', 'subscriptions.subscription_id', 'deliveries.subscription_id')
    .select(['deliveries.sequence', 'deliveries.status'])
    .where('subscriptions.source_id', '=', source.source_id);
  return {
    source,
    seen: await db.selectFrom('seen').selectAll().orderBy('key').execute(),
    published: await published(connectionId),
    deliveries: await deliveries.execute(),
    warnings: await warnings(),
  };
}

/** Ends of a poll's listing. */
const ENDS: Record<string, (app: TestedApp, one: Begun) => Promise<void> | void> = {
  succeeds: ({ orders, order }, { answer }) => {
    // A second order, and one that does not fit, exist for this poll only.
    const mappingError = order('mappingError', undefined, { total: '1e3' });
    return answer(200, { orders: [...orders, order('o2'), mappingError], more: false, next: null });
  },
  fails: (app, { answer }) => {
    app.refuse(500);
    return answer(500, {});
  },
  'is refused': (app, { answer }) => {
    app.refuse(401);
    return answer(401, {});
  },
  'is aborted': (_app, { stop }) => stop(),
};

test.each(STORE_KINDS.flatMap((kind) => Object.keys(ENDS).map((how) => [how, kind] as const)))(
  'a poll that %s after its lease expired stores nothing (%s)',
  async (how, kind) => {
    await using app = await openApp(kind);
    const { clock, order, service } = app;
    await service.context.dispatcher.close();
    await app.warn();
    const connectionId = await app.listen('sequential', { polled: true });
    // One more failure would notify the operator.
    app.refuse(500);
    await app.polls(connectionId, 2, HOUR);
    app.recover();
    clock.advance(HOUR);
    app.orders = [order('o1')];
    const early = await begin(app);
    clock.advance(LEASE_MS + SECOND);
    const late = await begin(app);
    clock.advance(LEASE_MS + SECOND);
    const last = await begin(app);
    const end = async (one: Begun) => {
      await ENDS[how]?.(app, one);
      expect((await one.polled).deliveries).toBe(0);
      await renewLease(service.context, one.source);
      app.recover();
    };

    const before = await leftBy(app, connectionId);
    clock.advance(SECOND);
    await end(early);
    expect(await leftBy(app, connectionId)).toEqual(before);

    await last.answer(200, { orders: app.orders, more: false, next: null });
    expect(await last.polled).toEqual({ records: 1, deliveries: 1 });
    const after = await leftBy(app, connectionId);
    expect(after).toMatchObject({
      source: { status: 'active', failures: 0, reason: null, lease_token: null },
      published: ['created o1'],
      deliveries: [{ sequence: 1, status: 'waiting' }],
      warnings: [],
    });
    expect(after.source.cursor_until).toBeGreaterThan(before.source.cursor_until ?? Infinity);

    clock.advance(SECOND);
    await end(late);
    expect(await leftBy(app, connectionId)).toEqual(after);
    await app.polls(connectionId, 2, 10 * MINUTE);
    expect(await app.published(connectionId)).toEqual(['created o1']);
  },
);
