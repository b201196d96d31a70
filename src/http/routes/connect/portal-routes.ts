import { z } from 'zod';
import { iconPath } from '../../../connectors/icon.ts';
import type { Context } from '../../context.ts';
import { describeCredential } from '../../../credentials/credential.ts';
import { listCredentials } from '../../../credentials/credential-lists.ts';
import { checkCredential } from '../../../credentials/credential-records.ts';
import { requireUser } from '../../../identity/users.ts';
import { listDeliveries } from '../../../outbox/deliveries.ts';
import { ENVIRONMENTS, type Environment } from '../../../store/environments.ts';
import { describeSubscriptions } from '../../../subscriptions/describe.ts';
import { replayDelivery } from '../../../subscriptions/recover.ts';
import { listSubscriptions, requireSubscription } from '../../../subscriptions/subscriptions.ts';
import { defineRoute } from '../../server/route.ts';
import { cursorQuery, pageOf, toCursorPage } from '../../server/shapes.ts';
import { assertPageEnvironment, brandingOf, brandingShape } from './connect-view.ts';
import { checkedCredential, credentialShape, PROBE_ERRORS } from '../credentials.ts';
import { attemptShape, deliveryShape, deliveryStatus } from '../webhook-deliveries.ts';
import { subscriptionShape } from '../webhooks.ts';

/*
 * Routes for the portal, where users see their own accounts and deliveries. The user's JWT gives access only to the
 * things of its user. Only our own page calls these routes; pages of other origins use the SDK. The receiver of a
 * delivery belongs to the application, so its path, its headers and its answers are left out.
 */

const ofUser = { tag: 'Connecting accounts', auth: 'jwt', scope: 'connect:use' } as const;
const appShape = z.object({ name: z.string(), iconUrl: z.string().nullable() });

export const getPortalRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/connect/portal',
  operationId: 'getPortal',
  summary: 'Read the user of the JWT and the branding of the portal',
  query: z.strictObject({
    environment: z
      .enum(ENVIRONMENTS)
      .optional()
      .meta({ description: 'Environment of the page, which must be the one of the JWT.' }),
  }),
  success: {
    status: 200,
    description: 'The user, and whether there are subscriptions to show.',
    schema: z.object({
      user: z.object({ username: z.string() }),
      branding: brandingShape,
      hasSubscriptions: z.boolean().meta({ description: 'Whether the user has webhook subscriptions.' }),
    }),
  },
  async handler({ context, caller: { environment, userId = '' }, query }) {
    assertPageEnvironment(environment, query.environment);
    const { username } = await requireUser(context.db, environment, userId);
    const { subscriptions } = await listSubscriptions(context.db, {
      environment,
      userId,
      limit: 1,
      offset: 0,
    });
    const branding = await brandingOf(context.db, environment);
    return { body: { user: { username }, branding, hasSubscriptions: subscriptions.length > 0 } };
  },
});

export const listPortalAccountsRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/connect/portal/accounts',
  operationId: 'listPortalAccounts',
  summary: 'List the accounts of the user of the JWT, with their apps',
  query: z.strictObject(cursorQuery),
  success: {
    status: 200,
    description: 'A page of credentials with their apps, oldest first.',
    schema: pageOf(
      credentialShape
        .extend({ app: appShape })
        .meta({ id: 'PortalAccount', description: 'A connected account with its app.' }),
    ),
  },
  async handler({ context, caller: { environment, userId = '' }, query }) {
    const { credentials, ...end } = await listCredentials(context.db, { ...query, environment, userId });
    const data = credentials.map((one) => ({
      ...describeCredential(one),
      app: appOf(context, environment, one.connectorId),
    }));
    return { body: toCursorPage(data, end) };
  },
});

export const checkAccountRoute = defineRoute({
  ...ofUser,
  method: 'POST',
  path: '/connect/portal/accounts/{credentialId}/check',
  operationId: 'checkAccount',
  summary: 'Test an account at its app, as the user of the JWT',
  params: z.strictObject({ credentialId: z.string() }),
  success: {
    status: 200,
    description: 'The credential with its state after the test.',
    schema: checkedCredential,
  },
  errors: ['credential_not_found', ...PROBE_ERRORS],
  audited: true,
  async handler({ context, caller: { environment, userId = '' }, params: { credentialId }, signal }) {
    const key = { environment, userId, credentialId };
    const { credential: found, checked } = await checkCredential(context, key, signal);
    return { body: { ...describeCredential(found), checked } };
  },
});

