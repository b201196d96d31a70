import { z } from 'zod';
import { appsOf, chosenConnectors } from '../../connect/apps.ts';
import { beginAuthorization } from '../../connect/authorize.ts';
import {
  assertLive,
  createSession,
  openLink,
  prefillOf,
  requireSession,
  endSession,
  type Requester,
  type ConnectSession,
  type Outcome,
} from '../../connect/sessions.ts';
import { submitKeys } from '../../connect/submit.ts';
import type { Context } from '../context.ts';
import { findCredential, requireCredential } from '../../credentials/records.ts';
import { requireUser } from '../../identity/users.ts';
import type { Caller } from '../../identity/caller.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../../lib/errors.ts';
import { assertRedirectAllowed, readSettings, settingsSchema } from '../../servers/settings.ts';
import { recordAudit } from '../../runtime/audit.ts';
import { ENVIRONMENTS, type Environment } from '../../store/environments.ts';
import { browserOf, newBrowser } from '../server/browser.ts';
import { foreignOrigin } from '../../identity/request.ts';
import { defineRoute } from '../server/route.ts';
import { jsonObject, time } from '../server/shapes.ts';
import { PROBE_ERRORS } from './credentials.ts';

/*
 * Routes that the connect page calls. They are authorised by the user's JWT inside the modal, or by the browser's
 * cookie after it opened a link.
 */

const result = z
  .discriminatedUnion('success', [
    z.object({
      success: z.literal(true),
      connectionId: z.string(),
      credentialId: z.string().meta({ description: 'Equal to connectionId.' }),
      connectorId: z.string(),
      name: z.string(),
    }),
    z.object({
      success: z.literal(false),
      error: z.string().meta({ description: 'closed, access_denied, provider_refused, provider_failed …' }),
      message: z.string().meta({ description: 'Message for the user.' }),
    }),
  ])
  .meta({ id: 'ConnectResult', description: 'How connecting ended.' });
const app = z.object({
  connectorId: z.string(),
  name: z.string(),
  description: z.string(),
  categories: z.array(z.string()),
  iconUrl: z.string(),
  color: z.string(),
  authentication: z.array(
    z.object({
      type: z.string(),
      title: z.string(),
      scopes: z.array(z.string()).optional(),
      inputSchema: z.record(z.string(), z.unknown()),
      sampleInput: z.record(z.string(), z.string()),
      docsUrl: z.string().nullable(),
      ready: z.boolean(),
    }),
  ),
});
const session = z
  .object({
    sessionId: z.string(),
    status: z.enum(['open', 'authorizing', 'succeeded', 'failed']),
    via: z.enum(['modal', 'link']),
    expiresAt: time,
    branding: settingsSchema.shape.branding.unwrap().extend({ name: z.string() }),
    user: z.object({ username: z.string() }),
    connectors: z.array(app).meta({ description: 'Apps to choose from.' }),
    reconnect: z.object({ credentialId: z.string(), name: z.string() }).optional(),
    returns: z.boolean().meta({ description: 'Whether the user returns to the application at the end.' }),
    result: result.optional(),
  })
  .meta({ id: 'ConnectSession', description: 'A session that connects an account.' });
const choice = z.strictObject({
  connectorId: z.string(),
  type: z.string(),
  data: jsonObject.default({}),
});
/** Properties of the routes of one session. */
const ofSession = {
  tag: 'Connecting accounts',
  auth: 'jwt_or_browser',
  scope: 'connect:use',
  params: z.strictObject({ sessionId: z.string() }),
} as const;
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
  success: { status: 200, description: 'The session behind the link.', schema: session },
  errors: ['connect_session_not_found', 'connect_session_expired', 'connect_session_taken'],
  async handler({ context, params, header }) {
    assertOwnPage(context, header);
    const known = browserOf(context, header('cookie'));
    const made = known === undefined ? newBrowser(context) : undefined;
    const opened = await openLink(context, params.link, known ?? made?.browserId ?? '');
    return {
      body: await describe(context, opened),
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
    schema: session
      .extend({ link: z.string() })
      .meta({ id: 'ModalSession', description: 'A session that connects an account, with its link.' }),
  },
  errors: ['connector_not_found', 'credential_not_found', 'redirect_not_allowed'],
  async handler({ context, caller, body }) {
    const { environment, userId = '' } = caller;
    if (body.environment !== undefined && body.environment !== environment) {
      throw new GatehouseError(
        'forbidden',
        `This page is for the environment ${body.environment}, and the JWT for ${environment}.`,
      );
    }
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
    return { body: { ...(await describe(context, made)), link } };
  },
});

