import { z } from 'zod';
import { DAY } from '../../lib/clock.ts';
import { countOverview } from '../../runtime/overview.ts';
import { countChangedConnectors } from '../../servers/approvals.ts';
import { defineRoute } from '../server/route.ts';

const enabled = z.object({
  enabled: z.int(),
  disabled: z.int().meta({ description: 'Number of those that are disabled.' }),
});

export const getOverviewRoute = defineRoute({
  method: 'GET',
  path: '/api/overview',
  operationId: 'getOverview',
  tag: 'Administration',
  summary: 'Count what there is and what needs attention',
  auth: 'api_key',
  scope: 'settings:read',
  success: {
    status: 200,
    description: 'Numbers of things in the environment.',
    example: {
      servers: { enabled: 3, disabled: 0 },
      users: { enabled: 120, disabled: 2 },
      credentials: { active: 180, needsReconnect: 4, revoked: 0 },
      subscriptions: { active: 12, disabled: 1, failing: 0 },
      deliveries: { dead: 7 },
      runs: { failed: 2 },
      connectors: { changed: 0 },
    },
    schema: z
      .object({
        servers: enabled.meta({ description: 'MCP servers.' }),
        users: enabled.meta({ description: 'End users.' }),
        credentials: z.object({
          active: z.int().meta({ description: 'Credentials that work.' }),
          needsReconnect: z.int().meta({ description: 'Credentials whose user must reconnect.' }),
          revoked: z.int().meta({ description: 'Credentials that were revoked.' }),
        }),
        subscriptions: z
          .object({
            active: z.int().meta({ description: 'Subscriptions that collect deliveries.' }),
            disabled: z.int().meta({ description: 'Subscriptions that were disabled.' }),
            failing: z.int().meta({
              description: 'Active subscriptions whose receiver has failed for 15 minutes or longer.',
            }),
          })
          .meta({ description: 'Webhook subscriptions, the operator’s own and listeners included.' }),
        deliveries: z
          .object({ dead: z.int().meta({ description: 'Deliveries that were given up.' }) })
          .meta({ description: 'Deliveries of webhooks.' }),
        runs: z
          .object({ failed: z.int().meta({ description: 'Runs that failed in the last 24 hours.' }) })
          .meta({ description: 'Runs of workflows.' }),
        connectors: z
          .object({
            changed: z.int().meta({
              description:
                'Connectors with definitions to approve. A new connector counts only while a server pins its tools.',
            }),
          })
          .meta({ description: 'Connectors.' }),
      })
      .meta({ id: 'Overview', description: 'Numbers of things in an environment.' }),
  },
  async handler({ context, caller: { environment } }) {
    const now = context.clock.now();
    return {
      body: {
        ...(await countOverview(context.db, { environment, now, runsSince: now - DAY })),
        connectors: { changed: await countChangedConnectors(context, environment) },
      },
    };
  },
});
