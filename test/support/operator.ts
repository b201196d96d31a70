import type { OpenContext } from '../../src/context.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { createOperator, type Operator } from '../../src/outbox/operator-events.ts';

/** Creates operator notices of a process that does not serve: the notices wait in the store. */
export function silentOperator(
  context: Pick<OpenContext, 'db' | 'store' | 'clock' | 'keys' | 'log' | 'outbound'>,
): Operator {
  const dispatcher = new Dispatcher(context, { outbound: context.outbound, scheduleMs: [] });
  return createOperator({ ...context, dispatcher });
}
