import { z } from 'zod';
import { sourceScope } from '../../connectors/event-scopes.ts';
import type { Base } from '../../base.ts';
import { requireConnection } from '../../credentials/credential-records.ts';
import { describeSubscription, describeSubscriptions } from '../../subscriptions/describe.ts';
import { subscriberHeaders } from '../../subscriptions/headers.ts';
import {
  createSubscription,
  deleteSubscription,
  enableSubscription,
  listSubscriptions,
  requireSubscription,
  rotateSecret,
  updateSubscription,
} from '../../subscriptions/subscriptions.ts';
import { invalidRequest } from '../../lib/errors.ts';
import { defineRoute, type OwnedTarget } from '../server/route.ts';
import { cursorQuery, deleted, pageOf, time, toCursorPage } from '../server/shapes.ts';

const TAG = 'Webhooks';

const kind = z.enum(['created', 'updated', 'deleted']);
export const kinds = z
  .array(kind)
  .min(1, 'must name at least one of created, updated, deleted')
  .refine((list) => new Set(list).size === list.length, 'must name each only once')
  .meta({ description: 'Event types to deliver. Polled sources see deletions at the daily reconcile.' });
export const rate = z
  .int()
  .min(1)
  .max(1000)
  .meta({ description: 'Most deliveries that may start in one second.' });
export const address = z
  .string()
  .min(1)
  .transform(withLowerCaseHost)
  .meta({
    description:
      'An https address that accepts POST. Private, loopback, link-local and metadata addresses are rejected, here and ' +
      'again at each connection.',
  });
const headers = subscriberHeaders.meta({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Sent with each delivery; stored encrypted, and only their names are shown again.',
});
export const ordered = z.boolean().meta({
  description:
    'One delivery at a time, in the order of x-svc-sequence. A failed delivery blocks the later ones.',
});

/**
 * Lower-cases scheme and host, which are case-insensitive (RFC 3986 section 6.2.2.1), so that equal addresses
 * compare equal.
 */
function withLowerCaseHost(text: string): string {
  return text.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, (beginning) => beginning.toLowerCase());
}

