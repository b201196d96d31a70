import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { isoTime } from '../lib/clock.ts';
import type { Db, Tables } from '../store/schema.ts';
import { eventsIn, headersShape, sealBinding, type SubscriptionRow } from '../outbox/delivery-target.ts';

/** Deliveries of a subscription that are counted at most, because it may have many. */
const MOST_COUNTED = 100;

type DescribeContext = Pick<Base, 'db' | 'keys' | 'log'>;

/** State of a source. `reason`: the last failure of a request to the app; null after a poll that works. */
type SourceState = Pick<Tables['sources'], 'kind' | 'reason'>;

/** Returns subscriptions as the API shows them, without secrets. */
export async function describeSubscriptions(context: DescribeContext, rows: readonly SubscriptionRow[]) {
  const [sources, connectors, dead] = await Promise.all([
    sourcesOf(context.db, rows),
    connectorsOf(context.db, rows),
    deadDeliveriesOf(context.db, rows),
  ]);
  return rows.map((row) => ({
    ...describe(context, row, sources.get(row.source_id ?? '')),
    deadDeliveries: dead.get(row.subscription_id) ?? 0,
    ...connectors.get(row.credential_id ?? ''),
  }));
}

/** Returns a subscription as the API shows it, without secrets. */
export async function describeSubscription(context: DescribeContext, row: SubscriptionRow) {
  const [described] = await describeSubscriptions(context, [row]);
  if (!described) throw new Error('A subscription has a description.');
  return described;
}

async function sourcesOf(db: Db, rows: readonly SubscriptionRow[]): Promise<Map<string, SourceState>> {
  const ids = rows.map((row) => row.source_id).filter((id) => id !== null);
  if (ids.length === 0) return new Map();
  const sources = await db
    .selectFrom('sources')
    .select(['source_id', 'kind', 'reason'])
    .where('source_id', 'in', [...new Set(ids)])
    .execute();
  return new Map(sources.map(({ source_id: sourceId, ...source }) => [sourceId, source]));
}

/** Returns the connectors of the connections, by connection. */
async function connectorsOf(
  db: Db,
  rows: readonly SubscriptionRow[],
): Promise<Map<string, { connectorId: string }>> {
  const ids = rows.map((row) => row.credential_id).filter((id) => id !== null);
  if (ids.length === 0) return new Map();
  const found = await db
    .selectFrom('credentials')
    .select(['credential_id', 'connector_id'])
    .where('credential_id', 'in', [...new Set(ids)])
    .execute();
  return new Map(found.map((one) => [one.credential_id, { connectorId: one.connector_id }]));
}

/** Returns how many deliveries were given up, by subscription. Counts no further than the limit. */
async function deadDeliveriesOf(db: Db, rows: readonly SubscriptionRow[]): Promise<Map<string, number>> {
  if (rows.length === 0) return new Map();
  const { rows: counted } = await sql<{ id: string; dead: string | number }>`
    select subscription_id as id, (
      select count(*) from (
        select 1 as one from deliveries
        where deliveries.subscription_id = subscriptions.subscription_id and status = ${sql.lit('dead')}
        limit ${sql.lit(MOST_COUNTED)}
      ) as found
    ) as dead
    from subscriptions where subscription_id in (${sql.join(rows.map((row) => row.subscription_id))})`.execute(
    db,
  );
  return new Map(counted.map(({ id, dead }) => [id, Number(dead)]));
}

function describe(
  context: Pick<Base, 'keys' | 'log'>,
  row: SubscriptionRow,
  source: SourceState | undefined,
) {
  return {
    subscriptionId: row.subscription_id,
    ...(row.credential_id === null ? {} : { connectionId: row.credential_id }),
    ...(row.user_id === null ? {} : { userId: row.user_id }),
    address: row.address,
    scope: row.scope,
    events: eventsIn(row.events),
    status: row.status,
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(source ? { source: source.kind } : {}),
    ...(source && source.reason !== null ? { sourceReason: source.reason } : {}),
    headers: headerNames(row, context),
    ratePerSecond: row.rate_per_second,
    ordered: row.ordered === 1,
    backfill: row.backfill,
    failingSince: isoTime(row.failing_since),
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}

/** Returns the header names. If they cannot be opened, logs that and returns none, so that a page still shows the rest. */
function headerNames(row: SubscriptionRow, { keys, log }: Pick<Base, 'keys' | 'log'>): string[] {
  if (row.headers_sealed === null) return [];
  const { subscription_id: subscriptionId } = row;
  try {
    return Object.keys(
      keys.openJson(headersShape, row.headers_sealed, sealBinding(subscriptionId, 'headers')),
    );
  } catch (error) {
    log.error({ err: error, subscriptionId }, 'subscription headers not opened');
    return [];
  }
}
