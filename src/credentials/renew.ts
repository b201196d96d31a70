import { setTimeout as sleep } from 'node:timers/promises';
import type { Connector } from '../connectors/catalog.ts';
import type { OAuth } from '../connectors/format.ts';
import type { Context } from '../context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { forgetChoices } from './choices.ts';
import { credentialNotFound, type Credential } from './credential.ts';
import { endCredential } from './health.ts';
import { extendLease, readLeased, type Lease } from './lease.ts';
import { requireOAuthClient } from './oauth-apps.ts';
import { clientCredentialsTokens, OAuthRefusal, refreshTokens, type Tokens } from './oauth.ts';
import { openCredential, openValues } from './open.ts';
import { saveTokens } from './save.ts';
import { dropSpare, findSpares } from './spares.ts';
import { isDue, isUsable, secondsUntil, type Refused } from './renewal-times.ts';

export type RenewContext = Pick<
  Context,
  'db' | 'clock' | 'log' | 'keys' | 'catalog' | 'outbound' | 'operator'
>;

/** Between a first `invalid_grant` and the second that counts. */
const RECHECK_MS = 5 * SECOND;
/** How long after another attempt its answer may still be on its way into the store. */
const SETTLE_MS = 30 * SECOND;
const LOOK_MS = SECOND / 2;
const FIRST_BACKOFF_MS = 30 * SECOND;
/** The longest pause while the tokens at hand still work, and the longest that a token endpoint can ask for. */
const MAX_BACKOFF_MS = 15 * MINUTE;
/** The longest pause of our own while calls wait for new tokens: an outage that is over is noticed within it. */
const MAX_WAITING_BACKOFF_MS = MINUTE;
/** What a token endpoint says to a client id and secret that it does not know (RFC 6749 section 5.2). */
const CLIENT_REFUSALS = new Set([
  'invalid_client',
  'unauthorized_client',
  'access_denied',
  'http_401',
  'http_403',
]);

/** A renewal under way: whose, and under which lease. */
interface Renewal {
  connector: Connector;
  scheme: OAuth;
  lease: Lease;
  values: Record<string, string>;
  refused: Refused | undefined;
}

/** Whether there is something to renew with: a refresh token, or the client's own id and secret. */
export function isRenewable(context: Pick<Context, 'keys'>, credential: Credential): boolean {
  return (
    credential.type === 'oauth2_client_credentials' ||
    openValues(context, credential)['refreshToken'] !== undefined
  );
}

/**
 * Renews tokens under a lease, and saves them over the version that it began with. An app that is out of order never
 * ends a credential; an `invalid_grant` does when it comes twice, and no other tokens were put aside.
 * @throws GatehouseError as freshCredential
 */
export async function renew(
  context: RenewContext,
  wish: {
    connector: Connector;
    lease: Lease;
    refused: Refused | undefined;
    /** When the attempt before this one ended, in epoch milliseconds. */
    lastEndedAt: number | null;
  },
): Promise<Credential> {
  const { connector, lease, refused, lastEndedAt } = wish;
  const { credential } = lease;
  // Between the look and the lease somebody else may have renewed.
  if (!isDue(credential, context.clock.now(), refused)) return credential;
  const { scheme } = openCredential(context, connector, credential);
  if (scheme.type !== 'oauth2' && scheme.type !== 'oauth2_client_credentials') return credential;
  const renewal = { connector, scheme, lease, refused, values: openValues(context, credential) };
  try {
    return await attempt(context, renewal, renewal.values);
  } catch (error) {
    if (!endsGrant(scheme, error)) return fallBack(context, renewal, error);
  }
  const overtaken = await waitForOthers(context, renewal, lastEndedAt);
  if (overtaken) return overtaken;
  try {
    return await attempt(context, renewal, renewal.values);
  } catch (error) {
    if (!endsGrant(scheme, error)) return fallBack(context, renewal, error);
    return (await trySpares(context, renewal)) ?? (await giveUp(context, renewal, error));
  }
}

/** Asks for tokens with a refresh token, or with id and secret, and saves what comes. */
async function attempt(
  context: RenewContext,
  renewal: Renewal,
  values: Record<string, string>,
): Promise<Credential> {
  const { connector, scheme, lease } = renewal;
  const tokens = await requestTokens(context, renewal, values);
  return saveTokens(context, { connector, scheme, credential: lease.credential, values, tokens });
}

async function requestTokens(
  context: RenewContext,
  { connector, scheme, lease }: Renewal,
  values: Record<string, string>,
): Promise<Tokens> {
  if (scheme.type === 'oauth2_client_credentials')
    return clientCredentialsTokens(context, { connector, scheme, values });
  const client = await requireOAuthClient(context, lease.credential.environment, connector);
  const refreshToken = values['refreshToken'] ?? '';
  // No signal: a caller that goes away must not lose the tokens that are already on their way.
  return refreshTokens(context, { connector, scheme, client, values, refreshToken });
}

