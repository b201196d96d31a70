import { sql } from 'kysely';
import { z } from 'zod';
import { isoTime } from '../lib/clock.ts';
import { time } from './shapes.ts';
import { defineRoute } from './route.ts';

export const healthRoute = defineRoute({
  method: 'GET',
  path: '/health',
  operationId: 'getHealth',
  tag: 'Service',
  summary: 'Whether the process is alive',
  auth: 'none',
  success: {
    status: 200,
    description: 'It is.',
    schema: z.object({ status: z.literal('healthy'), timestamp: time }),
  },
  handler: async ({ context }) => ({ body: { status: 'healthy', timestamp: isoTime(context.clock.now()) } }),
});

export const readyRoute = defineRoute({
  method: 'GET',
  path: '/ready',
  operationId: 'getReady',
  tag: 'Service',
  summary: 'Whether the service can do its work',
  description: '503 with what is missing while the database does not answer or the process is stopping.',
  auth: 'none',
  success: {
    status: 200,
    description: 'Ready.',
    schema: z.object({ status: z.enum(['ready', 'not_ready']), missing: z.array(z.string()) }),
  },
  async handler({ context }) {
    const missing = context.stopping ? ['the process is stopping'] : [];
    try {
      await sql`select 1`.execute(context.db);
    } catch {
      missing.push('the database does not answer');
    }
    const ready = missing.length === 0;
    return { status: ready ? 200 : 503, body: { status: ready ? 'ready' : 'not_ready', missing } };
  },
});