export const subscriptionShape = z
  .object({
    subscriptionId: z.string(),
    connectionId: z.string().optional(),
    connectorId: z.string().optional(),
    userId: z.string().optional(),
    address: z.string(),
    scope: z.string(),
    events: z.array(z.string()),
    status: z.enum(['active', 'disabled']),
    reason: z
      .string()
      .optional()
      .meta({ description: 'The reason that it is disabled, or that its backfill is incomplete.' }),
    source: z
      .enum(['native', 'polling'])
      .optional()
      .meta({ description: '`native`: by webhooks of the app. `polling`: by polls of the app.' }),
    sourceReason: z.string().optional().meta({
      description:
        'Error of the last call to its app, so events may be missing. Absent once a poll succeeds.',
    }),
    headers: z.array(z.string()).meta({ description: 'Names of the headers sent with each delivery.' }),
    ratePerSecond: z.int().nullable(),
    ordered: z.boolean(),
    backfill: z.enum(['none', 'wanted', 'running', 'done']),
    failingSince: time.nullable().meta({ description: 'Time since which every attempt failed.' }),
    deadDeliveries: z
      .int()
      .meta({ description: 'Deliveries that were given up; 100 stands for 100 or more.' }),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Subscription', description: 'A webhook subscription.' });
const secret = z.string().meta({
  description: 'Signs each delivery (Standard Webhooks): `whsec_…`. Shown only here.',
});
const subscriptionWithSecret = subscriptionShape
  .extend({ secret })
  .meta({ id: 'SubscriptionWithSecret', description: 'A webhook subscription with its secret.' });

/**
 * Properties that all routes of one subscription share. No end user is required, because the operator's
 * subscription has none.
 */
export const ofSubscription = {
  auth: 'api_key' as const,
  user: 'existing' as const,
  params: z.strictObject({ subscriptionId: z.string() }),
  assertOwner(
    { db }: Pick<Base, 'db'>,
    { environment, userId, params }: OwnedTarget<{ subscriptionId: string }>,
  ): Promise<unknown> {
    return requireSubscription(db, { environment, subscriptionId: params.subscriptionId }, { userId });
  },
};

export const createSubscriptionRoute = defineRoute({
  method: 'POST',
  path: '/2023-03/one/webhooks',
  operationId: 'createSubscription',
  tag: TAG,
  summary: 'Subscribe to events of a connection',
  description:
    'Each delivery is a POST of the record, at least once, signed as in Standard Webhooks 1.0.0. ' +
    '`x-svc-sequence` rises by one with each delivery, so the receiver sees gaps and order. 2xx within 15 s ' +
    'is success, a redirect is a failure, 410 ends the subscription. Failures are repeated after 5 s, 5 ' +
    'min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h. After 120 hours of failures alone the subscription ' +
    'is disabled.',
  auth: 'api_key',
  scope: 'webhooks:write',
  user: 'existing',
  query: z.strictObject({
    connectionId: z.string().max(64).meta({ description: 'The connection, which also determines the user.' }),
  }),
  body: z.strictObject({
    address,
    scope: sourceScope.meta({
      description:
        'A unified model such as `commerce/orders`, or `<connectorId>/<event source>` such as `slack/message.posted`. ' +
        '`GET /connectors/{connectorId}` lists the scopes of a connector.',
    }),
    events: kinds.default(['created']),
    headers: headers.default({}),
    ratePerSecond: rate.optional(),
    ordered: ordered.default(false),
    backfill: z
      .boolean()
      .default(false)
      .meta({ description: 'Also deliver existing records as `created`, only to this subscription.' }),
  }),
  success: {
    status: 201,
    description: 'The subscription, and its secret.',
    schema: subscriptionWithSecret,
  },
  errors: ['credential_not_found', 'connector_not_found', 'subscription_exists'],
  audited: true,
  async handler({ context, caller, query, body, userId }) {
    const credential = await requireConnection(context.db, {
      environment: caller.environment,
      credentialId: query.connectionId,
      userId,
    });
    const made = await createSubscription(context, {
      ...body,
      credential,
      ratePerSecond: body.ratePerSecond ?? null,
    });
    return {
      body: {
        ...(await describeSubscription(context, made.subscription)),
        source: made.source,
        secret: made.secret,
      },
      auditTarget: made.subscription.subscription_id,
    };
  },
});

export const listSubscriptionsRoute = defineRoute({
  method: 'GET',
  path: '/2023-03/one/webhooks',
  operationId: 'listSubscriptions',
  tag: TAG,
  summary: 'List webhook subscriptions',
  description: 'Without `connectionId`: all subscriptions of the environment.',
  auth: 'api_key',
  scope: 'webhooks:read',
  user: 'existing',
  query: z.strictObject({
    ...cursorQuery,
    connectionId: z.string().max(64).optional(),
    userId: z.string().max(64).optional().meta({ description: 'Only subscriptions of this user.' }),
    state: z.enum(['active', 'disabled', 'failing']).optional().meta({
      description: 'Only subscriptions of this state. `failing`: active, and every attempt fails.',
    }),
  }),
  success: { status: 200, description: 'A page, oldest first.', schema: pageOf(subscriptionShape) },
  errors: ['credential_not_found'],
  async handler({ context, caller, query, userId }) {
    const { environment } = caller;
    const { connectionId, userId: named = userId, state, ...page } = query;
    if (userId !== undefined && named !== userId)
      throw invalidRequest([{ field: 'userId', rule: 'must be the user of x-svc-userid' }]);
    if (connectionId !== undefined)
      await requireConnection(context.db, { environment, credentialId: connectionId, userId });
    const { subscriptions, ...end } = await listSubscriptions(context.db, {
      environment,
      connectionId,
      userId: named,
      state,
      ...page,
    });
    const data = await describeSubscriptions(context, subscriptions);
    return { body: toCursorPage(data, end) };
  },
});

export const getSubscriptionRoute = defineRoute({
  method: 'GET',
  path: '/webhooks/{subscriptionId}',
  operationId: 'getSubscription',
  tag: TAG,
  summary: 'Read a webhook subscription',
  ...ofSubscription,
  scope: 'webhooks:read',
  success: { status: 200, description: 'The subscription.', schema: subscriptionShape },
  errors: ['subscription_not_found'],
  async handler({ context, caller, params }) {
    const row = await requireSubscription(context.db, {
      environment: caller.environment,
      subscriptionId: params.subscriptionId,
    });
    return { body: await describeSubscription(context, row) };
  },
});

export const updateSubscriptionRoute = defineRoute({
  method: 'PUT',
  path: '/webhooks/{subscriptionId}',
  operationId: 'updateSubscription',
  tag: TAG,
  summary: 'Change a webhook subscription',
  description:
    'Changes only the given members. Replaces `headers` whole. Waiting deliveries go to the new address within a second.',
  ...ofSubscription,
  scope: 'webhooks:write',
  body: z.strictObject({
    address: address.optional(),
    events: kinds.optional(),
    headers: headers.optional(),
    ratePerSecond: rate.nullable().optional(),
    ordered: ordered.optional(),
  }),
  success: { status: 200, description: 'The subscription as it is now.', schema: subscriptionShape },
  errors: ['subscription_not_found', 'subscription_exists'],
  audited: true,
  async handler({ context, caller, params, body }) {
    const row = await updateSubscription(context, { environment: caller.environment, ...params }, body);
    return { body: await describeSubscription(context, row) };
  },
});

export const deleteSubscriptionRoute = defineRoute({
  method: 'DELETE',
  path: '/webhooks/{subscriptionId}',
  operationId: 'deleteSubscription',
  tag: TAG,
  summary: 'Delete a webhook subscription',
  description: 'Cancels its waiting and running deliveries, and deletes their log.',
  ...ofSubscription,
  scope: 'webhooks:write',
  success: deleted('subscriptionId', 'The subscription is deleted.'),
  errors: ['subscription_not_found'],
  audited: true,
  async handler({ context, caller, params: { subscriptionId } }) {
    await deleteSubscription(context, { environment: caller.environment, subscriptionId });
    return { body: { message: 'The subscription was deleted.', subscriptionId } };
  },
});

export const rotateSecretRoute = defineRoute({
  method: 'POST',
  path: '/webhooks/{subscriptionId}/rotate-secret',
  operationId: 'rotateSubscriptionSecret',
  tag: TAG,
  summary: 'Rotate the signing secret',
  description: 'Deliveries carry both signatures for 24 hours, so that the receiver has time to switch.',
  ...ofSubscription,
  scope: 'webhooks:write',
  success: {
    status: 200,
    description: 'The subscription, and its new secret.',
    schema: subscriptionWithSecret,
  },
  errors: ['subscription_not_found'],
  audited: true,
  async handler({ context, caller, params }) {
    const made = await rotateSecret(context, { environment: caller.environment, ...params });
    return { body: { ...(await describeSubscription(context, made.subscription)), secret: made.secret } };
  },
});

export const enableSubscriptionRoute = defineRoute({
  method: 'POST',
  path: '/webhooks/{subscriptionId}/enable',
  operationId: 'enableSubscription',
  tag: TAG,
  summary: 'Enable a subscription that was disabled',
  description:
    'Delivers events from now on. A disabled subscription collects no events; `recover` delivers the missed ones.',
  ...ofSubscription,
  scope: 'webhooks:write',
  success: { status: 200, description: 'The subscription as it is now.', schema: subscriptionShape },
  errors: ['subscription_not_found'],
  audited: true,
  async handler({ context, caller, params }) {
    const row = await enableSubscription(context, { environment: caller.environment, ...params });
    return { body: await describeSubscription(context, row) };
  },
});
