import { z } from 'zod';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Selectable } from 'kysely';
import type { Environment, Tables } from '../store/schema.ts';

/** `needs_reconnect`: the third party refused it; a check or new data brings it back. `revoked`: ended for good. */
export type CredentialState = Tables['credentials']['state'];

/** The third party's account behind a credential. */
export interface Account {
  id: string;
  name?: string | undefined;
}

/** A stored credential. Its values are in `sealed` alone: see open.ts. Times are epoch milliseconds. */
export interface Credential {
  credentialId: string;
  environment: Environment;
  userId: string;
  connectorId: string;
  /** The scheme of the connector file that it belongs to: bearer, api_key … */
  type: string;
  name: string;
  state: CredentialState;
  /** Why it is not active, in words for its owner. */
  reason: string | null;
  /** The app's words about the reason, which stay apart from ours. */
  appMessage: string | null;
  account: Account | null;
  /** What credentials of one account share; null for rows of earlier releases until they are written. See account-key.ts. */
  accountKey: string | null;
  /** Whether calls that name no credential use this one. */
  isDefault: boolean;
  sealed: string;
  /** Rises with each change of `sealed`. */
  version: number;
  /** What was granted; null where the scheme has no scopes. */
  scopes: string[] | null;
  /** When the access token ends. */
  expiresAt: number | null;
  /** From when on it is renewed: before it ends, so that no call waits for nothing. */
  renewAt: number | null;
  /** Renewals that failed in a row, and when the next is tried. */
  refreshFailures: number;
  refreshAfter: number | null;
  /** At most a minute behind: see executions.ts. */
  lastUsedAt: number | null;
  createdAt: number;
  updatedAt: number;
}

const account = z.object({ id: z.string(), name: z.string().optional() });

const scopes = z.array(z.string());

/** What the operator is told of a credential: which, and whose. */
export function credentialFacts({
  credentialId,
  userId,
  connectorId,
  type,
}: Pick<Credential, 'credentialId' | 'userId' | 'connectorId' | 'type'>): Record<string, string> {
  return { credentialId, connectionId: credentialId, userId, connectorId, type };
}

export function toCredential(row: Selectable<Tables['credentials']>): Credential {
  return {
    credentialId: row.credential_id,
    environment: row.environment,
    userId: row.user_id,
    connectorId: row.connector_id,
    type: row.type,
    name: row.name,
    state: row.state,
    reason: row.reason,
    appMessage: row.reason === null ? null : row.app_message,
    account: row.account === null ? null : account.parse(JSON.parse(row.account)),
    accountKey: row.account_key,
    isDefault: row.is_default === 1,
    sealed: row.sealed,
    version: row.version,
    scopes: scopesIn(row.scopes),
    expiresAt: row.expires_at,
    renewAt: row.renew_at,
    refreshFailures: row.refresh_failures,
    refreshAfter: row.refresh_after,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** The column `scopes`: a JSON array; null where the scopes are not known. */
export function scopesIn(text: string | null): string[] | null {
  return text === null ? null : scopes.parse(JSON.parse(text));
}

/** The record as it is answered (contract.md section 6): never a secret in it. */
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
    ...(credential.appMessage === null ? {} : { appMessage: credential.appMessage }),
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

/** The same for an absent credential, one of another user, and one of the other environment. */
export function credentialNotFound(credentialId: string): GatehouseError {
  return new GatehouseError(
    'credential_not_found',
    `This user has no credential "${credentialId.slice(0, 64)}".`,
  );
}
