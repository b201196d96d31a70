import { z } from 'zod';
import { offeredAccounts } from '../../../connect/account-choice.ts';
import { appsOf } from '../../../connect/apps.ts';
import {
  assertLive,
  prefillOf,
  type ConnectSession,
  type ConnectOutcome,
  type Requester,
} from '../../../connect/connect-sessions.ts';
import type { Context } from '../../context.ts';
import { findCredential } from '../../../credentials/credential-records.ts';
import { requireUser } from '../../../identity/users.ts';
import type { Caller } from '../../../identity/caller.ts';
import { isoTime } from '../../../lib/clock.ts';
import { GatehouseError } from '../../../lib/errors.ts';
import { readSettings, settingsSchema } from '../../../servers/environment-settings.ts';
import type { Environment } from '../../../store/environments.ts';
import { browserOf } from '../../server/browser.ts';
import { time } from '../../server/shapes.ts';

/* The answers of the connect routes, and the requester of a session. */

export const connectResult = z
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
const accountOffer = z.object({
  connectorId: z.string(),
  accounts: z.array(
    z.object({
      accountId: z.string(),
      label: z.string(),
      detail: z.string().optional(),
      connected: z.boolean(),
    }),
  ),
});
export const brandingShape = settingsSchema.shape.branding.unwrap().extend({ name: z.string() });
export const connectSession = z
  .object({
    sessionId: z.string(),
    status: z.enum(['open', 'authorizing', 'choosing', 'succeeded', 'failed']),
    via: z.enum(['modal', 'link']),
    expiresAt: time,
    branding: brandingShape,
    user: z.object({ username: z.string() }),
    connectors: z.array(app).meta({ description: 'Apps to choose from.' }),
    choosing: accountOffer.optional(),
    reconnect: z.object({ credentialId: z.string(), name: z.string() }).optional(),
    returns: z.boolean().meta({ description: 'Whether the user returns to the application at the end.' }),
    result: connectResult.optional(),
  })
  .meta({ id: 'ConnectSession', description: 'A session that connects an account.' });
/** Properties of the routes of one session. */
export const ofSession = {
  tag: 'Connecting accounts',
  auth: 'jwt_or_browser',
  scope: 'connect:use',
  params: z.strictObject({ sessionId: z.string() }),
} as const;

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

export function endOf(found: ConnectSession & { outcome: ConnectOutcome }) {
  const redirectTo = returnAddress(found);
  return { result: found.outcome, ...(redirectTo === undefined ? {} : { redirectTo }) };
}

export async function describeSession(
  context: Context,
  found: ConnectSession,
): Promise<z.input<typeof connectSession>> {
  const { environment, userId } = found;
  const live = found.outcome === null;
  if (live) await assertLive(context, found);
  const { username } = await requireUser(context.db, environment, userId);
  const credential =
    found.credentialId === null
      ? undefined
      : await findCredential(context.db, { environment, userId, credentialId: found.credentialId });
  const choosing = live ? await offeredAccounts(context, found) : undefined;
  const apps = await appsOf(context, found, Object.keys(prefillOf(context, found)));
  return {
    sessionId: found.sessionId,
    status: found.status,
    via: found.via,
    expiresAt: isoTime(found.expiresAt),
    branding: await brandingOf(context.db, environment),
    user: { username },
    connectors: apps.map((one) => ({ ...one, categories: [...one.categories] })),
    ...(choosing ? { choosing } : {}),
    ...(credential ? { reconnect: { credentialId: credential.credentialId, name: credential.name } } : {}),
    returns: found.redirectUri !== null,
    ...(found.outcome === null ? {} : { result: found.outcome }),
  };
}

/** Returns the name, logo and colour of the application. */
export async function brandingOf(db: Context['db'], environment: Environment) {
  const { branding } = await readSettings(db, environment);
  return { ...branding, name: branding.name ?? 'Gatehouse' };
}

/**
 * Rejects a JWT on a page of the other environment.
 * @throws GatehouseError `forbidden`
 */
export function assertPageEnvironment(environment: Environment, named: Environment | undefined): void {
  if (named === undefined || named === environment) return;
  throw new GatehouseError(
    'forbidden',
    `This page is for the environment ${named}, and the JWT for ${environment}.`,
  );
}

export type Header = (name: string) => string | undefined;

export function askerOf(context: Context, caller: Caller, header: Header): Requester {
  const { kind, userId, environment } = caller;
  return kind === 'jwt' && userId !== undefined ? { userId, environment } : browserAsker(context, header);
}

export function browserAsker(context: Context, header: Header): { browserId: string } {
  const browserId = browserOf(context, header('cookie'));
  if (browserId !== undefined) return { browserId };
  throw new GatehouseError('connect_session_not_found', 'This browser has opened no connect link.');
}
