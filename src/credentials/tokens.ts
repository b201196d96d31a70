import { sql } from 'kysely';
import type { Connector } from '../connectors/catalog.ts';
import type { OAuth } from '../connectors/format.ts';
import type { Context } from '../context.ts';
import { DAY } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Account, Credential } from './credential.ts';
import type { Tokens } from './oauth.ts';
import { sealValues, unsavedCredential } from './open.ts';
import { probe, type ProbeContext } from './probe.ts';
import { insertCredential, updateRow, type CredentialKey } from './records.ts';

/** Refresh tokens of unknown lifetime are used at least this often. */
const UNKNOWN_LIFETIME_DAYS = 60;

/** A grant that was just made, with what it began with. */
export interface Granted {
  connector: Connector;
  scheme: OAuth;
  credentialId: string;
  /** The fields that were asked for before. */
  values: Record<string, string>;
  tokens: Tokens;
}

/** What a credential holds after a grant. */
export function valuesOf({ values, tokens }: Pick<Granted, 'values' | 'tokens'>): Record<string, string> {
  const { accessToken, refreshToken, captured } = tokens;
  return { ...values, ...captured, accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) };
}

/**
 * The account behind fresh tokens: what the grant itself told, else the connector's probe. An app that gives no
 * definite answer now does not make good tokens bad, which could not be asked for again.
 * @throws GatehouseError `credential_invalid` when the app refuses the tokens.
 */
export async function probeTokens(context: ProbeContext, granted: Granted): Promise<Account | undefined> {
  const { connector, scheme, credentialId, tokens } = granted;
  try {
    const probed = await probe(
      context,
      connector,
      unsavedCredential(connector, scheme, credentialId, valuesOf(granted)),
    );
    const { account } = tokens;
    // Some grants say whose the tokens are by an id alone.
    if (!account || account.name !== undefined || probed.account?.name === undefined)
      return account ?? probed.account;
    return { ...account, name: probed.account.name };
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code === 'credential_invalid') throw error;
    context.log.warn(
      { connectorId: connector.connectorId, credentialId, code: error.code },
      'the account behind new tokens could not be read',
    );
    return tokens.account;
  }
}

/** Stores the tokens of a grant: in the credential that has this id, which is then active again, or in a new one. */
export async function keepTokens(
  context: Pick<Context, 'clock' | 'keys'> & { db: DbOrTx },
  granted: Granted & CredentialKey & { account: Account | undefined; reconnect: boolean },
): Promise<Credential> {
  const { scheme, tokens, account, reconnect } = granted;
  const values = valuesOf(granted);
  const refreshBy = refreshByOf(scheme, tokens, context.clock.now());
  if (!reconnect) {
    const { scopes, expiresAt } = tokens;
    return insertCredential(context, { ...granted, values, scopes, expiresAt, refreshBy });
  }
  return updateRow(context.db, granted, {
    type: scheme.type,
    state: 'active',
    reason: null,
    ...(account ? { account: JSON.stringify(account) } : {}),
    sealed: sealValues(context, granted, values),
    scopes: tokens.scopes ? JSON.stringify(tokens.scopes) : null,
    expires_at: tokens.expiresAt ?? null,
    version: sql<number>`version + 1`,
    lease_token: null,
    lease_until: null,
    refresh_failures: 0,
    refresh_after: null,
    refresh_by: refreshBy ?? null,
    updated_at: context.clock.now(),
  });
}

/** When unused tokens are renewed: at half the life of the refresh token. Epoch milliseconds. */
export function refreshByOf(
  scheme: OAuth,
  tokens: Pick<Tokens, 'refreshToken'>,
  now: number,
): number | undefined {
  if (tokens.refreshToken === undefined) return undefined;
  const days = (scheme.type === 'oauth2' ? scheme.refreshTokenDays : undefined) ?? UNKNOWN_LIFETIME_DAYS;
  return now + (days * DAY) / 2;
}