export const getConnectSessionRoute = defineRoute({
  ...ofSession,
  method: 'GET',
  path: '/connect/sessions/{sessionId}',
  operationId: 'getConnectSession',
  summary: 'Read a connect session',
  cors: true,
  success: { status: 200, description: 'The session.', schema: session },
  errors: ['connect_session_not_found'],
  async handler({ context, caller, params, header }) {
    const found = await requireSession(context, params.sessionId, askerOf(context, caller, header));
    return { body: await describe(context, found) };
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
    schema: z.object({ result, redirectTo: z.string().optional() }),
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
    await recordAudit(context, {
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
  body: choice,
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
  async handler({ context, params, body, header, signal }) {
    const found = await requireSession(context, params.sessionId, browserAsker(context, header));
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
    schema: z.object({ result, redirectTo: z.string().optional() }),
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
    const ended = (await endSession(context.db, context, { sessionId: found.sessionId, ended: closed }))
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

/** Returns the redirect address of a finished session with the result (docs/embedding.md, Links instead of a modal). */
export function returnAddress({
  redirectUri,
  clientState,
  outcome,
}: Pick<ConnectSession, 'redirectUri' | 'clientState' | 'outcome'>): string | undefined {
  if (redirectUri === null || outcome === null) return undefined;
  const url = new URL(redirectUri);
  const { searchParams } = url;
  searchParams.set('success', String(outcome.success));
  if (outcome.success) {
    searchParams.set('connectionId', outcome.connectionId);
    searchParams.set('credentialId', outcome.credentialId);
  } else searchParams.set('error', outcome.error);
  if (clientState !== null) searchParams.set('state', clientState);
  return url.href;
}

function endOf(found: ConnectSession & { outcome: Outcome }) {
  const redirectTo = returnAddress(found);
  return { result: found.outcome, ...(redirectTo === undefined ? {} : { redirectTo }) };
}

async function describe(context: Context, found: ConnectSession): Promise<z.input<typeof session>> {
  const { environment, userId } = found;
  const live = found.outcome === null;
  if (live) await assertLive(context, found);
  const { username } = await requireUser(context.db, environment, userId);
  const { branding } = await readSettings(context.db, environment);
  const credential =
    found.credentialId === null
      ? undefined
      : await findCredential(context.db, { environment, userId, credentialId: found.credentialId });
  const apps = await appsOf(context, found, Object.keys(prefillOf(context, found)));
  return {
    sessionId: found.sessionId,
    status: found.status,
    via: found.via,
    expiresAt: isoTime(found.expiresAt),
    branding: { ...branding, name: branding.name ?? 'Gatehouse' },
    user: { username },
    connectors: apps.map((one) => ({ ...one, categories: [...one.categories] })),
    ...(credential ? { reconnect: { credentialId: credential.credentialId, name: credential.name } } : {}),
    returns: found.redirectUri !== null,
    ...(found.outcome === null ? {} : { result: found.outcome }),
  };
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

interface Choices {
  credentialId?: string | undefined;
  app?: string | undefined;
  category?: string | undefined;
  connectors?: string[] | undefined;
}

type Header = (name: string) => string | undefined;

function askerOf(context: Context, caller: Caller, header: Header): Requester {
  const { kind, userId, environment } = caller;
  return kind === 'jwt' && userId !== undefined ? { userId, environment } : browserAsker(context, header);
}

function browserAsker(context: Context, header: Header): { browserId: string } {
  const browserId = browserOf(context, header('cookie'));
  if (browserId !== undefined) return { browserId };
  throw new GatehouseError('connect_session_not_found', 'This browser has opened no connect link.');
}
