import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Base } from '../base.ts';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Tx } from '../store/schema.ts';
import { deliveryNotFound, isDeliveryId } from '../outbox/deliveries.ts';
import { BACKFILL_MARK, deliverStored, listeners, newEvent, type PublishContext } from '../outbox/publish.ts';
import { requireSubscription, type SubscriptionKey } from './subscriptions.ts';
import { eventsIn, type SubscriptionRow } from '../outbox/delivery-target.ts';

const TEST_MARKS = { 'x-svc-test': 'true' };
/** Events that one transaction recovers. */
const BATCH = 200;

type RecoverContext = PublishContext & Pick<Base, 'store'>;

/**
 * Sends a delivery again with the same id and number and a new retry schedule. A delivery that waits for its next attempt
 * is due now. A delivery that is being attempted is not changed.
 * @throws GatehouseError `subscription_not_found`, `delivery_not_found`, `subscription_disabled`
 */
export async function replayDelivery(
  context: RecoverContext,
  { environment, subscriptionId, deliveryId }: SubscriptionKey & { deliveryId: string },
): Promise<void> {
  const now = context.clock.now();
  await context.db.transaction().execute(async (tx) => {
    await requireActive(tx, { environment, subscriptionId }, context);
    const found = isDeliveryId(deliveryId)
      ? await tx
          .selectFrom('deliveries')
          .select('lease_token')
          .where('delivery_id', '=', deliveryId)
          .where('subscription_id', '=', subscriptionId)
          .executeTakeFirst()
      : undefined;
    if (!found) throw deliveryNotFound(deliveryId);
    await tx
      .updateTable('deliveries')
      .set({ status: 'waiting', offered: 0, step: 0, next_at: now, updated_at: now })
      .where('delivery_id', '=', deliveryId)
      .where('lease_token', 'is', null)
      .execute();
  });
  context.dispatcher.wake();
}

/**
 * Sends the events since a time that a subscription missed. Dead and cancelled deliveries restart their schedule, and
 * events published while it was disabled are delivered now. Events from before its creation and backfills of other
 * subscriptions do not count as missed. Delivered and waiting events are not sent again, so a second call changes
 * nothing. Times are epoch milliseconds; `until` is exclusive.
 * @returns the number of deliveries started.
 * @throws GatehouseError `subscription_not_found`, `subscription_disabled`
 */
export async function recover(
  context: RecoverContext,
  {
    environment,
    subscriptionId,
    since,
    until,
  }: SubscriptionKey & { since: number; until?: number | undefined },
): Promise<number> {
  const end = until ?? context.clock.now() + 1;
  let after = { at: since, id: '' };
  let started = 0;
  for (;;) {
    const step = await context.db.transaction().execute(async (tx) => {
      const subscription = await requireActive(tx, { environment, subscriptionId }, context);
      return recoverSome(tx, context, { subscription, after, end });
    });
    started += step.started;
    if (!step.last) break;
    after = step.last;
    // SQLite blocks the event loop, and there may be a million events.
    await nextTurn();
  }
  if (started > 0) context.dispatcher.wake();
  return started;
}

/** The place of an event in the order of recovery. */
interface Place {
  at: number;
  id: string;
}

