import { z } from 'zod';
import { cancelSession } from '../../../connect/account-choice.ts';
import { chosenConnectors } from '../../../connect/apps.ts';
import { beginAuthorization } from '../../../connect/authorize.ts';
import { createSession, openLink, requireSession } from '../../../connect/connect-sessions.ts';
import { submitKeys } from '../../../connect/submit.ts';
import type { Context } from '../../context.ts';
import { requireCredential } from '../../../credentials/credential-records.ts';
import { GatehouseError, invalidRequest } from '../../../lib/errors.ts';
import { assertRedirectAllowed, readSettings } from '../../../servers/environment-settings.ts';
import { ENVIRONMENTS, type Environment } from '../../../store/environments.ts';
import { browserOf, newBrowser } from '../../server/browser.ts';
import { foreignOrigin, isAllowedPage } from '../../../identity/visit.ts';
import { defineRoute } from '../../server/route.ts';
import { jsonObject } from '../../server/shapes.ts';
import {
  askerOf,
  assertPageEnvironment,
  browserAsker,
  connectResult,
  connectSession,
  describeSession,
  endOf,
  ofSession,
  type Header,
} from './connect-view.ts';
import { PROBE_ERRORS } from '../credentials.ts';

/*
 * Routes that the connect page calls. They are authorised by the user's JWT inside the modal, or by the browser's
 * cookie after it opened a link.
 */

const choice = z.strictObject({
  connectorId: z.string(),
  type: z.string(),
  data: jsonObject.default({}),
});
const linkParams = z.strictObject({ link: z.string() });

export const openConnectLinkRoute = defineRoute({
  method: 'POST',
  path: '/connect/s/{link}/open',
  operationId: 'openConnectLink',
  tag: 'Connecting accounts',
  summary: 'Open a connect link in this browser',
  description: 'Binds the link to the browser, by a cookie. No other browser can use it then.',
  auth: 'none',
  params: linkParams,
  success: { status: 200, description: 'The session behind the link.', schema: connectSession },
  errors: ['connect_session_not_found', 'connect_session_expired', 'connect_session_taken'],
  async handler({ context, params, header }) {
    assertOwnPage(context, header);
    const known = browserOf(context, header('cookie'));
    const made = known === undefined ? newBrowser(context) : undefined;
    const opened = await openLink(context, params.link, known ?? made?.browserId ?? '');
    return {
      body: await describeSession(context, opened),
      ...(made ? { headers: { 'Set-Cookie': made.cookie } } : {}),
    };
  },
});

export const createModalSessionRoute = defineRoute({
  method: 'POST',
  path: '/connect/sessions',
  operationId: 'createModalSession',
  tag: 'Connecting accounts',
  summary: 'Begin to connect an account, as the user of the JWT',
  auth: 'jwt',
  scope: 'connect:use',
  cors: true,
  body: z.strictObject({
    environment: z.enum(ENVIRONMENTS).optional().meta({
      description: 'Must be the environment of the JWT. A page built for one environment sends it.',
    }),
    app: z.string().optional().meta({ description: 'The connectorId of the app to connect.' }),
    category: z
      .string()
      .optional()
      .meta({ description: 'Category to choose from; not together with `app`.' }),
    connectors: z.array(z.string()).min(1).max(100).optional(),
    credentialId: z.string().optional().meta({
      description: 'The account to reconnect; not together with app, category or connectors.',
    }),
    returnTo: z.string().max(2000).optional().meta({
      description: 'Address that the page returns to when popups are blocked. One of `redirectUris`.',
    }),
    state: z.string().max(500).optional(),
  }),
  success: {
    status: 201,
    description: 'The session, with the link that a popup opens.',
    schema: connectSession
      .extend({ link: z.string() })
      .meta({ id: 'ModalSession', description: 'A session that connects an account, with its link.' }),
  },
  errors: ['connector_not_found', 'credential_not_found', 'redirect_not_allowed'],
  async handler({ context, caller, body }) {
    const { environment, userId = '' } = caller;
    assertPageEnvironment(environment, body.environment);
    const connectors = await connectorsOf(context, { environment, userId }, body);
    if (body.returnTo !== undefined)
      assertRedirectAllowed(await readSettings(context.db, environment), environment, body.returnTo);
    const { session: made, link } = await createSession(context, {
      environment,
      userId,
      connectors,
      credentialId: body.credentialId,
      redirectUri: body.returnTo,
      state: body.state,
      via: 'modal',
    });
    return { body: { ...(await describeSession(context, made)), link } };
  },
});

export const getConnectSessionRoute = defineRoute({
  ...ofSession,
  method: 'GET',
  path: '/connect/sessions/{sessionId}',
  operationId: 'getConnectSession',
  summary: 'Read a connect session',
  cors: true,
  success: { status: 200, description: 'The session.', schema: connectSession },
  errors: ['connect_session_not_found'],
  async handler({ context, caller, params, header }) {
    const found = await requireSession(context, params.sessionId, askerOf(context, caller, header));
    return { body: await describeSession(context, found) };
  },
});

