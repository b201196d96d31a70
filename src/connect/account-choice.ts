import type { Connector } from '../connectors/catalog.ts';
import type { Context } from './context.ts';
import type { AccountChoice } from '../credentials/account-choices.ts';
import { assertSameAccount } from '../credentials/account-change.ts';
import { choices as accountsOf } from '../credentials/active-credentials.ts';
import { chosenTokens } from '../credentials/granted.ts';
import { requireCredential } from '../credentials/credential-records.ts';
import {
  endUnchosen,
  findUnchosen,
  keepUnchosen,
  takeUnchosen,
  type UnchosenGrant,
} from '../credentials/unchosen-grants.ts';
import { MINUTE } from '../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import {
  assertLive,
  endSession,
  LIVE,
  type ConnectSession,
  type ConnectOutcome,
} from './connect-sessions.ts';
import { storeAccount } from './store-account.ts';

/** Time to choose an account after the consent. */
const CHOICE_MS = 10 * MINUTE;

/** An account to choose, as the person sees it. */
interface OfferedAccount {
  accountId: string;
  label: string;
  detail?: string | undefined;
  /** Whether the user has connected it already. */
  connected: boolean;
}

/**
 * Returns the account that a consent implies: the only one, or the account that the session reconnects. Undefined
 * means that the person chooses.
 * @throws GatehouseError `credential_conflict` when the consent does not reach the account to reconnect.
 */
export async function impliedChoice(
  context: Context,
  { environment, userId, credentialId }: ConnectSession,
  { connector, scheme, choices }: Pick<UnchosenGrant, 'connector' | 'scheme'> & { choices: AccountChoice[] },
): Promise<AccountChoice | undefined> {
  const [first, ...others] = choices;
  if (others.length === 0) return first;
  if (credentialId === null) return undefined;
  const before = await requireCredential(context.db, { environment, userId, credentialId });
  const same = choices.find(({ account }) => account && account.id === before.account?.id);
  if (!same) assertSameAccount(connector, before, { type: scheme.type, account: first?.account });
  return same;
}

/**
 * Asks the person to choose among the accounts of a grant, while its tokens work or can be renewed. Returns false when
 * the session has ended.
 */
export async function askAccount(
  context: Context,
  { sessionId }: ConnectSession,
  grant: UnchosenGrant,
): Promise<boolean> {
  const now = context.clock.now();
  const { tokens } = grant;
  const lastMs = tokens.refreshToken === undefined ? (tokens.expiresAt ?? Infinity) : Infinity;
  const expiresAt = Math.min(now + CHOICE_MS, lastMs);
  return context.db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('connect_sessions')
      .set({ status: 'choosing', expires_at: expiresAt, updated_at: now })
      .where('session_id', '=', sessionId)
      .where('status', 'in', LIVE)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    await keepUnchosen(tx, context, { sessionId, expiresAt, grant });
    return true;
  });
}

/** Returns the accounts that a session offers; undefined while there is nothing to choose. */
export async function offeredAccounts(
  context: Context,
  session: ConnectSession,
): Promise<{ connectorId: string; accounts: OfferedAccount[] } | undefined> {
  if (session.status !== 'choosing') return undefined;
  const grant = await findUnchosen(context, session);
  if (!grant) return undefined;
  const { environment, userId } = session;
  const { connectorId } = grant.connector;
  const connected = await accountsOf(context, { environment, userId, connectorId });
  const ids = new Set(connected.map(({ account }) => account?.id));
  const accounts = grant.tokens.choices.map(({ accountId, label, detail, account }) => ({
    accountId,
    label,
    ...(detail === undefined ? {} : { detail }),
    connected: account !== undefined && ids.has(account.id),
  }));
  return { connectorId, accounts };
}

/**
 * Connects the account that a person chose, and ends the session. A refusal of the app leaves the session open, so
 * that the person can choose another one.
 * @throws GatehouseError `connect_session_expired`, `invalid_request` for an id that was not offered,
 * `credential_invalid`, `credential_conflict`, upstream_*
 */
export async function chooseAccount(
  context: Context,
  session: ConnectSession,
  accountId: string,
): Promise<ConnectOutcome> {
  await assertLive(context, session);
  if (session.status !== 'choosing')
    throw invalidRequest([{ field: 'accountId', rule: 'cannot be given now: no accounts are offered' }]);
  const grant = await findUnchosen(context, session);
  if (!grant) throw overtaken();
  const choice = grant.tokens.choices.find((one) => one.accountId === accountId);
  if (!choice)
    throw invalidRequest([{ field: 'accountId', rule: 'must be one of the accounts that were offered' }]);
  const { sessionId } = session;
  const stored = await storeAccount(context, session, {
    grant: { ...grant, tokens: chosenTokens(grant.tokens, choice) },
    async ending(tx) {
      if (!(await takeUnchosen(tx, context, sessionId))) throw overtaken();
    },
  }).catch((error: unknown) => {
    throw refusalOf(grant.connector, choice, error);
  });
  if (!stored) throw overtaken();
  return stored;
}

/** Ends a session without an account. Returns false when it had ended before. */
export async function cancelSession(
  context: Context,
  { sessionId }: ConnectSession,
  closed: ConnectOutcome,
): Promise<boolean> {
  const ended = await endSession(context.db, context, { sessionId, ended: closed });
  if (ended) await endUnchosen(context, sessionId);
  return ended;
}

function refusalOf({ name }: Connector, { label }: AccountChoice, error: unknown): unknown {
  if (!(error instanceof GatehouseError) || error.code !== 'credential_invalid') return error;
  return new GatehouseError(
    'credential_invalid',
    `${name} refuses access to ${label}. Choose another account, or ask for access there.`,
    { details: error.details, cause: error },
  );
}

function overtaken(): GatehouseError {
  return new GatehouseError(
    'connect_session_expired',
    'This was finished or started again in another window.',
  );
}