async function recoverSome(
  tx: Tx,
  context: PublishContext,
  { subscription, after, end }: { subscription: SubscriptionRow; after: Place; end: number },
): Promise<{ started: number; last: Place | undefined }> {
  const subscriptionId = subscription.subscription_id;
  const rows = await tx
    .selectFrom('events')
    .leftJoin('deliveries', (join) =>
      join
        .onRef('deliveries.event_id', '=', 'events.event_id')
        .on('deliveries.subscription_id', '=', subscriptionId),
    )
    .selectAll('events')
    .select(['deliveries.delivery_id', 'deliveries.status'])
    .select((e) =>
      e
        .exists(
          e
            .selectFrom('deliveries as backfilled')
            .select('backfilled.delivery_id')
            .whereRef('backfilled.event_id', '=', 'events.event_id')
            .where('backfilled.marks', 'like', `%"${BACKFILL_MARK}"%`),
        )
        .as('is_backfill'),
    )
    .where((e) =>
      subscription.source_id === null
        ? e.and([
            e('events.source_id', 'is', null),
            e('events.environment', '=', subscription.environment),
            e('events.scope', '=', subscription.scope),
          ])
        : e('events.source_id', '=', subscription.source_id),
    )
    // A condition of its own, so that the index scan begins there.
    .where('events.created_at', '>=', after.at)
    .where((e) =>
      e.or([
        e('events.created_at', '>', after.at),
        e.and([e('events.created_at', '=', after.at), e('events.event_id', '>', after.id)]),
      ]),
    )
    .where('events.created_at', '<', end)
    .orderBy('events.created_at')
    .orderBy('events.event_id')
    .limit(BATCH)
    .execute();
  const last = rows.at(-1);
  const now = context.clock.now();
  const wanted = new Set(eventsIn(subscription.events));

  const ended = rows.flatMap((row) =>
    row.delivery_id !== null && (row.status === 'dead' || row.status === 'cancelled')
      ? [row.delivery_id]
      : [],
  );
  if (ended.length > 0) {
    await tx
      .updateTable('deliveries')
      .set({ status: 'waiting', offered: 0, step: 0, next_at: now, updated_at: now })
      .where('delivery_id', 'in', ended)
      .execute();
  }
  // Events from before the subscription and backfills of other subscriptions were not missed.
  const missed = rows.filter(
    (row) =>
      row.delivery_id === null &&
      row.created_at >= subscription.created_at &&
      !row.is_backfill &&
      wanted.has(row.event),
  );
  const made = await deliverStored(tx, context, { row: subscription, events: missed });
  return {
    started: ended.length + made.length,
    last: rows.length === BATCH && last ? { at: last.created_at, id: last.event_id } : undefined,
  };
}

/**
 * Publishes a test event to one subscription and to the listeners of the environment. It has the headers
 * `x-svc-event: test` and `x-svc-test: true`, and is signed and numbered as any other event.
 * @returns the id of the stored delivery.
 * @throws GatehouseError `subscription_not_found`, `subscription_disabled`
 */
export async function sendTest(context: PublishContext, key: SubscriptionKey): Promise<string> {
  const now = context.clock.now();
  const deliveryId = await context.db.transaction().execute(async (tx) => {
    const subscription = await requireActive(tx, key);
    const event = newEvent(context, {
      environment: key.environment,
      sourceId: null,
      scope: subscription.scope,
      event: 'test',
      recordId: 'test',
      body: JSON.stringify({ id: 'test', remoteId: 'test', createdAt: isoTime(now), test: true }),
    });
    await tx.insertInto('events').values(event).execute();
    const [made] = await deliverStored(tx, context, {
      row: subscription,
      events: [event],
      marks: TEST_MARKS,
    });
    if (made === undefined) throw disabled();
    for (const listener of await listeners(tx, context, key.environment)) {
      // A listener that is tested itself has the event already.
      if (listener.subscription_id !== subscription.subscription_id)
        await deliverStored(tx, context, { row: listener, events: [event], marks: TEST_MARKS });
    }
    return made;
  });
  context.dispatcher.wake();
  return deliveryId;
}

/**
 * Returns an active subscription. With `lockIn`, its row stays locked until the transaction ends. Otherwise a concurrent
 * disabling could miss the deliveries that the caller starts, and they would wait forever. SQLite needs no lock, because
 * it has one writer.
 */
async function requireActive(
  tx: Tx,
  { environment, subscriptionId }: SubscriptionKey,
  lockIn?: Pick<Base, 'store'>,
): Promise<SubscriptionRow> {
  const forUpdate = lockIn?.store.kind === 'postgres';
  const subscription = await requireSubscription(tx, { environment, subscriptionId }, { forUpdate });
  if (subscription.status !== 'active') throw disabled();
  return subscription;
}

function disabled(): GatehouseError {
  return new GatehouseError(
    'subscription_disabled',
    'This subscription is disabled, so nothing is sent. Enable it first: POST /webhooks/{subscriptionId}/enable.',
  );
}
