import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { Context } from './context.ts';
import type { Connector } from '../connectors/catalog.ts';
import { bindingOf } from '../connectors/origins.ts';
import { hashToken } from '../crypto/tokens.ts';
import { requireOAuthClient } from '../credentials/oauth-apps.ts';
import { exchangeCode, OAuthRefusal, type Tokens } from '../credentials/oauth.ts';
import type { OAuth2 } from '../credentials/oauth-client.ts';
import { chosenTokens, valuesOf } from '../credentials/granted.ts';
import { endValues } from '../credentials/revoke.ts';
import { requireEnabled } from '../identity/users.ts';
import { HOUR, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { askAccount, impliedChoice } from './account-choice.ts';
import { callbackUrl } from './authorize.ts';
import {
  requireSession,
  rereadSession,
  endSession,
  sessionTaken,
  type ConnectSession,
  type ConnectOutcome,
} from './connect-sessions.ts';
import { storeAccount } from './store-account.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** The redirect from an app's consent page. */
export interface Callback {
  connectorId: string;
  query: URLSearchParams;
  /** The browser id in the cookie; absent when the browser sent none. */
  browserId: string | undefined;
}

type Failed = Extract<ConnectOutcome, { success: false }>;

/** A returned consent with the data that it began with. */
interface Consent {
  session: ConnectSession;
  connector: Connector;
  scheme: OAuth2;
  values: Record<string, string>;
  verifier: string;
}

/** How long a repeated return waits for the outcome of the first one. */
const WAIT_MS = 20 * SECOND;
const LOOK_MS = 100;
/** How long a used state is stored, so that a repeated return shows its outcome. */
const USED_KEPT_MS = HOUR;

/** The end of a consent. */
export interface Finished {
  session: ConnectSession;
  /** Undefined while the person has to choose an account. */
  outcome: ConnectOutcome | undefined;
  /** Whether an earlier request has finished the consent. */
  isRepeated: boolean;
}

/**
 * Ends a consent: consumes its state, exchanges the code and stores the account. A repeated return, such as a reload, gets
 * the outcome of the first one.
 * Every answer of the app ends the session with a sentence for the person. The outcome is undefined while the person
 * has to choose an account: see account-choice.ts.
 * @throws GatehouseError `oauth_state_invalid` (unknown, replaced, expired, of another connector),
 * `connect_session_taken` (another browser; the state stays valid for the right one).
 */
export async function finishAuthorization(context: Context, callback: Callback): Promise<Finished> {
  const consent = await takeState(context, callback);
  if ('usedBy' in consent) return outcomeOfFirst(context, consent.usedBy);
  const outcome = await outcomeOf(context, consent, callback);
  if (outcome?.success === false)
    await endSession(context.db, context, { sessionId: consent.session.sessionId, ended: outcome });
  return { session: consent.session, outcome, isRepeated: false };
}

/** Returns the outcome that the first return of a state has, and waits for it. */
async function outcomeOfFirst(context: Context, first: ConnectSession): Promise<Finished> {
  const until = performance.now() + WAIT_MS;
  let session = first;
  while (session.status === 'authorizing' && performance.now() < until) {
    await setTimeout(LOOK_MS);
    session = await rereadSession(context.db, session);
  }
  const { status, outcome } = session;
  if (outcome === null && status !== 'choosing') throw stateInvalid();
  return { session, outcome: outcome ?? undefined, isRepeated: true };
}

const sealedState = z.object({
  verifier: z.string(),
  values: z.record(z.string(), z.string()),
  origins: z.string().default(''),
});

async function takeState(
  context: Context,
  { connectorId, query, browserId }: Callback,
): Promise<Consent | { usedBy: ConnectSession }> {
  const [state = '', ...others] = query.getAll('state');
  // RFC 6749 section 3.1: a parameter must not repeat. The first of two states may belong to another consent.
  if (others.length > 0) throw stateInvalid();
  const stateHash = hashToken(context.hashKey, state);
  const row = await context.db
    .selectFrom('oauth_states')
    .selectAll()
    .where('state_hash', '=', stateHash)
    .executeTakeFirst();
  if (!row || row.connector_id !== connectorId) throw stateInvalid();
  if (browserId === undefined) throw sessionTaken();
  const session = await requireSession(context, row.session_id, { browserId }).catch((error: unknown) => {
    if (error instanceof GatehouseError && error.code === 'connect_session_not_found') throw sessionTaken();
    throw error;
  });
  const now = context.clock.now();
  const { numUpdatedRows } = await context.db
    .updateTable('oauth_states')
    .set((e) => ({
      used_at: now,
      expires_at: e
        .case()
        .when('expires_at', '>', now)
        .then(now + USED_KEPT_MS)
        .else(e.ref('expires_at'))
        .end(),
    }))
    .where('state_hash', '=', stateHash)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return { usedBy: session };
  if (row.expires_at <= now) throw stateInvalid();

  const connector = context.catalog.connector(session.environment, connectorId);
  const scheme = connector?.definition.authentication.find((one) => one.type === row.type);
  if (!connector || scheme?.type !== 'oauth2') throw stateInvalid();
  const { verifier, values, origins } = context.keys.openJson(
    sealedState,
    row.sealed,
    boundTo('oauth_states.sealed', row),
  );
  // A custom connector that changed during the consent would get the code of another app.
  if (origins !== bindingOf(connector)) throw stateInvalid();
  return { session, connector, scheme, values, verifier };
}

async function outcomeOf(
  context: Context,
  consent: Consent,
  callback: Callback,
): Promise<ConnectOutcome | undefined> {
  const { connector, session } = consent;
  const key = { environment: session.environment, connectorId: connector.connectorId };
  let clientId: string | undefined;
  try {
    await requireEnabled(context.db, session.environment, session.userId);
    const client = await requireOAuthClient(context, session.environment, connector);
    ({ clientId } = client);
    // No signal: closing the window stops nothing, because the person has consented and the code works only once.
    const tokens = await exchangeCode(context, {
      ...consent,
      client,
      redirectUri: callbackUrl(context, connector),
      state: callback.query.get('state') ?? '',
      callback: callback.query,
    });
    context.signInClients.noteKnown(key);
    return await connectOrAsk(context, consent, tokens);
  } catch (error) {
    const isNew =
      clientId !== undefined && refusesClient(error) && (await context.signInClients.refused(key, clientId));
    const ended = isNew ? registeredAgain(connector) : failure(connector, error);
    const { connectorId } = connector;
    const facts = { connectorId, sessionId: session.sessionId, ...factsOf(error) };
    context.log[levelOf(ended)](facts, 'connecting an account failed');
    return ended;
  }
}

/**
 * Stores the account of new tokens. Where the consent reaches several accounts, it stores the tokens until the person
 * has chosen one, and returns undefined.
 */
async function connectOrAsk(
  context: Context,
  { session, connector, scheme, values }: Consent,
  tokens: Tokens,
): Promise<ConnectOutcome | undefined> {
  const grant = { connector, scheme, values, tokens };
  const { environment, userId, sessionId } = session;
  const unused = async (ended: Failed): Promise<Failed> => {
    const facts = { sessionId };
    await endValues(context, { ...grant, environment, userId, values: () => valuesOf(grant), facts });
    return ended;
  };
  const closed = failed('closed', 'This was closed or finished in another window.');
  const { choices } = tokens;
  if (choices?.length === 0) return unused(noAccount(connector));
  const only = choices && (await impliedChoice(context, session, { connector, scheme, choices }));
  if (choices && !only) {
    const asked = await askAccount(context, session, { ...grant, tokens: { ...tokens, choices } });
    return asked ? undefined : unused(closed);
  }
  const known = only ? chosenTokens(tokens, only) : tokens;
  return (await storeAccount(context, session, { grant: { ...grant, tokens: known } })) ?? unused(closed);
}

function noAccount({ name }: Connector): Failed {
  return failed(
    'no_account',
    `You allowed access to ${name}, but not to any account there. Nothing was connected. Try again, and choose an account where ${name} asks for it.`,
  );
}

function failed(error: string, message: string): Failed {
  return { success: false, error, message };
}

/** Returns an error of OAuth (RFC 6749 section 4.1.2.1) as a sentence for the user, without the app's description. */
function refusal({ name }: Connector, error: string): Failed {
  if (error === 'access_denied')
    return failed(error, `You did not allow access to ${name}. Nothing was connected.`);
  const code = /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : '';
  return failed(
    'provider_refused',
    `${name} could not sign you in${code}. Try again; if it keeps failing, contact the operator of this application.`,
  );
}

/** Returns whether an OAuth server refuses the client itself, in the redirect or at its token endpoint. */
function refusesClient(error: unknown): boolean {
  return error instanceof OAuthRefusal && ['invalid_client', 'unauthorized_client'].includes(error.error);
}

function registeredAgain({ name }: Connector): Failed {
  return failed(
    'provider_refused',
    `${name} no longer knew this application, which has registered there again. Try again.`,
  );
}

function failure(connector: Connector, error: unknown): Failed {
  if (error instanceof OAuthRefusal) return refusal(connector, error.error);
  if (!(error instanceof GatehouseError))
    return failed(
      'internal',
      'Something went wrong on our side, and nothing was connected. Please try again.',
    );
  const { name } = connector;
  const { code } = error;
  switch (code) {
    case 'forbidden':
    case 'user_not_found':
      return failed(code, error.message);
    case 'credential_conflict':
      return failed('account_mismatch', error.message);
    case 'oauth_app_missing':
      return failed(code, `Signing in to ${name} is not set up here.`);
    case 'credential_invalid':
      return failed(code, `${name} did not accept the sign-in. Try again.`);
    case 'upstream_timeout':
      return failed('provider_failed', `${name} did not answer in time. Try again in a moment.`);
    default:
      return failed(
        'provider_failed',
        `${name} answered in a way that could not be used. Try again in a moment.`,
      );
  }
}

/** Returns the log level. A person's refusal needs no attention of the operator. */
function levelOf({ error }: Failed): 'info' | 'warn' | 'error' {
  if (error === 'access_denied') return 'info';
  return error === 'internal' ? 'error' : 'warn';
}

/** Returns the facts that may be logged: codes, never an answer of the app. */
function factsOf(error: unknown): Record<string, unknown> {
  if (error instanceof OAuthRefusal) return { error: error.error, status: error.status };
  return error instanceof GatehouseError ? { code: error.code, details: error.details } : { err: error };
}

function stateInvalid(): GatehouseError {
  return new GatehouseError(
    'oauth_state_invalid',
    'This sign-in is no longer valid: it was replaced by a newer one, or took longer than ten minutes. ' +
      'Go back to where you came from and connect again.',
  );
}
