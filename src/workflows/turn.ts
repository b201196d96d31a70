import type { Context } from './context.ts';
import { SECOND } from '../lib/clock.ts';
import { whileRenewing } from '../runtime/lease.ts';
import { advance } from './advance.ts';
import type { RunRow } from './begin.ts';
import { claimRuns } from './claim-runs.ts';
import { fireSchedules } from './occasions.ts';
import { createRunSweep } from './run-retention.ts';
import { LEASE_MS, Overtaken, renewLease } from './step-rows.ts';

/** Limit of concurrent runs in one process; most of a run is waiting for answers. */
const MAX_RUNS = 16;

/** A run that this process executes. Its `work` never rejects. */
export interface StartedRun {
  userId: string;
  work: Promise<void>;
}

/** Starts or continues due runs. `users`: those of the running runs. Returns the started runs. */
export type StartRuns = (
  context: Context,
  options: { signal: AbortSignal; users: readonly string[] },
) => Promise<StartedRun[]>;

/** Creates the turn of the loop, which also fires due schedules and deletes expired runs. */
export function createTurn(): StartRuns {
  const deleteOldRuns = createRunSweep();
  return async (context, { signal, users }) => {
    await fireSchedules(context);
    await deleteOldRuns(context);
    const runs = await claimRuns(context, { most: MAX_RUNS, users });
    return runs.map((run) => ({ userId: run.user_id, work: carry(context, run, signal) }));
  };
}

/** Moves a run forward under its lease. */
async function carry(context: Context, run: RunRow, stop: AbortSignal): Promise<void> {
  const { log } = context;
  const runId = run.run_id;
  const started = performance.now();
  const renewal = {
    renew: () => renewLease(context, run),
    onError: (error: unknown) => log.warn({ runId, err: error }, 'lease not renewed'),
    leaseMs: LEASE_MS,
  };
  try {
    const outcome = await whileRenewing(renewal, () => advance(context, run, stop));
    const durationMs = Math.round(performance.now() - started);
    log.info({ runId, workflowId: run.workflow_id, outcome, durationMs }, 'run');
  } catch (error) {
    // The run was cancelled, taken over by another process, or deleted with its workflow.
    if (error instanceof Overtaken) log.info({ runId, outcome: 'overtaken' }, 'run');
    // Probably the store failed. Another turn continues the run when its lease has expired.
    else log.error({ runId, err: error, waitSeconds: LEASE_MS / SECOND }, 'run interrupted');
  }
}
