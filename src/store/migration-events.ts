import { sql } from 'kysely';
import type { Tx } from './schema.ts';
import { index, stamped } from './migration-helpers.ts';

/** Adds sources, subscriptions, the outbox, and the tables of polling and intake. */
export async function events(tx: Tx): Promise<void> {
  await sources(tx);
  await subscriptions(tx);
  await deliveries(tx);
  await jobsAndMappings(tx);
}

async function sources(tx: Tx): Promise<void> {
  const { schema } = tx;

  await stamped(
    schema
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
      .addColumn('hook_state', 'text', (c) => c.notNull()),
  )
    .addUniqueConstraint('sources_of_credential', ['credential_id', 'scope'])
    .execute();
  await index(tx, 'sources', ['status', 'next_poll_at']);
  await index(tx, 'sources', ['user_id']);

  await schema
    .createTable('seen')
    .addColumn('source_id', 'text', (c) => c.notNull().references('sources.source_id').onDelete('cascade'))
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('seen_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('seen_key', ['source_id', 'key'])
    .execute();
  await index(tx, 'seen', ['seen_at']);

  await schema
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
}

async function subscriptions(tx: Tx): Promise<void> {
  const { schema } = tx;

  await stamped(
    schema
      .createTable('subscriptions')
      .addColumn('subscription_id', 'text', (c) => c.primaryKey())
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('user_id', 'text', (c) => c.references('users.user_id').onDelete('cascade'))
      .addColumn('credential_id', 'text', (c) =>
        c.references('credentials.credential_id').onDelete('cascade'),
      )
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
      .addColumn('backfill_after', 'text'),
  )
    .addUniqueConstraint('subscriptions_once', ['credential_id', 'scope', 'address'])
    .execute();
  await index(tx, 'subscriptions', ['source_id']);
  await index(tx, 'subscriptions', ['user_id']);
  await sql`create unique index subscriptions_of_operator on subscriptions (environment) where kind = 'operator'`.execute(
    tx,
  );
  await sql`create index subscriptions_of_listeners on subscriptions (environment) where kind = 'listener'`.execute(
    tx,
  );
}

async function deliveries(tx: Tx): Promise<void> {
  const { schema } = tx;

  await schema
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
  await index(tx, 'events', ['source_id', 'created_at']);
  await index(tx, 'events', ['created_at']);

  await stamped(
    schema
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
      .addColumn('marks', 'text'),
  )
    // Recovering an event twice gives one delivery. The event comes first in the key, so that deleting an event finds
    // its deliveries.
    .addUniqueConstraint('deliveries_once', ['event_id', 'subscription_id'])
    .execute();
  await index(tx, 'deliveries', ['subscription_id', 'sequence']);
  // Waiting deliveries are few compared with finished ones. These indexes stay small, because a finished delivery
  // leaves them.
  for (const columns of [['next_at'], ['subscription_id', 'next_at'], ['subscription_id', 'sequence']]) {
    const name = `deliveries_waiting_by_${columns.join('_')}`;
    await sql`create index ${sql.id(name)} on deliveries (${sql.join(columns.map((c) => sql.id(c)))}) where status = 'waiting'`.execute(
      tx,
    );
  }

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

async function jobsAndMappings(tx: Tx): Promise<void> {
  const { schema } = tx;

  await stamped(
    schema
      .createTable('jobs')
      .addColumn('job_id', 'text', (c) => c.primaryKey())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('key', 'text', (c) => c.notNull())
      .addColumn('payload', 'text', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
      .addColumn('next_at', 'bigint', (c) => c.notNull())
      .addColumn('lease_token', 'text')
      .addColumn('lease_until', 'bigint')
      .addColumn('error', 'text'),
  )
    .addUniqueConstraint('jobs_once', ['kind', 'key'])
    .execute();
  await index(tx, 'jobs', ['next_at']);

  await stamped(
    schema
      .createTable('field_mappings')
      .addColumn('mapping_id', 'text', (c) => c.primaryKey())
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('connector_id', 'text')
      .addColumn('credential_id', 'text', (c) =>
        c.references('credentials.credential_id').onDelete('cascade'),
      )
      .addColumn('scope', 'text', (c) => c.notNull())
      .addColumn('fields', 'text', (c) => c.notNull()),
  ).execute();
  await index(tx, 'field_mappings', ['environment', 'scope']);
}

/** Adds the webhooks that people set up at apps by hand. */
export async function manualHooks({ schema }: Tx): Promise<void> {
  await stamped(
    schema
      .createTable('manual_hooks')
      .addColumn('credential_id', 'text', (c) =>
        c.primaryKey().references('credentials.credential_id').onDelete('cascade'),
      )
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('hook_hash', 'text', (c) => c.notNull().unique())
      .addColumn('sealed', 'text', (c) => c.notNull())
      .addColumn('last_at', 'bigint'),
  ).execute();
}
