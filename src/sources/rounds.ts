import type { Context } from './context.ts';
import { accountSwitchJob } from './account-switch-job.ts';
import type { TurnOptions } from '../runtime/loop.ts';
import { backfillJob } from './polling/backfill.ts';
import { pruneJob } from './prune.ts';
import { processInbox } from './webhooks/inbox.ts';
import { inventoryJob } from './polling/inventory.ts';
import { makeDueAfterJump } from './clock-jumps.ts';
import { pollSource } from './polling/poll.ts';
import { registerJob } from './webhooks/register.ts';
import { resealJob } from './reseal-hooks.ts';
import { beginFairly } from './fair-scheduling.ts';
import { claimSources, resumeSources } from './sources.ts';
import { unregisterJob } from './webhooks/unregister.ts';

/** One turn of a loop: claims and starts due work, at most `freeSlots` items. Returns the started work. */
export type Round = (context: Context, options: TurnOptions) => Promise<Promise<unknown>[]>;

/** Turns stored webhooks into events. */
export const inboxRound: Round = processInbox;

/** Resumes the sources whose credential works again, and polls the due sources. */
export const pollRound: Round = async (context, { signal, freeSlots }) => {
  await makeDueAfterJump(context);
  await resumeSources(context);
  const sources = await claimSources(context, freeSlots);
  return sources.map((source) => pollSource(context, source, signal));
};

/** Runs registrations at apps and pruning: a few calls or statements each. */
export const shortJobRound: Round = (context, { signal, freeSlots }) =>
  beginFairly(
    context,
    {
      register: registerJob(context),
      unregister: unregisterJob(context),
      anew: accountSwitchJob(context),
      forget: pruneJob(context),
      reseal: resealJob(context),
    },
    { signal, most: freeSlots },
  );

/** Runs backfills and inventories. They read all records of an app, for minutes or hours. */
export const readingRound: Round = (context, { signal, freeSlots }) =>
  beginFairly(
    context,
    { backfill: backfillJob(context), inventory: inventoryJob(context) },
    { signal, most: freeSlots },
  );
