import { z } from 'zod';
import { isoTime } from '../../lib/clock.ts';
import { notReady } from '../../runtime/readiness.ts';
import { time } from '../server/shapes.ts';
import { defineRoute } from '../server/route.ts';

export const healthRoute = defineRoute({
  method: 'GET',
  path: '/health',
  operationId: 'getHealth',
  tag: 'Service',
  summary: 'Check that the process is alive',
  auth: 'none',
  success: {
    status: 200,
    description: 'The process is alive.',
    schema: z.object({ status: z.literal('healthy'), timestamp: time }),
  },
  handler: async ({ context }) => ({ body: { status: 'healthy', timestamp: isoTime(context.clock.now()) } }),
});

export const readyRoute = defineRoute({
  method: 'GET',
  path: '/ready',
  operationId: 'getReady',
  tag: 'Service',
  summary: 'Check that the service is ready',
  description:
    '503 names what is missing. The database must answer and take writes, which a full disk prevents. The first API keys ' +
    'must be stored. The event loop must not have been blocked for over a second within the last five. The process must ' +
    'not be stopping.',
  auth: 'none',
  success: {
    status: 200,
    description: 'Ready.',
    schema: z.object({ status: z.enum(['ready', 'not_ready']), missing: z.array(z.string()) }),
  },
  async handler({ context }) {
    const missing = await notReady(context);
    const ready = missing.length === 0;
    return { status: ready ? 200 : 503, body: { status: ready ? 'ready' : 'not_ready', missing } };
  },
});
