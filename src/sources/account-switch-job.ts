import { z } from 'zod';
import type { Context } from '../context.ts';
import { planJob, type JobKind } from '../jobs/jobs.ts';
import { UNTIL_FORGOTTEN } from './source.ts';
import { forgetInbox, forgetSeen } from './sources.ts';

/** A source that is listened to anew. */
const payloadSchema = z.object({ sourceId: z.string() });

/** Forgets what is known of the account before, then ends the lease that keeps polls and registrations from beginning. */
export function anewJob(context: Pick<Context, 'db' | 'clock'>): JobKind {
  return {
    attempts: 1_000_000,
    async run(payload, signal) {
      const { sourceId } = payloadSchema.parse(payload);
      const held = await context.db
        .selectFrom('sources')
        .select('lease_token')
        .where('source_id', '=', sourceId)
        .where('lease_until', '=', UNTIL_FORGOTTEN)
        .executeTakeFirst();
      if (!held?.lease_token) return undefined;
      const still = { lease_token: held.lease_token };
      await forgetSeen(context.db, sourceId, still, signal);
      await forgetInbox(context.db, sourceId, still, signal);
      signal.throwIfAborted();
      // Meanwhile another account may have taken the place once more.
      return (await begin(context, sourceId, still.lease_token)) ? undefined : 0;
    },
    // Until it is done nothing is told of the other account.
    gaveUp: async () => 0,
  };
}

/** Whether it was still the same lease. */
async function begin(
  context: Pick<Context, 'db' | 'clock'>,
  sourceId: string,
  leaseToken: string,
): Promise<boolean> {
  return context.db.transaction().execute(async (tx) => {
    const begun = await tx
      .updateTable('sources')
      .set({ next_poll_at: context.clock.now(), lease_token: null, lease_until: null })
      .where('source_id', '=', sourceId)
      .where('lease_token', '=', leaseToken)
      .returning(['status', 'hook_state'])
      .executeTakeFirst();
    if (begun && begun.status !== 'ending' && begun.hook_state !== 'none')
      await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
    return begun !== undefined;
  });
}
