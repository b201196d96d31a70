import { setTimeout as sleep } from 'node:timers/promises';
import type { Connector } from '../connectors/catalog.ts';
import type { TokenScheme } from '../connectors/format/format.ts';
import type { Context } from './context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { backoff } from '../runtime/backoff.ts';
import { credentialNotFound, type Credential } from './credential.ts';
import { endCredential } from './credential-end.ts';
import { extendLease, readLeased, type Lease } from './renewal-lease.ts';
import { requireOAuthClient } from './oauth-apps.ts';
import { exchangeTokens } from './token-exchange.ts';
import { clientCredentialsTokens, OAuthRefusal, refreshTokens, type Tokens } from './oauth.ts';
import { openCredential, openValues } from './sealed-values.ts';
import { saveTokens } from './save.ts';
import { dropSpare, findSpares } from './spares.ts';
import { isDue, isUsable, secondsUntil, type Refused } from './renewal-times.ts';

export type RenewContext = Pick<
  Context,
  'db' | 'clock' | 'log' | 'telemetry' | 'keys' | 'catalog' | 'outbound' | 'operator' | 'credentialMemory'
> &
  Partial<Pick<Context, 'signInClients'>>;

/** Pause between a first `invalid_grant` and the second attempt, whose result counts. */
const RECHECK_MS = 5 * SECOND;
/** How long another process may need to store the result of its renewal. */
const SETTLE_MS = 30 * SECOND;
const LOOK_INTERVAL_MS = SECOND / 2;
const FIRST_BACKOFF_MS = 30 * SECOND;
/** The longest pause while the stored tokens still work, and the longest that a token endpoint can ask for. */
const MAX_BACKOFF_MS = 15 * MINUTE;
/** Longest own pause while calls wait for new tokens. The end of an outage is noticed within it. */
const MAX_WAITING_BACKOFF_MS = MINUTE;
/** Error codes of a token endpoint that does not know the client id and secret (RFC 6749 section 5.2). */
const CLIENT_REFUSALS = new Set([
  'invalid_client',
  'unauthorized_client',
  'access_denied',
  'http_401',
  'http_403',
]);

/** A running renewal and its lease. */
interface Renewal {
  connector: Connector;
  scheme: TokenScheme;
  lease: Lease;
  values: Record<string, string>;
  refused: Refused | undefined;
}

/** Returns whether a renewal is possible: by a refresh token, or by the client's own id and secret. */
export function isRenewable(context: Pick<Context, 'keys'>, credential: Credential): boolean {
  return (
    credential.type === 'oauth2_client_credentials' ||
    credential.type === 'token_exchange' ||
    openValues(context, credential)['refreshToken'] !== undefined
  );
}

/**
 * Renews tokens under a lease and saves them over the version that it began with.
 * An outage of the app never ends a credential. A repeated `invalid_grant` does, unless spare tokens work.
 * @throws GatehouseError as freshCredential
 */
export async function renew(
  context: RenewContext,
  input: {
    connector: Connector;
    lease: Lease;
    refused: Refused | undefined;
    /** End of the attempt before this one, epoch ms; null when there was none. */
    lastEndedAt: number | null;
  },
): Promise<Credential> {
  const { connector, lease, refused, lastEndedAt } = input;
  const { credential } = lease;
  // Another process may have renewed between our read and our lease.
  if (!isDue(credential, context.clock.now(), refused)) return credential;
  const { scheme } = openCredential(context, connector, credential);
  if (scheme.type !== 'oauth2' && !hasOwnKeys(scheme)) return credential;
  const renewal = { connector, scheme, lease, refused, values: openValues(context, credential) };
  try {
    return await attempt(context, renewal, renewal.values);
  } catch (error) {
    if (await isForgotten(context, renewal, error)) return await giveUp(context, renewal, error);
    if (!endsGrant(scheme, error)) return fallBack(context, renewal, error);
  }
  const newer = await waitForOthers(context, renewal, lastEndedAt);
  if (newer) return newer;
  try {
    return await attempt(context, renewal, renewal.values);
  } catch (error) {
    if (!endsGrant(scheme, error)) return fallBack(context, renewal, error);
    return (await trySpares(context, renewal)) ?? (await giveUp(context, renewal, error));
  }
}

/**
 * Returns whether the app forgot the client of these tokens, and Gatehouse has registered another one. The refresh token
 * is bound to the forgotten client (RFC 6749 section 6).
 */
async function isForgotten(
  context: RenewContext,
  { connector, scheme, lease }: Renewal,
  error: unknown,
): Promise<boolean> {
  const { signInClients } = context;
  if (!signInClients || scheme.type !== 'oauth2' || !refusesClient(error)) return false;
  const { environment } = lease.credential;
  const { clientId } = await requireOAuthClient(context, environment, connector);
  return signInClients.refused({ environment, connectorId: connector.connectorId }, clientId);
}

