import { z } from 'zod';
import { HOUR, isoTime } from '../../lib/clock.ts';
import { defineRoute } from '../server/route.ts';
import { byHour, hoursQuery } from '../server/hour-shapes.ts';

/** Deliveries are kept for 30 days. */
const MAX_HOURS = 30 * 24;

const counts = {
  succeeded: z.int().meta({ description: 'Deliveries that arrived.' }),
  waiting: z.int().meta({ description: 'Deliveries that wait for an attempt.' }),
  dead: z.int().meta({ description: 'Deliveries that were given up after every attempt.' }),
  cancelled: z
    .int()
    .meta({ description: 'Deliveries that were cancelled because their subscription was disabled.' }),
};
const STATES = ['succeeded', 'waiting', 'dead', 'cancelled'] as const;

const EXAMPLE = { succeeded: 118, waiting: 2, dead: 1, cancelled: 0 };

export const summarizeDeliveriesRoute = defineRoute({
  method: 'GET',
  path: '/api/deliveries/summary',
  operationId: 'summarizeDeliveries',
  tag: 'Webhooks',
  summary: 'Count deliveries by hour',
  description:
    'Deliveries of the events of each hour by their present state, oldest hour first, in UTC. The last hour is not over ' +
    'yet. Counts of earlier hours are a minute old at most.',
  auth: 'api_key',
  scope: 'webhooks:read',
  query: hoursQuery(MAX_HOURS),
  success: {
    status: 200,
    description: 'The counts, in all and by hour.',
    example: { total: EXAMPLE, hours: [{ at: '2026-03-01T12:00:00.000Z', ...EXAMPLE }] },
    schema: byHour(counts).meta({ id: 'DeliverySummary', description: 'Counts of deliveries by hour.' }),
  },
  async handler({ context, caller, query }) {
    const from = context.clock.now() - (query.hours - 1) * HOUR;
    const hours = await context.deliverySummaries.since(caller.environment, from);
    const total = { succeeded: 0, waiting: 0, dead: 0, cancelled: 0 };
    for (const hour of hours) for (const state of STATES) total[state] += hour[state];
    return { body: { total, hours: hours.map(({ at, ...hour }) => ({ at: isoTime(at), ...hour })) } };
  },
});
