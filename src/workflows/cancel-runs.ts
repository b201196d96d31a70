import type { Base } from '../base.ts';
import type { Tx } from '../store/schema.ts';
import type { RunRow } from './begin.ts';
import { cancelWaiting } from './step-rows.ts';

const LIVE: RunRow['status'][] = ['queued', 'running', 'waiting'];

/** Cancels the live runs of an installation, in the transaction that removes it. */
export async function cancelRunsOf(
  tx: Tx,
  context: Pick<Base, 'clock'>,
  installationId: string,
): Promise<void> {
  await endLive(tx, context, (runs) => runs.where('installation_id', '=', installationId));
}

/**
 * Cancels those of the runs that are live. A running step is finished and recorded.
 * @returns the number of cancelled runs.
 */
export async function endLive(
  tx: Tx,
  { clock }: Pick<Base, 'clock'>,
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
        // A process that works on a run keeps the lease until its step has ended; other runs have no lease.
        next_at: e.case().when('status', '=', 'running').then(e.ref('next_at')).else(now).end(),
      }))
      .where('status', 'in', LIVE),
  )
    .returning('run_id')
    .execute();
  for (const { run_id: runId } of rows) await cancelWaiting(tx, runId, now);
  return rows.length;
}