/**
 * After a first `invalid_grant`. Somebody else may have used the token, and be about to save what came for it: then
 * the newer credential is the answer. Undefined when this one is still the latest and the lease still ours.
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
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += LOOK_MS) {
    await sleep(LOOK_MS);
    const latest = await readLeased(db, credentialId, clock.now());
    if (!latest) throw credentialNotFound(credentialId);
    if (latest.credential.version !== version) return latest.credential;
  }
  if (await extendLease(db, lease, clock.now())) return undefined;
  throw new GatehouseError(
    'upstream_failed',
    `The access token for ${connector.name} is being renewed by another process. Try again.`,
    { details: { reason: 'renewal_pending' }, headers: { 'Retry-After': '5' } },
  );
}

/** Tokens that another renewal received and could not save may be the ones that work. */
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
  const said = error instanceof OAuthRefusal ? (error.description ?? error.error) : 'invalid_grant';
  const ownKeys = scheme.type === 'oauth2_client_credentials';
  const reason = ownKeys
    ? `${connector.name} refused the client id and secret. Replace them.`
    : `${connector.name} no longer renews the access: it was revoked there, or unused for too long. Connect the account again.`;
  const state = ownKeys ? 'needs_reconnect' : 'revoked';
  await endCredential(context, lease.credential, { state, cause: 'invalid_grant', reason, appMessage: said });
  throw new GatehouseError('credential_invalid', reason, {
    details: { reason: 'revoked', message: said, state, credentialId: lease.credential.credentialId },
  });
}

/** A renewal that decided nothing: what is there is used while it works, and the next attempt has to wait. */
async function fallBack(context: RenewContext, renewal: Renewal, error: unknown): Promise<Credential> {
  const { connector, lease, refused } = renewal;
  const { credential } = lease;
  const failure = error instanceof OAuthRefusal ? refusedApp(connector, error) : error;
  if (!(failure instanceof GatehouseError)) throw failure;
  if (!failure.code.startsWith('upstream_')) {
    if (isUsable(credential, context.clock.now(), refused)) return credential;
    throw failure;
  }
  const again = await recordFailure(context, lease, { failure, refused });
  if (isUsable(credential, context.clock.now(), refused)) return credential;
  const seconds = secondsUntil(again, context.clock.now());
  const refusal = error instanceof OAuthRefusal ? '' : 'The access token could not be renewed. ';
  // The call itself was never sent, which `reason` tells: see actions/idempotency.ts.
  throw new GatehouseError(
    failure.code,
    `${refusal}${failure.message} The next attempt is in ${seconds} s.`,
    {
      details: { ...failure.details, reason: 'renewal_failed' },
      headers: { ...failure.headers, 'Retry-After': String(seconds) },
      fix: failure.fix,
    },
  );
}

/** The third party knows the user, but not who asks: the operator's to mend, and no fault of the credential. */
function refusedApp({ name, connectorId }: Connector, { error, description, status }: OAuthRefusal) {
  const said = description === undefined ? error : `${error}: ${description}`;
  return new GatehouseError('upstream_rejected', `${name} refused to renew the access token (${said}).`, {
    details: { status, connectorId, reason: 'renewal_failed', error, message: said },
    fix: `Check the OAuth app: PUT /api/connectors/${connectorId}/oauth-app.`,
  });
}

/** Counts the failure, and sets when the next attempt may be. @returns that time, epoch ms. */
async function recordFailure(
  { db, clock, log }: RenewContext,
  { credential, fence }: Lease,
  { failure, refused }: { failure: GatehouseError; refused: Refused | undefined },
): Promise<number> {
  const { credentialId, connectorId, refreshFailures } = credential;
  const now = clock.now();
  const backoffMs = Math.min(
    FIRST_BACKOFF_MS * 2 ** Math.min(refreshFailures, 10),
    longestPauseMs(credential, now, refused),
  );
  const asked = askedPauseMs(failure);
  const refreshAfter = now + Math.min(MAX_BACKOFF_MS, Math.max(backoffMs, asked));
  await db
    .updateTable('credentials')
    .set({ refresh_failures: refreshFailures + 1, refresh_after: refreshAfter })
    .where('credential_id', '=', credentialId)
    .where('version', '=', credential.version)
    .where('fence', '=', fence)
    .execute();
  forgetChoices(db);
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

/** Tokens that still work may rest until they end; from then on calls wait, and the pause is a minute at most. */
function longestPauseMs(credential: Credential, now: number, refused: Refused | undefined): number {
  const left = isUsable(credential, now, refused) ? (credential.expiresAt ?? now) - now : 0;
  return Math.min(MAX_BACKOFF_MS, Math.max(MAX_WAITING_BACKOFF_MS, left));
}

/** What a token endpoint that limits its callers asks for, in milliseconds. An outage cannot know how long it lasts. */
function askedPauseMs({ code, headers }: GatehouseError): number {
  return code === 'upstream_rate_limited' ? Number(headers['Retry-After'] ?? 0) * SECOND : 0;
}

function endsGrant(scheme: OAuth, error: unknown): boolean {
  if (!(error instanceof OAuthRefusal)) return false;
  if (error.error === 'invalid_grant') return true;
  return scheme.type === 'oauth2_client_credentials' && CLIENT_REFUSALS.has(error.error);
}
