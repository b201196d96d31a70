import { z } from 'zod';
import type { Base } from '../base.ts';
import { planJob, type JobKind } from '../runtime/jobs.ts';
import { UNTIL_PRUNED } from './source.ts';
import { pruneInbox, pruneSeen } from './source-records.ts';

/** The source whose account was switched. */
const payloadSchema = z.object({ sourceId: z.string() });

/**
 * Prunes the records of the previous account, then ends the lease that keeps polls and registrations waiting.
 */
export function accountSwitchJob(context: Pick<Base, 'db' | 'clock'>): JobKind {
  return {
    attempts: 1_000_000,
    async run(payload, signal) {
      const { sourceId } = payloadSchema.parse(payload);
      const held = await context.db
        .selectFrom('sources')
        .select('lease_token')
        .where('source_id', '=', sourceId)
        .where('lease_until', '=', UNTIL_PRUNED)
        .executeTakeFirst();
      if (!held?.lease_token) return undefined;
      const onlyIf = { lease_token: held.lease_token };
      await pruneSeen(context.db, sourceId, { onlyIf, signal });
      await pruneInbox(context.db, sourceId, { onlyIf, signal });
      signal.throwIfAborted();
      // The lease differs when a further account switch happened during pruning. The job then runs again.
      return (await begin(context, sourceId, onlyIf.lease_token)) ? undefined : 0;
    },
    // The job never gives up, because the new account publishes no events until it is done.
    gaveUp: async () => 0,
  };
}

/** Ends the lease and plans the registration. Returns false when another lease has replaced this one. */
async function begin(
  context: Pick<Base, 'db' | 'clock'>,
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
    const isOurs = begun?.hook_state !== 'none' && begun?.hook_state !== 'manual';
    if (begun && begun.status !== 'ending' && isOurs)
      await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
    return begun !== undefined;
  });
}
