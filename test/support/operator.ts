import type { OpenContext } from '../../src/context.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { createOperator, type Operator } from '../../src/outbox/operator-events.ts';
import { SHORT_INTERVALS } from './clock.ts';

/** Creates operator notices of a process that does not serve: the notices wait in the store. */
export function silentOperator(
  context: Pick<OpenContext, 'db' | 'store' | 'clock' | 'keys' | 'log' | 'telemetry' | 'outbound'>,
): Operator {
  const dispatcher = new Dispatcher(
    { ...context, intervals: SHORT_INTERVALS },
    { outbound: context.outbound, scheduleMs: [] },
  );
  return createOperator({ ...context, dispatcher });
}
