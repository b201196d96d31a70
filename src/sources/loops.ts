import type { Context, Intake, Sources } from './context.ts';
import { planJob } from '../runtime/jobs.ts';
import { MINUTE } from '../lib/clock.ts';
import { loadOnce } from '../lib/memo.ts';
import { createLoop, type Loop } from '../runtime/loop.ts';
import type { SourceTurns } from './source-turns.ts';

/** Concurrent polls of one process. A poll or a job mostly waits for an app. */
const MAX_POLLS = 128;
const MAX_SHORT_JOBS = 8;
/**
 * Backfills and inventories have slots of their own. Otherwise listings of slow apps would delay everybody's
 * registrations.
 */
const MAX_READINGS = 8;
/**
 * Sources whose webhooks are processed at the same time. Some webhooks require reading a record at the app.
 */
const MAX_INBOXES = 64;

/**
 * Creates the loops. It loads the turns at the first turn, because a process that serves stdio runs none.
 */
export function createSources(): Sources {
  let served: Context | undefined;
  const turns = loadOnce(async (): Promise<SourceTurns> => (await import('./source-turns.ts')).createTurns());
  const loopOf = (name: keyof SourceTurns, most: number): Loop =>
    createLoop({
      most,
      turn: async (options) => (served ? (await turns())[name](served, options) : []),
      onError: (error) => served?.log.error({ err: error }, 'source loop failed'),
    });
  const loops = [
    loopOf('inbox', MAX_INBOXES),
    loopOf('polls', MAX_POLLS),
    loopOf('shortJobs', MAX_SHORT_JOBS),
    loopOf('readings', MAX_READINGS),
  ];
  let begun: Promise<void> | undefined;
  let intake: (() => Promise<Intake>) | undefined;
  const wake = (): void => {
    for (const loop of loops) loop.wake();
  };
  return {
    start(context) {
      served = context;
      for (const loop of loops) loop.every(context.intervals.workMs);
      begun = planJob(context.db, context, {
        kind: 'forget',
        key: 'all',
        payload: {},
        delayMs: MINUTE,
      }).catch((error: unknown) => context.log.error({ err: error }, 'prune job not planned'));
      wake();
    },
    wake,
    intake(context) {
      intake ??= loadOnce(async () => (await import('./webhooks/intake.ts')).createIntake(context));
      return intake();
    },
    async close() {
      await Promise.all([begun, ...loops.map((loop) => loop.close())]);
    },
  };
}
