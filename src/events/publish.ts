import { sql, type Insertable, type Transaction } from 'kysely';
import { z } from 'zod';
import type { EventScope } from '../connectors/event-scopes.ts';
import type { Context } from '../context.ts';
import { newOrderedId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import { manyRows, perDatabase, runKept } from '../store/kept.ts';
import type { Environment, Tables } from '../store/schema.ts';
import { toTarget, type SubscriptionRow } from './target.ts';

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

export type PublishContext = Pick<Context, 'clock' | 'db' | 'keys' | 'deliverer'>;
/** What telling of events takes: workflows begin with them. */
export type EventContext = PublishContext & Pick<Context, 'runs'>;
type Tx = Transaction<Tables>;

/** An event as it is stored, before it has its id. */
export interface EventFacts {
  environment: Environment;
  sourceId: string | null;
  scope: string;
  event: string;
  recordId: string;
  body: string;
}

const insertEvents = manyRows((db, rows: Insertable<Tables['events']>[]) =>
  db.insertInto('events').values(rows),
);
const insertDeliveries = manyRows((db, rows: Insertable<Tables['deliveries']>[]) =>
  db.insertInto('deliveries').values(rows),
);
/**
 * Those of a source, and with each whether workflows listen to it too, and anybody to its whole environment. Sorted here:
 * SQLite's sorter costs ten times what the look-up does.
 */
const subscribersOfSource = perDatabase((db) =>
  db
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
    .where('source_id', '=', '')
    .compile(),
);
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
  const { rows } = await runKept(tx, subscribersOfSource(context.db), [sourceId, environment, sourceId]);
  const [row] = rows;
  let subscribers: SubscriptionRow[] = rows;
  if (options.only === undefined) {
    // Where there is no subscriber, nothing was said of others.
    if (!row || row.workflows_too) await context.runs.onEvents(tx, context, source, events);
    if (!row || row.listeners_too) subscribers = [...rows, ...(await listeners(tx, context, environment))];
  } else {
    // A backfill tells one subscriber of what is old.
    subscribers = rows.filter(({ subscription_id: id }) => id === options.only);
  }
  const facts = events.map(({ eventScope, event, recordId, body }): EventFacts => ({
    environment,
    sourceId,
    scope: eventScope,
    event,
    recordId,
    body: JSON.stringify(body),
  }));
  return announce(tx, context, facts, subscribers, options.marks);
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
  facts: readonly EventFacts[],
  subscribers: readonly SubscriptionRow[],
  marks?: Record<string, string>,
): Promise<number> {
  // In the order of their ids, so that two transactions never wait for each other's rows.
  const wishes = subscribers
    .toSorted((a, b) => (a.subscription_id < b.subscription_id ? -1 : 1))
    .map((row) => ({ row, kinds: wantedKinds(row) }));
  const now = context.clock.now();
  const wanted = facts
    .filter(({ event }) => wishes.some(({ kinds }) => kinds === 'all' || kinds.has(event)))
    .map((fact) => ({ eventId: newOrderedId('evt', now), ...fact }));
  if (wanted.length === 0) return 0;
  await insertEvents(
    context.db,
    tx,
    wanted.map((fact) => ({
      event_id: fact.eventId,
      environment: fact.environment,
      source_id: fact.sourceId,
      scope: fact.scope,
      event: fact.event,
      record_id: fact.recordId,
      body: fact.body,
      created_at: now,
    })),
  );

  const markText = marks === undefined ? null : JSON.stringify(marks);
  const deliveries: Insertable<Tables['deliveries']>[] = [];
  for (const { row, kinds } of wishes) {
    const mine = kinds === 'all' ? wanted : wanted.filter(({ event }) => kinds.has(event));
    deliveries.push(...(await number(tx, context, row, mine, markText, now)));
  }
  await insertDeliveries(context.db, tx, deliveries);
  return deliveries.length;
}

/** Deliveries of events that are stored already, to one subscription. */
export async function deliverStored(
  tx: Tx,
  context: PublishContext,
  row: SubscriptionRow,
  events: readonly StoredEvent[],
  marks?: Record<string, string>,
): Promise<string[]> {
  const markText = marks === undefined ? null : JSON.stringify(marks);
  const deliveries = await number(tx, context, row, events, markText, context.clock.now());
  await insertDeliveries(context.db, tx, deliveries);
  return deliveries.map((delivery) => delivery.delivery_id);
}

export type StoredEvent = EventFacts & { eventId: string };

async function number(
  tx: Tx,
  context: PublishContext,
  row: SubscriptionRow,
  events: readonly StoredEvent[],
  marks: string | null,
  now: number,
): Promise<Insertable<Tables['deliveries']>[]> {
  if (events.length === 0 || row.status !== 'active') return [];
  const { rows } = await runKept(tx, takeNumbers(context.db), [events.length, row.subscription_id, 'active']);
  const last = rows[0]?.sequence;
  // Disabled by another process since the row was read.
  if (last === undefined) return [];
  const offer = row.kind === 'listener' ? undefined : context.deliverer.offer(tx, toTarget(context, row));
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
      event_id: event.eventId,
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
