import { sql } from 'kysely';
import type { Tx } from '../../schema.ts';
import { index, stamped } from '../table-parts.ts';

/** Creates the workflows: versions, installations, runs, and the results of their steps. */
export async function createWorkflowTables(tx: Tx): Promise<void> {
  await workflows(tx);
  await workflowVersions(tx);
  await workflowInstallations(tx);
  await workflowRuns(tx);
  await workflowSteps(tx);
  await workflowWrites(tx);
}

async function workflows(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('workflows')
    .addColumn('workflow_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('name_key', 'text', (c) => c.notNull())
    .$call(stamped)
    .addUniqueConstraint('workflows_name', ['environment', 'name_key'])
    .execute();
  await index(tx, 'workflows', ['environment', 'created_at', 'workflow_id']);
}

async function workflowVersions({ schema }: Tx): Promise<void> {
  await schema
    .createTable('workflow_versions')
    .addColumn('workflow_id', 'text', (c) =>
      c.notNull().references('workflows.workflow_id').onDelete('cascade'),
    )
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('definition', 'text', (c) => c.notNull())
    .addColumn('draft', 'integer', (c) => c.notNull())
    .$call(stamped)
    .addPrimaryKeyConstraint('workflow_versions_key', ['workflow_id', 'version'])
    .execute();
}

async function workflowInstallations(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('workflow_installations')
    .addColumn('installation_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('workflow_id', 'text', (c) =>
      c.notNull().references('workflows.workflow_id').onDelete('cascade'),
    )
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.user_id').onDelete('cascade'))
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('previous_version', 'integer')
    .addColumn('enabled', 'integer', (c) => c.notNull())
    .addColumn('config_sealed', 'text', (c) => c.notNull())
    .addColumn('credentials', 'text', (c) => c.notNull())
    .addColumn('trigger_type', 'text', (c) => c.notNull())
    .addColumn('concurrency', 'integer', (c) => c.notNull())
    .addColumn('source_id', 'text', (c) => c.references('sources.source_id').onDelete('set null'))
    .addColumn('events', 'text')
    .addColumn('schedule', 'text')
    .addColumn('fire_at', 'bigint')
    .addColumn('hook_hash', 'text', (c) => c.unique())
    .$call(stamped)
    .addUniqueConstraint('workflow_installations_of_user', ['workflow_id', 'user_id'])
    .execute();
  await index(tx, 'workflow_installations', ['user_id']);
  await index(tx, 'workflow_installations', ['source_id']);
  await index(tx, 'workflow_installations', ['fire_at']);
  await index(tx, 'workflow_installations', ['workflow_id', 'created_at']);
}

async function workflowRuns(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('workflow_runs')
    .addColumn('run_id', 'text', (c) => c.primaryKey())
    .addColumn('environment', 'text', (c) => c.notNull())
    .addColumn('workflow_id', 'text', (c) =>
      c.notNull().references('workflows.workflow_id').onDelete('cascade'),
    )
    .addColumn('installation_id', 'text', (c) =>
      c.references('workflow_installations.installation_id').onDelete('set null'),
    )
    .addColumn('user_id', 'text', (c) => c.notNull().references('users.user_id').onDelete('cascade'))
    .addColumn('version', 'integer', (c) => c.notNull())
    .addColumn('definition', 'text')
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('trigger_type', 'text', (c) => c.notNull())
    .addColumn('trigger', 'text', (c) => c.notNull())
    .addColumn('config_sealed', 'text', (c) => c.notNull())
    .addColumn('credentials', 'text')
    .addColumn('server_id', 'text')
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('position', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_at', 'bigint', (c) => c.notNull())
    .addColumn('fence', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('dedupe', 'text')
    .addColumn('error', 'text')
    .addColumn('started_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .$call(stamped)
    .addColumn('request_hash', 'text')
    .addColumn('failure_reported', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('step_id', 'text')
    .addColumn('chain', 'integer', (c) => c.notNull().defaultTo(0))
    .addUniqueConstraint('workflow_runs_once', ['installation_id', 'dedupe'])
    .execute();
  await index(tx, 'workflow_runs', ['workflow_id', 'created_at']);
  await index(tx, 'workflow_runs', ['user_id']);
  await index(tx, 'workflow_runs', ['ended_at']);
  // Most runs have ended, and no query looks for work among them.
  await sql`create index workflow_runs_due on workflow_runs (next_at)
    where status in ('queued', 'running', 'waiting')`.execute(tx);
  await sql`create index workflow_runs_queued on workflow_runs (installation_id)
    where status = 'queued'`.execute(tx);
  await sql`create index workflow_runs_running on workflow_runs (installation_id)
    where status = 'running'`.execute(tx);
  // The environment leads each index, so that both databases prefer the index with the most columns that a filter
  // names.
  await index(tx, 'workflow_runs', ['environment', 'run_id']);
  await index(tx, 'workflow_runs', ['environment', 'workflow_id', 'run_id']);
  await index(tx, 'workflow_runs', ['environment', 'user_id', 'run_id']);
  await index(tx, 'workflow_runs', ['environment', 'status', 'run_id']);
}

async function workflowSteps({ schema }: Tx): Promise<void> {
  await schema
    .createTable('workflow_steps')
    .addColumn('run_id', 'text', (c) => c.notNull().references('workflow_runs.run_id').onDelete('cascade'))
    .addColumn('position', 'integer', (c) => c.notNull())
    .addColumn('item', 'integer', (c) => c.notNull())
    .addColumn('step_id', 'text', (c) => c.notNull())
    .addColumn('status', 'text', (c) => c.notNull())
    .addColumn('attempts', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('generation', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('input', 'text')
    .addColumn('sealed', 'text')
    .addColumn('output', 'text')
    .addColumn('output_sealed', 'text')
    .addColumn('error', 'text')
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    .addColumn('ended_at', 'bigint')
    .addPrimaryKeyConstraint('workflow_steps_key', ['run_id', 'position', 'item'])
    .execute();
}

async function workflowWrites(tx: Tx): Promise<void> {
  await tx.schema
    .createTable('workflow_writes')
    .addColumn('record_hash', 'text', (c) => c.primaryKey())
    .addColumn('chain', 'integer', (c) => c.notNull())
    .addColumn('began_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'workflow_writes', ['expires_at']);
}
