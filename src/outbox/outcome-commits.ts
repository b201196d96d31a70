import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { SECOND } from '../lib/clock.ts';
import { createGroupCommit } from '../store/group-commit.ts';
import { cancelWaiting } from './cancel.ts';
import { announceDisabled } from './operator-events.ts';
import type { PublishContext } from './publish.ts';
import { settle, type Disabled, type Outcome } from './outcome.ts';

/** Writes down what attempts came to, many in one commit. */
export interface Outcomes {
  /**
   * Resolves when it is written, however long that takes: the answer of the receiver counts, not our trouble with the
   * store. Answers with the end of the subscription, where this was it.
   */
  write(outcome: Outcome): Promise<Disabled | undefined>;
  /** Deliveries whose outcome the store did not take yet. While there are any, nothing new should begin. */
  readonly unwritten: ReadonlySet<string>;
  /** Gives up what is still unwritten, whose leases will end as after a crash, and what is still to be cancelled. */
  close(): Promise<void>;
}

const WRITE_AGAIN_MS = SECOND;

export function createOutcomes(context: PublishContext & Pick<Context, 'log' | 'store'>): Outcomes {
  const { db, log } = context;
  const unwritten = new Set<string>();
  const cancelling = new Map<string, Promise<void>>();
  const stop = new AbortController();
  const settles = createGroupCommit<Outcome, Disabled | undefined>(db, async (tx, outcomes) => {
    const { written, disabled } = await settle(tx, context, outcomes);
    for (const one of disabled) await announceDisabled(tx, context, one);
    for (const { item } of outcomes) {
      // It stood still past its lease, or the subscription is gone: whoever has it now writes what came of it.
      if (!written.has(item.deliveryId))
        log.info({ deliveryId: item.deliveryId }, 'delivery is no longer ours');
    }
    return outcomes.map(({ target }) =>
      disabled.find((one) => one.target.subscriptionId === target.subscriptionId),
    );
  });
  /** Beside what follows: nobody waits for it. Several outcomes may tell of the same end. */
  const cancel = (subscriptionId: string): void => {
    if (cancelling.has(subscriptionId)) return;
    const cancelled = cancelWaiting(context, subscriptionId, stop.signal)
      .catch((error: unknown) => log.error({ err: error, subscriptionId }, 'deliveries not cancelled'))
      .finally(() => cancelling.delete(subscriptionId));
    cancelling.set(subscriptionId, cancelled);
  };
  return {
    async write(outcome) {
      const { deliveryId } = outcome.item;
      logAttempt(log, outcome);
      for (;;) {
        try {
          const disabled = await settles.add(outcome);
          unwritten.delete(deliveryId);
          if (disabled) cancel(disabled.target.subscriptionId);
          return disabled;
        } catch (error) {
          log.error({ err: error, deliveryId }, 'outcome not written; trying again');
          unwritten.add(deliveryId);
          if (stop.signal.aborted) return undefined;
          await sleep(WRITE_AGAIN_MS);
        }
      }
    },
    unwritten,
    async close() {
      await settles.idle();
      stop.abort();
      await Promise.all(cancelling.values());
    },
  };
}

function logAttempt(log: Context['log'], { item, target, status, error, durationMs }: Outcome): void {
  log.info(
    {
      deliveryId: item.deliveryId,
      subscriptionId: target.subscriptionId,
      attempt: item.attempts + 1,
      status,
      error,
      durationMs,
    },
    'delivery',
  );
}
