import { sql, type Insertable, type Selectable } from 'kysely';
import type { Context } from './context.ts';
import { storableText } from '../lib/storable-text.ts';
import { newOrderedId } from '../lib/ids.ts';
import { isPostgres, manyRows, perDatabase, runPrepared } from '../store/prepared.ts';
import type { Tables, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { SUBSCRIPTION_ORDER } from './due.ts';
import { eventsIn, targetOf, type SubscriptionRow } from './delivery-target.ts';
import type { NewEvent, EventSource } from './event.ts';

export type PublishContext = Pick<Context, 'clock' | 'db' | 'keys' | 'log' | 'dispatcher'>;
/** Context of publish(), which also starts workflow runs. */
export type EventContext = PublishContext & Pick<Context, 'runs' | 'store'>;
/** Header that marks a delivery of a backfill. Only the subscription that asked for the backfill receives it. */
export const BACKFILL_MARK = 'x-svc-backfill';

/** An event as it is stored, with its members in the order of newEvent(). */
export type EventRow = Selectable<Tables['events']>;

/** Returns an event of now, to be stored. `body` is JSON. */
export function newEvent(
  { clock }: Pick<Context, 'clock'>,
  facts: {
    environment: Environment;
    sourceId: string | null;
    scope: string;
    event: string;
    recordId: string;
    body: string;
  },
): EventRow {
  const now = clock.now();
  return {
    event_id: newOrderedId('evt', now),
    environment: facts.environment,
    source_id: facts.sourceId,
    scope: facts.scope,
    event: facts.event,
    record_id: facts.recordId,
    body: facts.body,
    created_at: now,
  };
}

const insertEvents = manyRows((db, rows: EventRow[]) => db.insertInto('events').values(rows));
const insertDeliveries = manyRows((db, rows: Insertable<Tables['deliveries']>[]) =>
  db.insertInto('deliveries').values(rows),
);
/**
 * Selects and locks the subscriptions of a source until the transaction ends. Each row says whether workflows listen to
 * the source, and whether listeners of the whole environment exist. SQLite needs no order, because it locks the whole
 * database, and sorting would cost ten times as much as the look-up.
 */
const subscribersOfSource = perDatabase((db) => {
  const found = db
    .selectFrom('subscriptions')
    .selectAll()
    .select((e) =>
      e
        .exists(
          e
            .selectFrom('workflow_installations')
            .select('installation_id')
            .where('workflow_installations.source_id', '=', '')
            .where('workflow_installations.enabled', '=', sql.lit(1)),
        )
        .as('has_workflows'),
    )
    .select((e) =>
      e
        .exists(
          e
            .selectFrom('subscriptions as others')
            .select('others.environment')
            .where('others.environment', '=', 'development')
            // A literal, so that the planner matches the partial index.
            .where('others.kind', '=', sql.lit('listener'))
            .where('others.source_id', 'is', null),
        )
        .as('has_listeners'),
    )
    .where('source_id', '=', '');
  return (isPostgres(db) ? found.orderBy(SUBSCRIPTION_ORDER).forUpdate() : found).compile();
});
/** Locks one subscription and no other: the caller may hold its row already, and a lock out of order could deadlock. */
const oneSubscriber = perDatabase((db) => {
  const found = db
    .selectFrom('subscriptions')
    .selectAll()
    .where('subscription_id', '=', '')
    .where('source_id', '=', '');
  return (isPostgres(db) ? found.forUpdate() : found).compile();
});
const listenersOfEnvironment = perDatabase((db) =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('environment', '=', 'development')
    // A literal, so that the planner matches the partial index.
    .where('kind', '=', sql.lit('listener'))
    .where('source_id', 'is', null)
    .orderBy('subscription_id')
    .compile(),
);
const takeNumbers = perDatabase((db) =>
  db
    .updateTable('subscriptions')
    .set((e) => ({ sequence: e('sequence', '+', 1) }))
    .where('subscription_id', '=', '')
    .where('status', '=', 'active')
    .returning('sequence')
    .compile(),
);
/** Sets the number of a locked row without `returning`, which costs SQLite as much as the update does. */
const setNumber = perDatabase((db) =>
  db.updateTable('subscriptions').set({ sequence: 1 }).where('subscription_id', '=', '').compile(),
);

/**
 * Inserts events of a source in the caller's transaction, with a numbered delivery for each active subscription that
 * selects their type. A disabled subscription collects no deliveries; recover() creates them later from the events. An
 * event is stored if any subscription, also a disabled one, selects its type. Starts the workflow installations that
 * listen to the source. Call `context.dispatcher.committed(tx)` or `wake()` after the commit to send at once.
 * @returns the number of deliveries inserted.
 */
export async function publish(
  tx: Tx,
  context: EventContext,
  {
    source,
    events,
    options = {},
  }: {
    source: EventSource;
    events: NewEvent[];
    options?:
      | {
          /** The only subscription that receives the events: they are its backfill. */
          only?: string;
          /** Subscriptions of the source that do not receive the events. */
          except?: (row: SubscriptionRow) => boolean;
          /** Extra headers of these deliveries: `x-svc-…` → value. */
          marks?: Record<string, string>;
        }
      | undefined;
  },
): Promise<number> {
  if (events.length === 0) return 0;
  const { sourceId, environment } = source;
  let locked: SubscriptionRow[];
  let others: SubscriptionRow[] = [];
  if (options.only === undefined) {
    const { rows } = await runPrepared(tx, subscribersOfSource(context.db), [
      sourceId,
      environment,
      sourceId,
    ]);
    const [row] = rows;
    const { except } = options;
    locked = except ? rows.filter((one) => !except(one)) : rows;
    // Without a row, the query returned no flags, so workflows and listeners are looked up.
    if (!row || row.has_workflows) await context.runs.onEvents(tx, context, { source, events });
    if (!row || row.has_listeners) others = await listeners(tx, context, environment);
  } else {
    locked = (await runPrepared(tx, oneSubscriber(context.db), [options.only, sourceId])).rows;
  }
  const stored = events.map(({ eventScope, event, recordId, body }) =>
    newEvent(context, {
      environment,
      sourceId,
      scope: eventScope,
      event,
      recordId,
      // The first attempt sends this text, and later ones the stored one.
      body: storableText(JSON.stringify(body)),
    }),
  );
  return announce(tx, context, { events: stored, subscribers: { locked, others, marks: options.marks } });
}

/** Returns the subscriptions of `gatehouse listen` processes that listen to a whole environment. */
export async function listeners(
  tx: Tx,
  { db }: Pick<Context, 'db'>,
  environment: Environment,
): Promise<SubscriptionRow[]> {
  return (await runPrepared(tx, listenersOfEnvironment(db), [environment])).rows;
}

/**
 * Stores the events that any of the subscribers selects, with numbered deliveries for the active ones.
 * @returns the number of deliveries inserted.
 */
export async function announce(
  tx: Tx,
  context: PublishContext,
  {
    events,
    subscribers,
  }: {
    events: readonly EventRow[];
    subscribers: {
      /** Subscriptions whose rows this transaction has locked. */
      locked?: readonly SubscriptionRow[];
      others: readonly SubscriptionRow[];
      marks?: Record<string, string> | undefined;
    };
  },
): Promise<number> {
  const { locked = [], others, marks } = subscribers;
  const consumers = [
    ...locked.map((row) => ({ row, kinds: wantedKinds(row), isLocked: true })),
    ...others.map((row) => ({ row, kinds: wantedKinds(row), isLocked: false })),
  ];
  // Sorted by id, so that two transactions never wait for each other's rows.
  if (consumers.length > 1)
    consumers.sort((a, b) => (a.row.subscription_id < b.row.subscription_id ? -1 : 1));
  const wanted = events.filter(({ event }) =>
    consumers.some(({ kinds }) => kinds === 'all' || kinds.has(event)),
  );
  if (wanted.length === 0) return 0;
  await insertEvents(context.db, tx, wanted);

  const markText = marks === undefined ? null : JSON.stringify(marks);
  const deliveries: Insertable<Tables['deliveries']>[] = [];
  for (const { row, kinds, isLocked } of consumers) {
    const chosen = kinds === 'all' ? wanted : wanted.filter(({ event }) => kinds.has(event));
    if (chosen.length === 0 || row.status !== 'active') continue;
    const last = await (isLocked ? lockedNumbers : nextNumbers)(tx, context, { row, count: chosen.length });
    // Another process disabled the subscription after the row was read.
    if (last === undefined) continue;
    deliveries.push(...deliveriesOf(tx, context, { row, events: chosen, last, marks: markText }));
  }
  await insertDeliveries(context.db, tx, deliveries);
  return deliveries.length;
}

/** Inserts deliveries of stored events to one subscription. @returns their ids. */
export async function deliverStored(
  tx: Tx,
  context: PublishContext,
  {
    row,
    events,
    marks,
  }: { row: SubscriptionRow; events: readonly EventRow[]; marks?: Record<string, string> | undefined },
): Promise<string[]> {
  if (events.length === 0 || row.status !== 'active') return [];
  const last = await nextNumbers(tx, context, { row, count: events.length });
  if (last === undefined) return [];
  const deliveries = deliveriesOf(tx, context, {
    row,
    events,
    last,
    marks: marks === undefined ? null : JSON.stringify(marks),
  });
  await insertDeliveries(context.db, tx, deliveries);
  return deliveries.map((delivery) => delivery.delivery_id);
}

/** Takes the next `count` numbers of a subscription. @returns the last one; undefined when the subscription is disabled. */
async function nextNumbers(
  tx: Tx,
  { db }: Pick<Context, 'db'>,
  { row, count }: { row: SubscriptionRow; count: number },
): Promise<number | undefined> {
  const { rows } = await runPrepared(tx, takeNumbers(db), [count, row.subscription_id, 'active']);
  return rows[0]?.sequence;
}

async function lockedNumbers(
  tx: Tx,
  { db }: Pick<Context, 'db'>,
  { row, count }: { row: SubscriptionRow; count: number },
): Promise<number> {
  const last = row.sequence + count;
  await runPrepared(tx, setNumber(db), [last, row.subscription_id]);
  return last;
}

/** Returns the rows to insert, the last one numbered `last`, and hands off those that can be sent at once. */
function deliveriesOf(
  tx: Tx,
  context: PublishContext,
  {
    row,
    events,
    last,
    marks,
  }: { row: SubscriptionRow; events: readonly EventRow[]; last: number; marks: string | null },
): Insertable<Tables['deliveries']>[] {
  const now = context.clock.now();
  const target = row.kind === 'listener' ? undefined : targetOf(context, row);
  const handoff = target && context.dispatcher.handoff(tx, target);
  return events.map((event, position) => {
    const deliveryId = newOrderedId('msg', now);
    const sequence = last - events.length + 1 + position;
    const lease = handoff?.take({
      deliveryId,
      sequence,
      event: event.event,
      scope: event.scope,
      body: event.body,
      marks,
      attempts: 0,
      step: 0,
    });
    return {
      delivery_id: deliveryId,
      subscription_id: row.subscription_id,
      event_id: event.event_id,
      sequence,
      status: 'waiting',
      attempts: 0,
      step: 0,
      next_at: lease?.until ?? now,
      lease_token: lease?.token ?? null,
      offered: lease ? 1 : 0,
      marks,
      created_at: now,
      updated_at: now,
    };
  });
}

const parsedKinds = new Map<string, ReadonlySet<string>>();
const MAX_PARSED_KINDS = 1000;

function wantedKinds(row: SubscriptionRow): 'all' | ReadonlySet<string> {
  if (row.kind === 'listener' && row.source_id === null) return 'all';
  let kinds = parsedKinds.get(row.events);
  if (!kinds) {
    kinds = new Set(eventsIn(row.events));
    if (parsedKinds.size >= MAX_PARSED_KINDS) parsedKinds.clear();
    parsedKinds.set(row.events, kinds);
  }
  return kinds;
}
