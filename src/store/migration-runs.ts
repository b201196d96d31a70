import type { Tx } from './schema.ts';
import { index } from './migration-helpers.ts';

/** Event types of the operator's subscription. */
const OPERATOR_EVENTS = [
  'credential.created',
  'credential.needs_reconnect',
  'credential.deleted',
  'subscription.disabled',
  'poll.gap_risk',
  'run.failed',
  'run.recovered',
];

/**
 * Adds indexes that list runs over all workflows, the hash of a run's request, and whether its failure was reported.
 */
export async function runsOfAllWorkflows(tx: Tx): Promise<void> {
  await tx.schema.alterTable('workflow_runs').addColumn('request_hash', 'text').execute();
  await tx.schema
    .alterTable('workflow_runs')
    .addColumn('failure_reported', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  // The environment leads each index, so that both databases prefer the index with the most columns that a filter
  // names.
  await index(tx, 'workflow_runs', ['environment', 'run_id']);
  await index(tx, 'workflow_runs', ['environment', 'workflow_id', 'run_id']);
  await index(tx, 'workflow_runs', ['environment', 'user_id', 'run_id']);
  await index(tx, 'workflow_runs', ['environment', 'status', 'run_id']);
  await tx
    .updateTable('subscriptions')
    .set({ events: JSON.stringify(OPERATOR_EVENTS) })
    .where('kind', '=', 'operator')
    .execute();
}

/** Adds the step that a run tests alone. */
export async function testsOfSteps(tx: Tx): Promise<void> {
  await tx.schema.alterTable('workflow_runs').addColumn('step_id', 'text').execute();
}