const portalSubscription = subscriptionShape
  .pick({
    subscriptionId: true,
    scope: true,
    events: true,
    status: true,
    reason: true,
    source: true,
    sourceReason: true,
    failingSince: true,
    createdAt: true,
  })
  .extend({
    connectionId: z.string(),
    account: z.string().meta({ description: 'Name of the account.' }),
    app: appShape,
    receiver: z.string().meta({ description: 'Host that receives the deliveries.' }),
  })
  .meta({ id: 'PortalSubscription', description: 'A webhook subscription, as its user sees it.' });

export const listPortalSubscriptionsRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/connect/portal/subscriptions',
  operationId: 'listPortalSubscriptions',
  summary: 'List the webhook subscriptions to the accounts of the user of the JWT',
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page, oldest first.', schema: pageOf(portalSubscription) },
  async handler({ context, caller: { environment, userId = '' }, query }) {
    const { subscriptions, ...end } = await listSubscriptions(context.db, { ...query, environment, userId });
    const described = await describeSubscriptions(context, subscriptions);
    const credentialIds = [...new Set(described.map(({ connectionId = '' }) => connectionId))];
    const page = { environment, userId, credentialIds, limit: credentialIds.length, offset: 0 };
    const { credentials } = await listCredentials(context.db, page);
    const accounts = new Map(credentials.map((one) => [one.credentialId, one]));
    const data = described.map(({ connectionId = '', connectorId = '', address, ...one }) =>
      // The shape leaves out what only the operator sees.
      portalSubscription.parse({
        ...one,
        connectionId,
        account: accounts.get(connectionId)?.name ?? '',
        app: appOf(context, environment, connectorId),
        receiver: new URL(address).host,
      }),
    );
    return { body: toCursorPage(data, end) };
  },
});

const subscriptionParams = z.strictObject({ subscriptionId: z.string() });
const portalDelivery = deliveryShape
  .extend({ attempts: z.array(attemptShape.omit({ excerpt: true })) })
  .meta({ id: 'PortalDelivery', description: 'A delivery with its attempts, as its user sees it.' });

export const listPortalDeliveriesRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/connect/portal/subscriptions/{subscriptionId}/deliveries',
  operationId: 'listPortalDeliveries',
  summary: 'List the deliveries of a subscription of the user of the JWT',
  description: 'As `GET /webhooks/{subscriptionId}/deliveries`, without the answers of the receiver.',
  params: subscriptionParams,
  query: z.strictObject({
    ...cursorQuery,
    status: deliveryStatus.optional(),
    deliveryId: z.string().max(64).optional().meta({ description: 'Only this delivery.' }),
  }),
  success: {
    status: 200,
    description: 'A page of deliveries, newest first.',
    schema: pageOf(portalDelivery),
  },
  errors: ['subscription_not_found'],
  async handler({ context, caller: { environment, userId = '' }, params: { subscriptionId }, query }) {
    await requireSubscription(context.db, { environment, subscriptionId }, { userId });
    const { deliveries, ...end } = await listDeliveries(context.db, { ...query, subscriptionId });
    // The shape leaves out the answers of the receiver.
    const data = deliveries.map((one) => portalDelivery.parse(one));
    return { body: toCursorPage(data, end) };
  },
});

export const replayPortalDeliveryRoute = defineRoute({
  ...ofUser,
  method: 'POST',
  path: '/connect/portal/subscriptions/{subscriptionId}/deliveries/{deliveryId}/replay',
  operationId: 'replayPortalDelivery',
  summary: 'Send a delivery again, as the user of the JWT',
  description: 'As `POST /webhooks/{subscriptionId}/deliveries/{deliveryId}/replay`.',
  params: subscriptionParams.extend({ deliveryId: z.string() }),
  success: {
    status: 202,
    description: 'The delivery is due as soon as the subscription allows.',
    schema: z.object({ deliveryId: z.string() }),
  },
  errors: ['subscription_not_found', 'delivery_not_found', 'subscription_disabled'],
  audited: true,
  async handler({ context, caller: { environment, userId = '' }, params }) {
    await requireSubscription(context.db, { environment, subscriptionId: params.subscriptionId }, { userId });
    await replayDelivery(context, { environment, ...params });
    return { body: { deliveryId: params.deliveryId } };
  },
});

/** Returns the app of a connector. A custom connector may be removed before its credentials. */
function appOf({ catalog, publicUrl }: Context, environment: Environment, connectorId: string) {
  const connector = catalog.connector(environment, connectorId);
  return connector
    ? { name: connector.name, iconUrl: publicUrl + iconPath(connector) }
    : { name: connectorId, iconUrl: null };
}
