import { z } from 'zod';
import { durationBelow } from '../../actions/execution-summary.ts';
import { HOUR, isoTime } from '../../lib/clock.ts';
import { defineRoute } from '../server/route.ts';
import { byHour, hoursQuery } from '../server/hour-shapes.ts';

const MAX_HOURS = 31 * 24;

const counts = {
  succeeded: z.int().meta({ description: 'Calls that succeeded.' }),
  failed: z.int().meta({ description: 'Calls that failed.' }),
  denied: z.int().meta({ description: 'Calls that a rule denied.' }),
  p50Ms: z
    .int()
    .nullable()
    .meta({ description: 'Milliseconds within which half of the calls ended; null without calls.' }),
  p95Ms: z
    .int()
    .nullable()
    .meta({ description: 'Milliseconds within which 95 % of the calls ended; null without calls.' }),
};

const EXAMPLE = { succeeded: 240, failed: 3, denied: 1, p50Ms: 85, p95Ms: 410 };

export const summarizeExecutionsRoute = defineRoute({
  method: 'GET',
  path: '/api/executions/summary',
  operationId: 'summarizeExecutions',
  tag: 'Executions',
  summary: 'Count executions by hour',
  description:
    'Calls by outcome and their durations, oldest hour first, in UTC. The last hour is not over yet. Denied calls have no duration.',
  auth: 'api_key',
  scope: 'executions:read',
  query: hoursQuery(MAX_HOURS),
  success: {
    status: 200,
    description: 'The counts, in all and by hour.',
    example: { total: EXAMPLE, hours: [{ at: '2026-03-01T12:00:00.000Z', ...EXAMPLE }] },
    schema: byHour(counts).meta({ id: 'ExecutionSummary', description: 'Counts of executions by hour.' }),
  },
  async handler({ context, caller, query }) {
    const from = context.clock.now() - (query.hours - 1) * HOUR;
    const hours = await context.executionSummaries.since(caller.environment, from);
    const sum = (key: 'succeeded' | 'failed' | 'denied') =>
      hours.reduce((total, hour) => total + hour[key], 0);
    const durations = (hours[0]?.durations ?? []).map((_, step) =>
      hours.reduce((total, hour) => total + (hour.durations[step] ?? 0), 0),
    );
    return {
      body: {
        total: {
          succeeded: sum('succeeded'),
          failed: sum('failed'),
          denied: sum('denied'),
          ...percentiles(durations),
        },
        hours: hours.map(({ durations: own, at, ...hour }) => ({
          at: isoTime(at),
          ...hour,
          ...percentiles(own),
        })),
      },
    };
  },
});

function percentiles(durations: readonly number[]) {
  return { p50Ms: durationBelow(durations, 0.5), p95Ms: durationBelow(durations, 0.95) };
}
