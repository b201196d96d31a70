import { sql } from 'kysely';
import type { Tx } from './schema.ts';

/** Adds indexes that find waiting and failed rows without walking over the finished ones, which are far more. */
export async function eventIndexes(tx: Tx): Promise<void> {
  await sql`create index inbox_waiting on inbox (source_id, received_at, next_at) where processed_at is null`.execute(
    tx,
  );
  for (const status of ['dead', 'cancelled']) {
    const name = `deliveries_${status}_by_subscription_id_sequence`;
    await sql`create index ${sql.id(name)} on deliveries (subscription_id, sequence) where status = ${sql.lit(status)}`.execute(
      tx,
    );
  }
}

/**
 * Adds `offered`. Most deliveries never wait: the publisher hands them over, and they are done within milliseconds.
 * One small index finds those whose process died on the way. The three indexes of waiting deliveries are written for
 * all others only.
 */
export async function offeredDeliveries(tx: Tx): Promise<void> {
  await tx.schema
    .alterTable('deliveries')
    .addColumn('offered', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  for (const columns of [['next_at'], ['subscription_id', 'next_at'], ['subscription_id', 'sequence']]) {
    const name = `deliveries_waiting_by_${columns.join('_')}`;
    await tx.schema.dropIndex(name).execute();
    await sql`create index ${sql.id(name)} on deliveries (${sql.join(columns.map((c) => sql.id(c)))})
      where status = 'waiting' and offered = 0`.execute(tx);
  }
  // These rows are few, so the search for ended leases may walk over all of them.
  await sql`create index deliveries_offered on deliveries (subscription_id, sequence, next_at)
    where status = 'waiting' and offered = 1`.execute(tx);
}

/** Adds a column for the attempt of most deliveries: the first, which succeeds. */
export async function firstAttempts(tx: Tx): Promise<void> {
  await tx.schema.alterTable('deliveries').addColumn('first_attempt', 'text').execute();
}

/** Separates holds from rate slots, because a slot is never far ahead unless the clock was set back. */
export async function holdsOfSubscriptions(tx: Tx): Promise<void> {
  await tx.schema.alterTable('subscriptions').addColumn('hold_until', 'bigint').execute();
  await tx
    .updateTable('subscriptions')
    .set((e) => ({ hold_until: e.ref('next_slot_at'), next_slot_at: null }))
    .where('next_slot_at', 'is not', null)
    .execute();
}

/** Drops an index, because old events are found source by source. Each event costs one index write less. */
export async function eventsOfSources(tx: Tx): Promise<void> {
  await tx.schema.dropIndex('events_by_created_at').execute();
}

/** Allows one row for each level of an operator's own fields. The newer of two rows written at the same time stays. */
export async function oneFieldMapping(tx: Tx): Promise<void> {
  await sql`delete from field_mappings where exists (
    select 1 from field_mappings as newer
    where newer.environment = field_mappings.environment and newer.scope = field_mappings.scope
      and coalesce(newer.connector_id, '') = coalesce(field_mappings.connector_id, '')
      and coalesce(newer.credential_id, '') = coalesce(field_mappings.credential_id, '')
      and (newer.updated_at > field_mappings.updated_at
        or (newer.updated_at = field_mappings.updated_at and newer.mapping_id > field_mappings.mapping_id)))`.execute(
    tx,
  );
  await tx.schema.dropIndex('field_mappings_by_environment_scope').execute();
  // A unique index never treats nulls as equal.
  await sql`create unique index field_mappings_once
    on field_mappings (environment, scope, coalesce(connector_id, ''), coalesce(credential_id, ''))`.execute(
    tx,
  );
}

/** Adds the newest version of each record, so that an older version is recognized. */
export async function newestStates(tx: Tx): Promise<void> {
  await tx.schema.alterTable('seen').addColumn('state', 'text').execute();
}

/** Adds whether an observed record was stored without an event. A webhook about it then publishes the event. */
export async function silentRecords(tx: Tx): Promise<void> {
  await tx.schema
    .alterTable('seen')
    .addColumn('silent', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
}
