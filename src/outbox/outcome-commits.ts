import { setTimeout as sleep } from 'node:timers/promises';
import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { cancelWaiting } from './cancel-deliveries.ts';
import { reportDisabled } from './operator-events.ts';
import type { PublishContext } from './publish.ts';
import { recordOutcomes, type Disabled, type AttemptOutcome } from './delivery-outcome.ts';

/** Stores the outcomes of attempts, many in one commit. */
export interface Outcomes {
  /**
   * Stores an outcome and retries until it is stored, because a failing store must not lose the receiver's answer.
   * Resolves to the disabled subscription, if the outcome disabled it.
   */
  write(outcome: AttemptOutcome): Promise<Disabled | undefined>;
  /** Ids of deliveries whose outcome could not be stored yet. While there are any, no attempt should begin. */
  readonly unwritten: ReadonlySet<string>;
  /** Stops retrying and cancelling. The leases of unstored outcomes expire, as after a crash. */
  close(): Promise<void>;
}

const WRITE_AGAIN_MS = SECOND;

/** `recovered` is called when the last outcome that could not be stored is stored. */
export function createOutcomes(
  context: PublishContext & Pick<Base, 'log' | 'telemetry' | 'store'>,
  recovered: () => void,
): Outcomes {
  const { store, log, telemetry } = context;
  const unwritten = new Set<string>();
  const cancelling = new Map<string, Promise<void>>();
  const stop = new AbortController();
  const commits = store.groupCommit<AttemptOutcome, Disabled | undefined>(async (tx, outcomes) => {
    const { written, disabled } = await recordOutcomes(tx, context, outcomes);
    for (const one of disabled) await reportDisabled(tx, context, one);
    for (const { item } of outcomes) {
      // The lease expired during a pause, or the subscription is gone. The new holder stores its own outcome.
      if (written.has(item.deliveryId)) continue;
      telemetry.leasesLost.count('delivery');
      log.info({ deliveryId: item.deliveryId }, 'outcome dropped, lease lost');
    }
    return outcomes.map(({ target }) =>
      disabled.find((one) => one.target.subscriptionId === target.subscriptionId),
    );
  });
  /** Cancels in the background, once per subscription: several outcomes may disable the same one. */
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
      countAttempt(telemetry, outcome);
      for (;;) {
        try {
          const disabled = await commits.add(outcome);
          if (unwritten.delete(deliveryId) && unwritten.size === 0) recovered();
          if (disabled) cancel(disabled.target.subscriptionId);
          return disabled;
        } catch (error) {
          log.error({ err: error, deliveryId }, 'outcome not stored, will retry');
          unwritten.add(deliveryId);
          if (stop.signal.aborted) return undefined;
          await sleep(WRITE_AGAIN_MS);
        }
      }
    },
    unwritten,
    async close() {
      await commits.idle();
      stop.abort();
      await Promise.all(cancelling.values());
    },
  };
}

function countAttempt(
  { deliveries, deliveryDuration }: Base['telemetry'],
  { verdict, durationMs }: AttemptOutcome,
): void {
  const outcome = typeof verdict === 'object' ? 'retried' : verdict;
  deliveries.count(outcome);
  deliveryDuration.observe(durationMs / SECOND, outcome);
}

function logAttempt(log: Base['log'], { item, target, status, error, durationMs }: AttemptOutcome): void {
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