/** Requests tokens with a refresh token, or with id and secret, and saves them. */
async function attempt(
  context: RenewContext,
  renewal: Renewal,
  values: Record<string, string>,
): Promise<Credential> {
  const { connector, scheme, lease } = renewal;
  const tokens = await requestTokens(context, renewal, values);
  const { credential } = lease;
  const renewed = await saveTokens(context, { connector, scheme, credential, values, tokens });
  countRefresh(context, connector, 'succeeded');
  return renewed;
}

function countRefresh(
  { telemetry }: Pick<Context, 'telemetry'>,
  { connectorId }: Connector,
  outcome: 'succeeded' | 'failed' | 'ended',
): void {
  telemetry.tokenRefreshes.count(connectorId, outcome);
}

async function requestTokens(
  context: RenewContext,
  { connector, scheme, lease }: Renewal,
  values: Record<string, string>,
): Promise<Tokens> {
  if (scheme.type === 'token_exchange') return exchangeTokens(context, { connector, scheme, values });
  if (scheme.type === 'oauth2_client_credentials')
    return clientCredentialsTokens(context, { connector, scheme, values });
  const client = await requireOAuthClient(context, lease.credential.environment, connector);
  const refreshToken = values['refreshToken'] ?? '';
  // No signal, because a caller that disconnects must not lose tokens that the app has already issued.
  return refreshTokens(context, { connector, scheme, client, values, refreshToken });
}

/**
 * Waits after a first `invalid_grant`, because another process may have used the token and be about to save the
 * result. Returns the newer credential; undefined when this one is still the latest and the lease still ours.
 */
async function waitForOthers(
  context: RenewContext,
  { connector, lease }: Renewal,
  lastEndedAt: number | null,
): Promise<Credential | undefined> {
  const { db, clock } = context;
  const { credentialId, version } = lease.credential;
  const settlesIn = (lastEndedAt ?? 0) + SETTLE_MS - clock.now();
  const waitMs = Math.min(Math.max(RECHECK_MS, settlesIn), SETTLE_MS);
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += LOOK_INTERVAL_MS) {
    await sleep(LOOK_INTERVAL_MS);
    const latest = await readLeased(db, credentialId, clock.now());
    if (!latest) throw credentialNotFound(credentialId);
    if (latest.credential.version !== version) return latest.credential;
  }
  if (await extendLease(db, lease, clock.now())) return undefined;
  throw new GatehouseError(
    'upstream_failed',
    `The access token for ${connector.name} is being renewed by another process. Try again.`,
    { details: { reason: 'renewal_pending' }, retryAfterSeconds: 5 },
  );
}

/** Tries the tokens that another renewal received but could not save. */
async function trySpares(context: RenewContext, renewal: Renewal): Promise<Credential | undefined> {
  const { scheme, lease } = renewal;
  if (scheme.type !== 'oauth2') return undefined;
  for (const { spareId, values } of await findSpares(context, lease.credential)) {
    if (!(await extendLease(context.db, lease, context.clock.now()))) return undefined;
    try {
      return await attempt(context, renewal, values);
    } catch (error) {
      if (!endsGrant(scheme, error)) return fallBack(context, renewal, error);
      await dropSpare(context.db, spareId);
    }
  }
  return undefined;
}

async function giveUp(context: RenewContext, renewal: Renewal, error: unknown): Promise<never> {
  const { connector, scheme, lease } = renewal;
  countRefresh(context, connector, 'ended');
  const message = error instanceof OAuthRefusal ? (error.description ?? error.error) : 'invalid_grant';
  const ownKeys = hasOwnKeys(scheme);
  const keys = scheme.type === 'token_exchange' ? 'keys' : 'client id and secret';
  const isForgottenClient = refusesClient(error);
  const reason = ownKeys
    ? `${connector.name} refused the ${keys}. Replace them.`
    : isForgottenClient
      ? `${connector.name} no longer knew this application, which has registered again. Connect the account again.`
      : `${connector.name} no longer renews the access: it was revoked there, or unused for too long. Connect the account again.`;
  const state = ownKeys || isForgottenClient ? 'needs_reconnect' : 'revoked';
  await endCredential(context, lease.credential, {
    state,
    cause: 'invalid_grant',
    reason,
    appMessage: message,
  });
  throw new GatehouseError('credential_invalid', reason, {
    details: { reason: 'revoked', message, state, credentialId: lease.credential.credentialId },
  });
}

