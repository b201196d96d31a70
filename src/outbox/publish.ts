import { sql, type Insertable, type Selectable, type Transaction } from 'kysely';
import { z } from 'zod';
import type { EventScope } from '../connectors/event-scopes.ts';
import type { Context } from '../context.ts';
import { newOrderedId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import { isPostgres, manyRows, perDatabase, runKept } from '../store/kept.ts';
import type { Environment, Tables } from '../store/schema.ts';
import { SUBSCRIPTION_ORDER } from './claim.ts';
import { targetOf, type SubscriptionRow } from './target.ts';

/** Something that happened to a record of an app. */
export interface NewEvent {
  eventScope: EventScope;
  event: 'created' | 'updated' | 'deleted';
  /** The unified record's `id`. */
  recordId: string;
  /** The unified record as it is delivered; of a deleted one `{id, remoteId, deletedAt}`. */
  body: JsonObject;
}

export interface EventSource {
  sourceId: string;
  environment: Environment;
}

export type PublishContext = Pick<Context, 'clock' | 'db' | 'keys' | 'log' | 'deliverer'>;
/** What telling of events takes: workflows begin with them. */
export type EventContext = PublishContext & Pick<Context, 'runs' | 'store'>;
type Tx = Transaction<Tables>;

/** Says that an event is one of a backfill: only who asked for it is told. */
export const BACKFILL_MARK = 'x-svc-backfill';

/** An event as it is stored; its members in the order of newEvent(). */
export type EventRow = Selectable<Tables['events']>;

/** An event of this moment, to be stored. `body` is JSON. */
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
 * Those of a source, held until the transaction ends, and with each whether workflows listen to it too, and anybody to its
 * whole environment. SQLite holds all there is, and its sorter costs ten times what the look-up does.
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
        .as('workflows_too'),
    )
    .select((e) =>
      e
        .exists(
          e
            .selectFrom('subscriptions as others')
            .select('others.environment')
            .where('others.environment', '=', 'development')
            // Written out, so that the partial index is seen to fit.
            .where('others.kind', '=', sql.lit('listener'))
            .where('others.source_id', 'is', null),
        )
        .as('listeners_too'),
    )
    .where('source_id', '=', '');
  return (isPostgres(db) ? found.orderBy(SUBSCRIPTION_ORDER).forUpdate() : found).compile();
});
/** Whoever tells one of them may have its row already: the others' come before it, or after. */
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
    // Written out, so that the partial index is seen to fit.
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
/** For who holds the row: `returning` costs SQLite as much as the update does. */
const setNumber = perDatabase((db) =>
  db.updateTable('subscriptions').set({ sequence: 1 }).where('subscription_id', '=', '').compile(),
);

/**
 * Inserts events of a source and, for each active subscription of it that wants them, a numbered delivery, in the
 * caller's transaction. A disabled subscription collects nothing: recover() makes what it missed from the events, which
 * are kept as long as anybody wants their kind. Installations of workflows that listen to the source run. After the commit,
 * `context.deliverer.committed(tx)` or `wake()` sends at once.
 * @returns how many deliveries were made.
 */
export async function publish(
  tx: Tx,
  context: EventContext,
  source: EventSource,
  events: NewEvent[],
  options: {
    /** A subscription that alone is told: its backfill. */
    only?: string;
    /** Headers of these deliveries alone: `x-svc-…` → value. */
    marks?: Record<string, string>;
  } = {},
): Promise<number> {
  if (events.length === 0) return 0;
  const { sourceId, environment } = source;
  let held: SubscriptionRow[];
  let others: SubscriptionRow[] = [];
  if (options.only === undefined) {
    const { rows } = await runKept(tx, subscribersOfSource(context.db), [sourceId, environment, sourceId]);
    const [row] = rows;
    held = rows;
    // Where there is no subscriber, nothing was said of others.
    if (!row || row.workflows_too) await context.runs.onEvents(tx, context, source, events);
    if (!row || row.listeners_too) others = await listeners(tx, context, environment);
  } else {
    held = (await runKept(tx, oneSubscriber(context.db), [options.only, sourceId])).rows;
  }
  const stored = events.map(({ eventScope, event, recordId, body }) =>
    newEvent(context, {
      environment,
      sourceId,
      scope: eventScope,
      event,
      recordId,
      body: JSON.stringify(body),
    }),
  );
  return announce(tx, context, stored, { held, others, marks: options.marks });
}

/** Whoever runs `gatehouse listen` for a whole environment. */
export async function listeners(
  tx: Tx,
  { db }: Pick<Context, 'db'>,
  environment: Environment,
): Promise<SubscriptionRow[]> {
  return (await runKept(tx, listenersOfEnvironment(db), [environment])).rows;
}

