import type { Transaction } from 'kysely';
import type { Context } from '../context.ts';
import type { Tables } from '../store/schema.ts';
import type { RunRow } from './begin.ts';
import { cancelWaiting } from './steps.ts';

const LIVE: RunRow['status'][] = ['queued', 'running', 'waiting'];

/** Cancels what is under way of an installation, in the transaction that removes it. */
export async function cancelRunsOf(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  installationId: string,
): Promise<void> {
  await endLive(tx, context, (runs) => runs.where('installation_id', '=', installationId));
}

/** Ends those of the runs that live. A step that is under way is finished and recorded. @returns how many ended. */
export async function endLive(
  tx: Transaction<Tables>,
  { clock }: Pick<Context, 'clock'>,
  which: <Q extends { where(column: 'run_id' | 'installation_id', is: '=', id: string): Q }>(runs: Q) => Q,
): Promise<number> {
  const now = clock.now();
  const rows = await which(
    tx
      .updateTable('workflow_runs')
      .set((e) => ({
        status: 'cancelled',
        ended_at: now,
        updated_at: now,
        // Whoever is at work keeps the lease until its step has ended; of the others nobody holds one.
        next_at: e.case().when('status', '=', 'running').then(e.ref('next_at')).else(now).end(),
      }))
      .where('status', 'in', LIVE),
  )
    .returning('run_id')
    .execute();
  for (const { run_id: runId } of rows) await cancelWaiting(tx, runId, now);
  return rows.length;
}