export const submitConnectFormRoute = defineRoute({
  ...ofSession,
  method: 'POST',
  path: '/connect/sessions/{sessionId}/credentials',
  operationId: 'submitConnectForm',
  summary: 'Connect an account by keys',
  description:
    'Checks and tries the keys as POST /users/{userId}/credentials does. After a rejection the session stays open.',
  cors: true,
  body: choice,
  success: {
    status: 200,
    description: 'The account is connected.',
    schema: z.object({ result: connectResult, redirectTo: z.string().optional() }),
  },
  errors: [
    'connect_session_not_found',
    'connect_session_expired',
    'connector_not_found',
    'credential_invalid',
    ...PROBE_ERRORS,
  ],
  async handler({ context, caller, params, body, header, requestId, signal }) {
    const found = await requireSession(context, params.sessionId, askerOf(context, caller, header));
    const ended = await submitKeys(context, found, { ...body, signal });
    await context.audit.record({
      environment: found.environment,
      requestId,
      caller: caller.kind === 'jwt' ? caller.label : `connect:${found.userId}`,
      operation: 'submitConnectForm',
      target: ended.success ? ended.credentialId : undefined,
      status: 200,
    });
    return { body: endOf({ ...found, outcome: ended }) };
  },
});

export const authorizeConnectRoute = defineRoute({
  ...ofSession,
  method: 'POST',
  path: '/connect/sessions/{sessionId}/authorize',
  operationId: 'authorizeConnect',
  summary: 'Get the address of the consent page of an app',
  description: 'Works only in the browser that opened the link. The consent must end in the same browser.',
  body: choice.extend({
    page: z.string().max(500).optional().meta({
      description:
        'Origin of the page that chose for the user, in a window of its own. Must be one of `origins` of the settings.',
    }),
  }),
  success: {
    status: 200,
    description: 'Address of the consent page.',
    schema: z.object({ authorizationUrl: z.string() }),
  },
  errors: [
    'connect_session_not_found',
    'connect_session_expired',
    'connector_not_found',
    'oauth_app_missing',
  ],
  async handler({ context, params, body: { page, ...body }, header, signal }) {
    const found = await requireSession(context, params.sessionId, browserAsker(context, header));
    if (page !== undefined) await assertChoosingPage(context, found.environment, page);
    const authorizationUrl = await beginAuthorization(context, found, { ...body, signal });
    return { body: { authorizationUrl } };
  },
});

export const cancelConnectRoute = defineRoute({
  ...ofSession,
  method: 'POST',
  path: '/connect/sessions/{sessionId}/cancel',
  operationId: 'cancelConnect',
  summary: 'Cancel a connect session',
  cors: true,
  body: z.strictObject({}).optional(),
  success: {
    status: 200,
    description: 'The result of the session; a session that had ended before keeps its result.',
    schema: z.object({ result: connectResult, redirectTo: z.string().optional() }),
  },
  errors: ['connect_session_not_found'],
  async handler({ context, caller, params, header }) {
    const asker = askerOf(context, caller, header);
    const found = await requireSession(context, params.sessionId, asker);
    const closed = {
      success: false,
      error: 'closed',
      message: 'The page was closed before the account was connected.',
    } as const;
    const ended = (await cancelSession(context, found, closed))
      ? closed
      : ((await requireSession(context, params.sessionId, asker)).outcome ?? closed);
    return { body: endOf({ ...found, outcome: ended }) };
  },
});

/** Returns the connectors that a session may choose from; undefined means all. For a reconnection it is the account's. */
async function connectorsOf(
  context: Context,
  owner: { environment: Environment; userId: string },
  { credentialId, ...choices }: Choices,
): Promise<string[] | undefined> {
  if (credentialId === undefined) return chosenConnectors(context, owner.environment, choices);
  const { app, category, connectors } = choices;
  if (app !== undefined || category !== undefined || connectors !== undefined) {
    const rule = 'cannot be given together with app, category or connectors';
    throw invalidRequest([{ field: 'credentialId', rule }]);
  }
  const { connectorId } = await requireCredential(context.db, { ...owner, credentialId });
  return [connectorId];
}

/**
 * Rejects requests of pages of other origins, so that no other page can bind a user's browser. Such requests carry
 * the page's origin.
 */
function assertOwnPage(context: Context, header: Header): void {
  const headers = { origin: header('origin'), host: header('host') };
  if (foreignOrigin(context, { headers }) === undefined) return;
  throw new GatehouseError(
    'forbidden',
    'A page of another origin cannot open this link. Open it in the browser itself.',
  );
}

/**
 * Rejects a page that may not choose for the user, because its environment does not list its origin. Without this rule a
 * hostile page could connect the user's account to another user, without a question.
 */
async function assertChoosingPage(context: Context, environment: Environment, origin: string): Promise<void> {
  const page = { origin, environments: [environment], local: environment === 'development' };
  if (await isAllowedPage(context, page)) return;
  throw new GatehouseError(
    'forbidden',
    'Pages of this origin may not choose for the user. Ask the user here.',
  );
}

interface Choices {
  credentialId?: string | undefined;
  app?: string | undefined;
  category?: string | undefined;
  connectors?: string[] | undefined;
}