/** Stores what any of the subscribers wants and numbers it for those that are active. @returns deliveries made. */
export async function announce(
  tx: Tx,
  context: PublishContext,
  events: readonly EventRow[],
  subscribers: {
    /** Those whose rows are as they were read until the transaction ends. */
    held?: readonly SubscriptionRow[];
    others: readonly SubscriptionRow[];
    marks?: Record<string, string> | undefined;
  },
): Promise<number> {
  const { held = [], others, marks } = subscribers;
  const wishes = [
    ...held.map((row) => ({ row, kinds: wantedKinds(row), isHeld: true })),
    ...others.map((row) => ({ row, kinds: wantedKinds(row), isHeld: false })),
  ];
  // In the order of their ids, so that two transactions never wait for each other's rows.
  if (wishes.length > 1) wishes.sort((a, b) => (a.row.subscription_id < b.row.subscription_id ? -1 : 1));
  const wanted = events.filter(({ event }) =>
    wishes.some(({ kinds }) => kinds === 'all' || kinds.has(event)),
  );
  if (wanted.length === 0) return 0;
  await insertEvents(context.db, tx, wanted);

  const markText = marks === undefined ? null : JSON.stringify(marks);
  const deliveries: Insertable<Tables['deliveries']>[] = [];
  for (const { row, kinds, isHeld } of wishes) {
    const mine = kinds === 'all' ? wanted : wanted.filter(({ event }) => kinds.has(event));
    if (mine.length === 0 || row.status !== 'active') continue;
    const last = await (isHeld ? numberHeld : number)(tx, context, row, mine.length);
    // Disabled by another process since the row was read.
    if (last === undefined) continue;
    deliveries.push(...deliveriesOf(tx, context, row, mine, { last, marks: markText }));
  }
  await insertDeliveries(context.db, tx, deliveries);
  return deliveries.length;
}

/** Deliveries of events that are stored already, to one subscription. */
export async function deliverStored(
  tx: Tx,
  context: PublishContext,
  row: SubscriptionRow,
  events: readonly EventRow[],
  marks?: Record<string, string>,
): Promise<string[]> {
  if (events.length === 0 || row.status !== 'active') return [];
  const last = await number(tx, context, row, events.length);
  if (last === undefined) return [];
  const deliveries = deliveriesOf(tx, context, row, events, {
    last,
    marks: marks === undefined ? null : JSON.stringify(marks),
  });
  await insertDeliveries(context.db, tx, deliveries);
  return deliveries.map((delivery) => delivery.delivery_id);
}

/** Takes the next `count` numbers of a subscription. @returns the last of them; undefined when it is disabled by now. */
async function number(
  tx: Tx,
  { db }: Pick<Context, 'db'>,
  row: SubscriptionRow,
  count: number,
): Promise<number | undefined> {
  const { rows } = await runKept(tx, takeNumbers(db), [count, row.subscription_id, 'active']);
  return rows[0]?.sequence;
}

async function numberHeld(
  tx: Tx,
  { db }: Pick<Context, 'db'>,
  row: SubscriptionRow,
  count: number,
): Promise<number> {
  const last = row.sequence + count;
  await runKept(tx, setNumber(db), [last, row.subscription_id]);
  return last;
}

/** Rows to insert, the last one numbered `last`; what may be sent at once is handed over. */
function deliveriesOf(
  tx: Tx,
  context: PublishContext,
  row: SubscriptionRow,
  events: readonly EventRow[],
  { last, marks }: { last: number; marks: string | null },
): Insertable<Tables['deliveries']>[] {
  const now = context.clock.now();
  const target = row.kind === 'listener' ? undefined : targetOf(context, row);
  const offer = target && context.deliverer.offer(tx, target);
  return events.map((event, position) => {
    const deliveryId = newOrderedId('msg', now);
    const sequence = last - events.length + 1 + position;
    const lease = offer?.take({
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

const kindsText = z.array(z.string());
const readKinds = new Map<string, ReadonlySet<string>>();
const MAX_READ_KINDS = 1000;

function wantedKinds(row: SubscriptionRow): 'all' | ReadonlySet<string> {
  if (row.kind === 'listener' && row.source_id === null) return 'all';
  let kinds = readKinds.get(row.events);
  if (!kinds) {
    kinds = new Set(kindsText.parse(JSON.parse(row.events)));
    if (readKinds.size >= MAX_READ_KINDS) readKinds.clear();
    readKinds.set(row.events, kinds);
  }
  return kinds;
}
