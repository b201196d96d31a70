import type { Context } from '../context.ts';
import { anewJob } from './account-switch-job.ts';
import { backfillJob } from './polling/backfill.ts';
import { forgetJob } from './prune.ts';
import { processInbox } from './webhooks/inbox.ts';
import { inventoryJob } from './polling/inventory.ts';
import { makeDueAfterJump } from './clock-jumps.ts';
import { pollSource } from './polling/poll.ts';
import { registerJob } from './webhooks/register.ts';
import { resealJob } from './reseal-hooks.ts';
import { beginFairly } from './fair-scheduling.ts';
import { claimSources, resumeSources } from './sources.ts';
import { unregisterJob } from './webhooks/unregister.ts';

/** Takes part of what is due, up to `room`, and begins it. Answers with what is under way. */
export type Round = (
  context: Context,
  how: { signal: AbortSignal; room: number },
) => Promise<Promise<unknown>[]>;

/** Webhooks that arrived become events. */
export const inboxRound: Round = processInbox;

/** Sources whose credential works again go on, and those whose time has come are polled. */
export const pollRound: Round = async (context, { signal, room }) => {
  await makeDueAfterJump(context);
  await resumeSources(context);
  const sources = await claimSources(context, room);
  return sources.map((source) => pollSource(context, source, signal));
};

/** Registrations at apps, and forgetting: a few calls or statements each. */
export const shortJobRound: Round = (context, { signal, room }) =>
  beginFairly(
    context,
    {
      register: registerJob(context),
      unregister: unregisterJob(context),
      anew: anewJob(context),
      forget: forgetJob(context),
      reseal: resealJob(context),
    },
    { signal, most: room },
  );

/** Backfills and inventories, which read all that an app has, for minutes or hours. */
export const readingRound: Round = (context, { signal, room }) =>
  beginFairly(
    context,
    { backfill: backfillJob(context), inventory: inventoryJob(context) },
    { signal, most: room },
  );
