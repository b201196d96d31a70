import type { Context } from '../context.ts';
import { anewJob } from './accounts.ts';
import { backfillJob } from './backfill.ts';
import { forgetJob } from './forget.ts';
import { processInbox } from './inbox.ts';
import { inventoryJob } from './inventory.ts';
import { makeDueAfterJump } from './jumps.ts';
import { pollSource } from './poll.ts';
import { registerJob } from './register.ts';
import { resealJob } from './reseal.ts';
import { beginFairly } from './shares.ts';
import { claimSources, resumeSources } from './sources.ts';
import { unregisterJob } from './unregister.ts';

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
