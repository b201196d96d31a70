import { sql } from 'kysely';
import type { Tx } from '../../schema.ts';
import { index, stamped } from '../table-parts.ts';

/** Creates the sources of events, the subscriptions, and the outbox. */
export async function createEventTables(tx: Tx): Promise<void> {
  await sources(tx);
  await seen(tx);
  await inbox(tx);
  await manualHooks(tx);
  await fieldMappings(tx);
  await subscriptions(tx);
  await events(tx);
  await deliveries(tx);
  await deliveryAttempts(tx);
}

async function sources(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('sources')
    .addColumn('source_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.user_id').onDelete('cascade'))
    .addColumn('credential_id', 'text', (c) =>
      c.notNull().references('credentials.credential_id').onDelete('cascade'),
    )
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('reason', 'text')
    .addColumn('baseline_at', 'bigint')
    .addColumn('cursor_until', 'bigint')
    .addColumn('continuation', 'text')
    .addColumn('next_poll_at', 'bigint', (c) => c.notNull())
    .addColumn('interval_ms', 'integer', (c) => c.notNull())
    .addColumn('next_reconcile_at', 'bigint')
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('lease_token', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('fence', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('hook_hash', 'text', (c) => c.unique())
    .addColumn('hook_sealed', 'text')
    .addColumn('hook_state', 'text', (c) => c.notNull())
    .$call(stamped)
    .addUniqueConstraint('sources_of_credential', ['credential_id', 'scope'])
    .execute();
  await index(tx, 'sources', ['status', 'next_poll_at']);
  await index(tx, 'sources', ['user_id']);
}

async function seen(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('seen')
    .addColumn('source_id', 'text', (c) => c.notNull().references('sources.source_id').onDelete('cascade'))
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('seen_at', 'bigint', (c) => c.notNull())
    .addColumn('state', 'text')
    .addColumn('silent', 'integer', (c) => c.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('seen_key', ['source_id', 'key'])
    .execute();
  await index(tx, 'seen', ['seen_at']);
}

async function inbox(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('inbox')
    .addColumn('inbox_id', 'text', (c) => c.primaryKey())
    .addColumn('source_id', 'text', (c) => c.notNull().references('sources.source_id').onDelete('cascade'))
    .addColumn('dedupe_key', 'text', (c) => c.notNull())
    .addColumn('topic', 'text', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .addColumn('received_at', 'bigint', (c) => c.notNull())
    .addColumn('processed_at', 'bigint')
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_at', 'bigint', (c) => c.notNull())
    .addColumn('error', 'text')
    .addUniqueConstraint('inbox_once', ['source_id', 'dedupe_key'])
    .execute();
  await index(tx, 'inbox', ['processed_at', 'next_at']);
  // Waiting webhooks are found without walking over the processed ones, which are far more.
  await sql`create index inbox_waiting on inbox (source_id, received_at, next_at)
    where processed_at is null`.execute(tx);
}

async function manualHooks({ schema }: Tx): Promise<void> {
  await schema
    .createTable('manual_hooks')
    .addColumn('credential_id', 'text', (c) =>
      c.primaryKey().references('credentials.credential_id').onDelete('cascade'),
    )
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('hook_hash', 'text', (c) => c.notNull().unique())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('last_at', 'bigint')
    .$call(stamped)
    .execute();
}

async function fieldMappings(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('field_mappings')
    .addColumn('mapping_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('connector_id', 'text')
    .addColumn('credential_id', 'text', (c) => c.references('credentials.credential_id').onDelete('cascade'))
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('fields', 'text', (c) => c.notNull())
    .$call(stamped)
    .execute();
  // A unique index never treats nulls as equal.
  await sql`create unique index field_mappings_once
    on field_mappings (environment, scope, coalesce(connector_id, ''), coalesce(credential_id, ''))`.execute(
    tx,
  );
  await index(tx, 'field_mappings', ['environment', 'created_at', 'mapping_id']);
}

async function subscriptions(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('subscriptions')
    .addColumn('subscription_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
    .addColumn('credential_id', 'text', (c) => c.references('credentials.credential_id').onDelete('cascade'))
    .addColumn('source_id', 'text', (c) => c.references('sources.source_id').onDelete('cascade'))
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('events', 'text', (c) => c.notNull())
    .addColumn('headers_sealed', 'text')
    .addColumn('secret_sealed', 'text', (c) => c.notNull())
    .addColumn('previous_secrets_sealed', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('reason', 'text')
    .addColumn('rate_per_second', 'integer')
    .addColumn('ordered', 'integer', (c) => c.notNull())
    .addColumn('sequence', 'bigint', (c) => c.notNull().defaultTo(0))
    .addColumn('next_slot_at', 'bigint')
    .addColumn('failing_since', 'bigint')
    .addColumn('backfill', 'text', (c) => c.notNull())
    .addColumn('backfill_after', 'text')
    .$call(stamped)
    .addColumn('hold_until', 'bigint')
    .addUniqueConstraint('subscriptions_once', ['credential_id', 'scope', 'address'])
    .execute();
  await index(tx, 'subscriptions', ['source_id']);
  await index(tx, 'subscriptions', ['user_id']);
  await sql`create unique index subscriptions_of_operator on subscriptions (environment)
    where kind = 'operator'`.execute(tx);
  await sql`create index subscriptions_of_listeners on subscriptions (environment)
    where kind = 'listener'`.execute(tx);
  await index(tx, 'subscriptions', ['environment', 'kind', 'created_at']);
  await index(tx, 'subscriptions', ['environment', 'kind', 'user_id', 'created_at']);
  await index(tx, 'subscriptions', ['environment', 'kind', 'credential_id', 'created_at']);
  // Each read of the metrics counts these rows, which are few.
  await sql`create index subscriptions_disabled on subscriptions (kind) where status = 'disabled'`.execute(
    tx,
  );
}

async function events(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('events')
    .addColumn('event_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('source_id', 'text')
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('event', 'text', (c) => c.notNull())
    .addColumn('record_id', 'text', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  // Old events are found source by source, so no index begins with the time.
  await index(tx, 'events', ['source_id', 'created_at']);
}

async function deliveries(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('deliveries')
    .addColumn('delivery_id', 'text', (c) => c.primaryKey())
    .addColumn('subscription_id', 'text', (c) =>
      c.notNull().references('subscriptions.subscription_id').onDelete('cascade'),
    )
    .addColumn('event_id', 'text', (c) => c.notNull().references('events.event_id').onDelete('cascade'))
    .addColumn('sequence', 'bigint', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('step', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_at', 'bigint', (c) => c.notNull())
    .addColumn('lease_token', 'text')
    .addColumn('last_status', 'integer')
    .addColumn('last_error', 'text')
    .addColumn('marks', 'text')
    .$call(stamped)
    // Most deliveries have one attempt, the first, which needs no row of its own.
    .addColumn('first_attempt', 'text')
    // Most deliveries never wait: the publisher hands them over. One small index finds those whose process died.
    .addColumn('offered', 'integer', (c) => c.notNull().defaultTo(0))
    // Recovering an event twice gives one delivery. The event comes first in the key, so that deleting an event finds
    // its deliveries.
    .addUniqueConstraint('deliveries_once', ['event_id', 'subscription_id'])
    .execute();
  await index(tx, 'deliveries', ['subscription_id', 'sequence']);
  // Failed deliveries are found without walking over the finished ones, which are far more.
  await sql`create index deliveries_dead_by_subscription_id_sequence on deliveries (subscription_id, sequence)
    where status = 'dead'`.execute(tx);
  await sql`create index deliveries_cancelled_by_subscription_id_sequence on deliveries (subscription_id, sequence)
    where status = 'cancelled'`.execute(tx);
  // Waiting deliveries are few compared with finished ones. These indexes stay small, because a finished delivery
  // leaves them.
  await sql`create index deliveries_waiting_by_next_at on deliveries (next_at)
    where status = 'waiting' and offered = 0`.execute(tx);
  await sql`create index deliveries_waiting_by_subscription_id_next_at on deliveries (subscription_id, next_at)
    where status = 'waiting' and offered = 0`.execute(tx);
  await sql`create index deliveries_waiting_by_subscription_id_sequence on deliveries (subscription_id, sequence)
    where status = 'waiting' and offered = 0`.execute(tx);
  // These rows are few, so the search for ended leases may walk over all of them.
  await sql`create index deliveries_offered on deliveries (subscription_id, sequence, next_at)
    where status = 'waiting' and offered = 1`.execute(tx);
}

async function deliveryAttempts({ schema }: Tx): Promise<void> {
  await schema
    .createTable('delivery_attempts')
    .addColumn('delivery_id', 'text', (c) =>
      c.notNull().references('deliveries.delivery_id').onDelete('cascade'),
    )
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('at', 'bigint', (c) => c.notNull())
    .addColumn('duration_ms', 'integer', (c) => c.notNull())
    .addColumn('status', 'integer')
    .addColumn('error', 'text')
    .addColumn('excerpt', 'text')
    .addPrimaryKeyConstraint('delivery_attempts_key', ['delivery_id', 'number'])
    .execute();
}
