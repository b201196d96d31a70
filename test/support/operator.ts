import type { Context } from '../../src/context.ts';
import { createDeliverer } from '../../src/outbox/dispatcher.ts';
import { createOperator, type Operator } from '../../src/outbox/operator-events.ts';

/** Tells operators as a process does that does not serve: what there is to tell waits in the store. */
export function silentOperator(
  context: Pick<Context, 'db' | 'store' | 'clock' | 'keys' | 'log' | 'outbound'>,
): Operator {
  const deliverer = createDeliverer(context, { outbound: context.outbound, scheduleMs: [] });
  return createOperator({ ...context, deliverer });
}
