import type { SourceTurn } from './context.ts';
import { accountSwitchJob } from './account-switch-job.ts';
import { backfillJob } from './polling/backfill.ts';
import { pruneJob } from './prune.ts';
import { createInboxTurn } from './webhooks/inbox.ts';
import { inventoryJob } from './polling/inventory.ts';
import { createClockJumps } from './clock-jumps.ts';
import { pollSource } from './polling/poll.ts';
import { registerJob } from './webhooks/register.ts';
import { unchosenJob } from '../credentials/unchosen-grants.ts';
import { createFairTurn } from './fair-scheduling.ts';
import { claimSources, resumeSources } from './due-sources.ts';
import { unregisterJob } from './webhooks/unregister.ts';

/** The turns of a process, one for each of its loops. */
export interface SourceTurns {
  /** Turns stored webhooks into events. */
  inbox: SourceTurn;
  /** Resumes the sources whose credential works again, and polls the due sources. */
  polls: SourceTurn;
  /** Runs registrations at apps and pruning: a few calls or statements each. */
  shortJobs: SourceTurn;
  /** Runs backfills and inventories. They read all records of an app, for minutes or hours. */
  readings: SourceTurn;
}

export function createTurns(): SourceTurns {
  const makeDueAfterJump = createClockJumps();
  return {
    inbox: createInboxTurn(),
    async polls(context, { signal, freeSlots }) {
      await makeDueAfterJump(context);
      await resumeSources(context);
      const sources = await claimSources(context, freeSlots);
      return sources.map((source) => pollSource(context, source, signal));
    },
    shortJobs: createFairTurn((context) => ({
      register: registerJob(context),
      unregister: unregisterJob(context),
      anew: accountSwitchJob(context),
      forget: pruneJob(context),
      unchosen: unchosenJob(context),
    })),
    readings: createFairTurn((context) => ({
      backfill: backfillJob(context),
      inventory: inventoryJob(context),
    })),
  };
}