/** Handles a renewal without a definite result: delays the next attempt and returns stored tokens that still work. */
async function fallBack(context: RenewContext, renewal: Renewal, error: unknown): Promise<Credential> {
  const { connector, lease, refused } = renewal;
  const { credential } = lease;
  countRefresh(context, connector, 'failed');
  const failure = error instanceof OAuthRefusal ? refusedApp(connector, error) : error;
  if (!(failure instanceof GatehouseError)) throw failure;
  if (!failure.code.startsWith('upstream_')) {
    if (isUsable(credential, context.clock.now(), refused)) return credential;
    throw failure;
  }
  const nextAttemptAt = await recordFailure(context, lease, { failure, refused });
  if (isUsable(credential, context.clock.now(), refused)) return credential;
  const seconds = secondsUntil(nextAttemptAt, context.clock.now());
  const refusal = error instanceof OAuthRefusal ? '' : 'The access token could not be renewed. ';
  // The call itself was never sent. `reason` reports that: see actions/idempotency.ts.
  throw new GatehouseError(
    failure.code,
    `${refusal}${failure.message} The next attempt is in ${seconds} s.`,
    {
      details: { ...failure.details, reason: 'renewal_failed' },
      headers: failure.headers,
      retryAfterSeconds: seconds,
      fix: failure.fix,
    },
  );
}

/** Returns the error for a rejected OAuth app. The operator must fix it; the credential is not at fault. */
function refusedApp({ name, connectorId }: Connector, { error, description, status }: OAuthRefusal) {
  const message = description === undefined ? error : `${error}: ${description}`;
  return new GatehouseError('upstream_rejected', `${name} refused to renew the access token (${message}).`, {
    details: { status, connectorId, reason: 'renewal_failed', error, message },
    fix: `Check the OAuth app: PUT /api/connectors/${connectorId}/oauth-app.`,
  });
}

/** Counts the failure and sets the time of the next attempt. @returns that time, epoch ms. */
async function recordFailure(
  { db, clock, log, credentialMemory }: RenewContext,
  { credential, fence }: Lease,
  { failure, refused }: { failure: GatehouseError; refused: Refused | undefined },
): Promise<number> {
  const { credentialId, connectorId, refreshFailures } = credential;
  const now = clock.now();
  const backoffMs = backoff(refreshFailures + 1, {
    firstMs: FIRST_BACKOFF_MS,
    longestMs: longestPauseMs(credential, now, refused),
  });
  const requestedMs = requestedPauseMs(failure);
  const refreshAfter = now + Math.min(MAX_BACKOFF_MS, Math.max(backoffMs, requestedMs));
  await db
    .updateTable('credentials')
    .set({ refresh_failures: refreshFailures + 1, refresh_after: refreshAfter })
    .where('credential_id', '=', credentialId)
    .where('version', '=', credential.version)
    .where('fence', '=', fence)
    .execute();
  credentialMemory.forgetChoices();
  log.warn(
    {
      credentialId,
      connectorId,
      code: failure.code,
      details: failure.details,
      failures: refreshFailures + 1,
    },
    'access token not renewed',
  );
  return refreshAfter;
}

/** Returns the longest pause: until the tokens expire while they work, then a minute, because calls wait. */
function longestPauseMs(credential: Credential, now: number, refused: Refused | undefined): number {
  const left = isUsable(credential, now, refused) ? (credential.expiresAt ?? now) - now : 0;
  return Math.min(MAX_BACKOFF_MS, Math.max(MAX_WAITING_BACKOFF_MS, left));
}

/**
 * Returns the pause that a rate-limited token endpoint asks for, ms. Outages are excluded: their length is unknown.
 */
function requestedPauseMs({ code, retryAfterSeconds = 0 }: GatehouseError): number {
  return code === 'upstream_rate_limited' ? retryAfterSeconds * SECOND : 0;
}

function endsGrant(scheme: TokenScheme, error: unknown): boolean {
  if (!(error instanceof OAuthRefusal)) return false;
  // A token exchange has no operator's app that could be at fault.
  if (error.error === 'invalid_grant' || scheme.type === 'token_exchange') return true;
  return scheme.type === 'oauth2_client_credentials' && CLIENT_REFUSALS.has(error.error);
}

/** Returns whether a token endpoint refuses the client in the words of the standard. A status alone may have other causes. */
function refusesClient(error: unknown): boolean {
  return error instanceof OAuthRefusal && ['invalid_client', 'unauthorized_client'].includes(error.error);
}

/** Returns whether tokens come from keys of the user's own, and not from a consent. */
function hasOwnKeys<T extends { type: string }>(
  scheme: T,
): scheme is T & { type: 'oauth2_client_credentials' | 'token_exchange' } {
  return scheme.type === 'oauth2_client_credentials' || scheme.type === 'token_exchange';
}
