import { z } from 'zod';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { withoutHidden } from '../lib/hidden-characters.ts';
import type { Selectable } from 'kysely';
import type { Tables } from '../store/schema.ts';

/** `needs_reconnect`: the third party rejected it, and a check or new data restores it. `revoked`: permanent. */
export type CredentialState = Tables['credentials']['state'];

/** The third party's account behind a credential. */
export interface Account {
  id: string;
  name?: string | undefined;
}

/** A stored credential. Its values are only in `sealed`: see sealed-values.ts. Times are epoch milliseconds. */
export type Credential = ReturnType<typeof toCredential>;

const account = z.object({ id: z.string(), name: z.string().optional() });

const scopes = z.array(z.string());

/** Returns the members of an operator event that identify a credential and its user. */
export function credentialFacts({
  credentialId,
  userId,
  connectorId,
  type,
}: Pick<Credential, 'credentialId' | 'userId' | 'connectorId' | 'type'>): Record<string, string> {
  return { credentialId, connectionId: credentialId, userId, connectorId, type };
}

export function toCredential(row: Selectable<Tables['credentials']>) {
  return {
    credentialId: row.credential_id,
    environment: row.environment,
    userId: row.user_id,
    connectorId: row.connector_id,
    /** The authentication type in the connector file: bearer, api_key … */
    type: row.type,
    name: row.name,
    state: row.state,
    /** The reason why it is not active, in words for its owner. */
    reason: row.reason,
    /** The app's message about the reason. */
    appMessage: row.reason === null ? null : row.app_message,
    account: row.account === null ? null : account.parse(JSON.parse(row.account)),
    /**
     * The hash of the account; null when another record of the user holds that account. See account-key.ts.
     */
    accountKey: row.account_key,
    /** Whether calls that name no credential use this one. */
    isDefault: row.is_default === 1,
    sealed: row.sealed,
    /** The origins that the values may be sent to; see connectors/origins.ts. */
    origins: row.origins,
    /** Rises with each change of `sealed`. */
    version: row.version,
    /** The granted scopes; null where the scheme has none. */
    scopes: scopesIn(row.scopes),
    /** Expiry of the access token, epoch ms; null when unknown. */
    expiresAt: row.expires_at,
    /** Start of renewal, epoch ms: before the expiry, so that no call has to wait. */
    renewAt: row.renew_at,
    /** Failed renewals in a row. `refreshAfter` is the time of the next attempt. */
    refreshFailures: row.refresh_failures,
    refreshAfter: row.refresh_after,
    /** The stored time can be a minute old: see executions.ts. */
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Parses the column `scopes`: a JSON array; null when the scopes are unknown. */
export function scopesIn(text: string | null): string[] | null {
  return text === null ? null : scopes.parse(JSON.parse(text));
}

/** Returns the credential as the API answers it, without secrets. */
export function describeCredential(credential: Credential) {
  return {
    credentialId: credential.credentialId,
    connectionId: credential.credentialId,
    userId: credential.userId,
    connectorId: credential.connectorId,
    type: credential.type,
    name: credential.name,
    state: credential.state,
    ...(credential.reason === null ? {} : { reason: credential.reason }),
    // A person or a model reads it, so no character of the app's words may be hidden.
    ...(credential.appMessage === null ? {} : { appMessage: withoutHidden(credential.appMessage) }),
    ...(credential.scopes === null ? {} : { scopes: credential.scopes }),
    ...(credential.account === null ? {} : { account: credential.account }),
    default: credential.isDefault,
    createdAt: isoTime(credential.createdAt),
    updatedAt: isoTime(credential.updatedAt),
    lastUsedAt: isoTime(credential.lastUsedAt),
    ...(credential.expiresAt === null ? {} : { expiresAt: isoTime(credential.expiresAt) }),
    ...(credential.refreshFailures === 0 ? {} : { refreshFailures: credential.refreshFailures }),
  };
}

/** Returns the same error for an absent credential, one of another user and one of the other environment. */
export function credentialNotFound(credentialId: string): GatehouseError {
  return new GatehouseError(
    'credential_not_found',
    `This user has no credential "${credentialId.slice(0, 64)}".`,
  );
}
