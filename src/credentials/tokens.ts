import { sql, type Transaction } from 'kysely';
import type { Context } from '../context.ts';
import type { Tables } from '../store/schema.ts';
import type { Account, Credential } from './credential.ts';
import { valuesOf, type Granted } from './granted.ts';
import { sealValues } from './open.ts';
import { insertCredential, updateRow, type CredentialKey } from './records.ts';
import { refreshByOf, renewAtOf } from './renewal-times.ts';
import { dropSpares } from './spares.ts';

/** Stores the tokens of a grant: in the credential that has this id, which is then active again, or in a new one. */
export async function keepTokens(
  tx: Transaction<Tables>,
  context: Pick<Context, 'db' | 'clock' | 'keys' | 'catalog' | 'operator' | 'listening'>,
  granted: Granted & CredentialKey & { account: Account | undefined; reconnect: boolean },
): Promise<Credential> {
  const { scheme, tokens, account, reconnect } = granted;
  const values = valuesOf(granted);
  const refreshBy = refreshByOf(scheme, tokens, context.clock.now());
  if (!reconnect) {
    const { scopes, expiresAt } = tokens;
    return insertCredential(tx, context, { ...granted, values, scopes, expiresAt, refreshBy });
  }
  await dropSpares(tx, granted.credentialId);
  return updateRow(tx, context, granted, {
    type: scheme.type,
    state: 'active',
    reason: null,
    ...(account ? { account: JSON.stringify(account) } : {}),
    sealed: sealValues(context, sealedTo(granted), values),
    scopes: tokens.scopes ? JSON.stringify(tokens.scopes) : null,
    expires_at: tokens.expiresAt ?? null,
    renew_at: renewAtOf(tokens.expiresAt, context.clock.now()),
    version: sql<number>`version + 1`,
    lease_token: null,
    lease_until: null,
    refresh_failures: 0,
    refresh_after: null,
    refresh_by: refreshBy ?? null,
    updated_at: context.clock.now(),
  });
}

/** A reconnected credential may change its type; the seal follows the type that is written with it. */
function sealedTo({ environment, userId, credentialId, connector, scheme }: Granted & CredentialKey) {
  return { environment, userId, credentialId, connectorId: connector.connectorId, type: scheme.type };
}
