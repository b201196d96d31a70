import { z } from 'zod';
import { listDeliveries } from '../../outbox/deliveries.ts';
import { recover, replayDelivery, sendTest } from '../../subscriptions/recover.ts';
import { requireSubscription } from '../../subscriptions/subscriptions.ts';
import { invalidRequest } from '../../lib/errors.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, instant, pageOf, time, toCursorPage } from '../server/shapes.ts';
import { ofSubscription } from './webhooks.ts';

const TAG = 'Webhooks';

export const deliveryStatus = z.enum(['waiting', 'succeeded', 'dead', 'cancelled']);
export const attemptShape = z.object({
  number: z.int(),
  at: time,
  durationMs: z.int(),
  status: z.int().nullable(),
  error: z.string().nullable(),
  excerpt: z.string().nullable().meta({ description: 'The beginning of the answer, without secrets.' }),
});
export const deliveryShape = z
  .object({
    deliveryId: z.string().meta({ description: 'Sent as webhook-id, the same on every attempt.' }),
    subscriptionId: z.string(),
    scope: z.string(),
    event: z.string(),
    recordId: z.string(),
    sequence: z.int(),
    status: deliveryStatus,
    attemptCount: z.int(),
    lastStatus: z.int().nullable().meta({ description: 'HTTP status of the last answer.' }),
    lastError: z
      .string()
      .nullable()
      .meta({
        description:
          'Why the last attempt failed: status, redirect, timeout, blocked_address, dns, refused, reset, tls, protocol ' +
          'or unreachable.',
      }),
    nextAttemptAt: time.nullable().meta({ description: 'Null during an attempt and after the last one.' }),
    createdAt: time,
    updatedAt: time,
    attempts: z.array(attemptShape),
  })
  .meta({ id: 'Delivery', description: 'A delivery with its attempts.' });

export const listDeliveriesRoute = defineRoute({
  method: 'GET',
  path: '/webhooks/{subscriptionId}/deliveries',
  operationId: 'listDeliveries',
  tag: TAG,
  summary: 'List the deliveries of a subscription with their attempts',
  description:
    'Newest first, kept for 30 days. Offsets end at 10,000: from there on, or from the start, follow ' +
    '`pagination.nextCursor` with `cursor`.',
  ...ofSubscription,
  scope: 'webhooks:read',
  query: z.strictObject({
    ...cursorQuery,
    status: deliveryStatus.optional(),
  }),
  success: {
    status: 200,
    description: 'A page of deliveries.',
    schema: pageOf(deliveryShape),
  },
  errors: ['subscription_not_found'],
  async handler({ context, caller, params: { subscriptionId }, query }) {
    await requireSubscription(context.db, { environment: caller.environment, subscriptionId });
    const { deliveries, ...end } = await listDeliveries(context.db, { ...query, subscriptionId });
    return { body: toCursorPage(deliveries, end) };
  },
});

export const replayDeliveryRoute = defineRoute({
  method: 'POST',
  path: '/webhooks/{subscriptionId}/deliveries/{deliveryId}/replay',
  operationId: 'replayDelivery',
  tag: TAG,
  summary: 'Send a delivery again',
  description:
    'It keeps its id and sequence number, and its schedule starts again. A waiting delivery becomes due now; ' +
    'a delivery under way stays unchanged.',
  ...ofSubscription,
  scope: 'webhooks:write',
  params: ofSubscription.params.extend({ deliveryId: z.string() }),
  success: {
    status: 202,
    description: 'The delivery is due as soon as the subscription allows.',
    schema: z.object({ deliveryId: z.string() }),
  },
  errors: ['subscription_not_found', 'delivery_not_found', 'subscription_disabled'],
  audited: true,
  async handler({ context, caller, params }) {
    await replayDelivery(context, { environment: caller.environment, ...params });
    return { body: { deliveryId: params.deliveryId } };
  },
});

export const recoverRoute = defineRoute({
  method: 'POST',
  path: '/webhooks/{subscriptionId}/recover',
  operationId: 'recoverDeliveries',
  tag: TAG,
  summary: 'Recover missed deliveries since a time',
  description:
    'Dead and cancelled deliveries start again. Events that came while the subscription was disabled are ' +
    'delivered now, with new numbers. Other deliveries stay unchanged, so a second request changes nothing. ' +
    'Events are kept for 30 days.',
  ...ofSubscription,
  scope: 'webhooks:write',
  body: z.strictObject({ since: instant, until: instant.optional() }),
  success: {
    status: 202,
    description: 'The number of deliveries that it started.',
    schema: z.object({ subscriptionId: z.string(), recovered: z.int() }),
  },
  errors: ['subscription_not_found', 'subscription_disabled'],
  audited: true,
  async handler({ context, caller, params: { subscriptionId }, body }) {
    if (body.until !== undefined && body.until <= body.since) {
      throw invalidRequest([{ field: 'until', rule: 'must be after since' }], 'The body');
    }
    const recovered = await recover(context, { environment: caller.environment, subscriptionId, ...body });
    return { body: { subscriptionId, recovered } };
  },
});

export const sendTestRoute = defineRoute({
  method: 'POST',
  path: '/webhooks/{subscriptionId}/test',
  operationId: 'sendTestEvent',
  tag: TAG,
  summary: 'Send a test event',
  description:
    'Stored, numbered, signed and retried like every event. It carries `x-svc-event: test` and `x-svc-test: true`.',
  ...ofSubscription,
  scope: 'webhooks:write',
  success: {
    status: 202,
    description: 'The delivery is stored and due at once.',
    schema: z.object({ deliveryId: z.string() }),
  },
  errors: ['subscription_not_found', 'subscription_disabled'],
  async handler({ context, caller, params: { subscriptionId } }) {
    const deliveryId = await sendTest(context, { environment: caller.environment, subscriptionId });
    return { body: { deliveryId } };
  },
});
