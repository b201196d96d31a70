import type { Base } from '../base.ts';
import type { Tx } from '../store/schema.ts';
import type { EventSource, NewEvent } from './event.ts';

/** Starts what listens to published events. */
export interface EventTriggers {
  /**
   * Queues runs of the workflow installations that listen to a source, in the transaction that publishes.
   * @returns the number of runs.
   */
  onEvents(
    tx: Tx,
    context: Pick<Base, 'clock' | 'keys' | 'db'>,
    published: { source: EventSource; events: readonly NewEvent[] },
  ): Promise<number>;
}
