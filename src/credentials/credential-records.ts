import { requireConnector, type Connector } from '../connectors/catalog.ts';
import { accountPlaces } from '../connectors/captured.ts';
import type { Authentication } from '../connectors/format/format.ts';
import { bindingOf, keepsOrigins } from '../connectors/origins.ts';
import type { Context } from './context.ts';
import { orUserNotFound } from '../identity/users.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import { notifyAccountsChanged } from '../store/change-notes.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import {
  credentialFacts,
  credentialNotFound,
  toCredential,
  type Account,
  type Credential,
} from './credential.ts';
import { assertSameAccount } from './account-change.ts';
import { credentialFields, storedFields } from './fields.ts';
import { markRefused } from './credential-end.ts';
import { isBroken } from './refusal.ts';
import { openCredential, openValues, OTHER_ORIGIN } from './sealed-values.ts';
import { grantFacts, prepareCredential, type PrepareContext } from './prepare.ts';
import { probe } from './probe.ts';
import { withFreshTokens } from './refresh.ts';
import type { RenewContext } from './renew.ts';
import { endTokens } from './revoke.ts';
import {
  findAccount,
  insertCredential,
  renewedColumns,
  renewRow,
  updateRow,
  type CredentialChanges,
  type CredentialKey,
} from './credential-rows.ts';
import { dropSpares } from './spares.ts';

type ChangeContext = PrepareContext & Pick<Context, 'accountChanges' | 'hashKey'>;

/** Other text never reaches the store, which may reject its characters. */
const CREDENTIAL_ID = /^cred_[0-9A-Za-z]{22}$/;

export interface NewCredential {
  environment: Environment;
  /** An existing user of that environment. */
  userId: string;
  connectorId: string;
  /** Optional where the connector has one type, or `data` fits only one. */
  type?: string | undefined;
  /** Values by field, as the connector's metadata names them. */
  data?: JsonObject | undefined;
  /** Default: the account's name, else the connector's. */
  name?: string | undefined;
  signal?: AbortSignal;
}

/** A connected account. `renewed`: the user had it already, and its record now holds the new values. */
export interface Connected {
  credential: Credential;
  renewed: boolean;
}

/**
 * Checks the fields, calls the connector's probe if it has one, and stores the sealed credential.
 * The user's existing record for this account is updated; otherwise a new one is created.
 * Stores nothing when the third party rejects the credential or cannot be reached.
 * @throws GatehouseError `connector_not_found`, `invalid_request` with every fault by field, `credential_invalid`
 * when the third party rejects the key, upstream_* when it gave no definite answer.
 */
export async function connectAccount(context: ChangeContext, input: NewCredential): Promise<Connected> {
  const connector = requireConnector(context, input.environment, input.connectorId);
  const scheme = schemeOf(connector, input.type, input.data);
  const { environment, userId, name, data = {}, signal } = input;
  const credentialId = newId('cred');
  const prepared = await prepareCredential(context, {
    environment,
    connector,
    scheme,
    credentialId,
    data,
    signal,
  });
  const owner = { environment, userId };
  const stored = context.db.transaction().execute(async (tx): Promise<Connected> => {
    const account = { ...prepared, ...owner, connector, scheme };
    const { accountKey, existing } = await findAccount(tx, context, account);
    const made = { ...account, name, accountKey, credentialId: existing?.credentialId ?? credentialId };
    return existing
      ? { credential: await renewRow(tx, context, made), renewed: true }
      : { credential: await insertCredential(tx, context, made), renewed: false };
  });
  const connected = await orUserNotFound(userId, stored);
  context.credentialMemory.forgetChoices();
  return connected;
}

/** Works like connectAccount(), for callers that treat a new and a renewed record alike. */
export async function createCredential(context: ChangeContext, input: NewCredential): Promise<Credential> {
  const { credential } = await connectAccount(context, input);
  return credential;
}

/** Prepared, because to build the statement takes longer than to run it. */
const credentialByKey = perDatabase((db) =>
  db
    .selectFrom('credentials')
    .selectAll()
    .where('credential_id', '=', '')
    .where('user_id', '=', '')
    .where('environment', '=', 'development')
    .compile(),
);

/** Returns the credential if it belongs to that user and environment, else undefined. */
export async function findCredential(db: DbOrTx, key: CredentialKey): Promise<Credential | undefined> {
  if (!CREDENTIAL_ID.test(key.credentialId)) return undefined;
  const values = [key.credentialId, key.userId, key.environment];
  const { rows } = await runPrepared(db, credentialByKey(db), values);
  return rows[0] && toCredential(rows[0]);
}

/** Returns a credential by its id alone, for the unified API; undefined for one of the other environment. */
export async function findConnection(
  db: DbOrTx,
  environment: Environment,
  connectionId: string,
): Promise<Credential | undefined> {
  if (!CREDENTIAL_ID.test(connectionId)) return undefined;
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('credential_id', '=', connectionId)
    .where('environment', '=', environment)
    .executeTakeFirst();
  return row && toCredential(row);
}

/**
 * Returns the credential behind a connectionId. If `userId` is given, it must be the credential's user.
 * @throws GatehouseError `credential_not_found`
 */
export async function requireConnection(
  db: DbOrTx,
  { environment, credentialId, userId }: Omit<CredentialKey, 'userId'> & { userId?: string | undefined },
): Promise<Credential> {
  const found = await findConnection(db, environment, credentialId);
  if (!found || (userId !== undefined && userId !== found.userId)) throw credentialNotFound(credentialId);
  return found;
}

/** @throws GatehouseError `credential_not_found` */
export async function requireCredential(db: DbOrTx, key: CredentialKey): Promise<Credential> {
  const credential = await findCredential(db, key);
  if (!credential) throw credentialNotFound(key.credentialId);
  return credential;
}

/**
 * Changes the name or the default mark, or replaces values under the same id, such as a rotated key.
 * Given members of `data` replace the stored ones. All values are then checked and probed as at creation, and the
 * credential is active again.
 * @throws GatehouseError as createCredential, `credential_not_found`, and `credential_conflict` for data of an
 * account that another record of the user holds.
 */
export async function updateCredential(
  context: ChangeContext,
  key: CredentialKey,
  changes: {
    name?: string | undefined;
    /** Whether calls that name no credential use it; at most one per user and connector. */
    default?: boolean | undefined;
    /** A new authentication type; `data` must then be complete. */
    type?: string | undefined;
    data?: JsonObject | undefined;
    /** Rejects data of another account than the known one. */
    sameAccount?: boolean;
    signal?: AbortSignal;
  },
): Promise<Credential> {
  const credential = await requireCredential(context.db, key);
  const set: CredentialChanges = { updated_at: context.clock.now() };
  if (changes.name !== undefined) set.name = changes.name;
  if (changes.default !== undefined) set.is_default = changes.default ? 1 : 0;
  if (changes.data !== undefined) {
    const connector = connectorOf(context, credential);
    const scheme = schemeOf(connector, changes.type ?? credential.type);
    const known =
      scheme.type === credential.type && keepsOrigins(connector, credential.origins)
        ? storedData(context, connector, { credential, given: changes.data })
        : {};
    const prepared = await prepareCredential(context, {
      environment: key.environment,
      connector,
      scheme,
      credentialId: credential.credentialId,
      data: { ...known, ...changes.data },
      signal: changes.signal,
    });
    if (changes.sameAccount)
      assertSameAccount(connector, credential, { type: scheme.type, account: prepared.account });
    await dropSpares(context.db, credential.credentialId);
    const bound = { ...credential, type: scheme.type, origins: bindingOf(connector) };
    Object.assign(set, renewedColumns(context, bound, prepared), activated(scheme, prepared.account));
  }
  return change(context, key, set);
}

/**
 * Returns the connector of a stored credential.
 * @throws GatehouseError `connector_not_found` when it is gone, which the credential outlives.
 */
export function connectorOf(
  { catalog }: Pick<Context, 'catalog'>,
  { environment, connectorId, credentialId }: Credential,
): Connector {
  const connector = catalog.connector(environment, connectorId);
  if (connector) return connector;
  throw new GatehouseError(
    'connector_not_found',
    `The connector "${connectorId}" of the credential "${credentialId}" is gone. The credential works again when a ` +
      'connector with this id and its address is added.',
    { details: { connectorId, credentialId } },
  );
}

/**
 * Returns the values that a partial change keeps. A new access token comes from a new grant, so old token facts are
 * dropped.
 */
function storedData(
  context: Pick<Context, 'keys'>,
  connector: Connector,
  { credential, given }: { credential: Credential; given: JsonObject },
): JsonObject {
  const stored = openValues(context, credential);
  if (credential.type === 'oauth2' && given['accessToken'] === undefined) {
    const { expiresAt, scopes } = credential;
    return { ...stored, expiresAt, scopes };
  }
  const fields = credentialFields(connector, schemeOf(connector, credential.type));
  return Object.fromEntries(Object.entries(stored).filter(([name]) => fields.has(name)));
}

/**
 * Probes the credential now: a working one becomes active again, a rejected one needs to be reconnected.
 * `checked` is false, and nothing changes, when the connector has no probe.
 * @throws GatehouseError `credential_not_found`; upstream_* when there was no definite answer and nothing changes.
 */
export async function checkCredential(
  context: ChangeContext,
  key: CredentialKey,
  signal?: AbortSignal,
): Promise<{ credential: Credential; checked: boolean }> {
  const credential = await requireCredential(context.db, key);
  const connector = connectorOf(context, credential);
  let latest = credential;
  try {
    const { checked, account } = await withFreshTokens(context, { connector, credential }, (fresh) => {
      latest = fresh;
      return probe(context, connector, { credential: openCredential(context, connector, fresh), signal });
    });
    if (!checked) return { credential: latest, checked };
    const scheme = schemeOf(connector, latest.type);
    const set = { ...activated(scheme, account), updated_at: context.clock.now() };
    return { credential: await change(context, key, set), checked };
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'credential_invalid') throw error;
    if (error.details?.['reason'] === OTHER_ORIGIN) throw error;
    if (isBroken(error)) await markRefused(context, latest, error);
    return { credential: await requireCredential(context.db, key), checked: true };
  }
}

/**
 * Deletes a credential and its stored list positions. Tokens are revoked where the app supports it.
 * The revocation may take 5 s. The credential is deleted even if it fails.
 * @throws GatehouseError `credential_not_found`
 */
export async function deleteCredential(context: RenewContext, key: CredentialKey): Promise<void> {
  const { db, catalog, operator } = context;
  const { credentialId } = await requireCredential(db, key);
  const credential = await db.transaction().execute(async (tx) => {
    const row = await tx
      .deleteFrom('credentials')
      .where('credential_id', '=', credentialId)
      .returningAll()
      .executeTakeFirst();
    if (!row) throw credentialNotFound(credentialId);
    await tx.deleteFrom('page_positions').where('credential_id', '=', credentialId).execute();
    await operator.notify(tx, key.environment, {
      type: 'credential.deleted',
      data: credentialFacts(toCredential(row)),
    });
    return toCredential(row);
  });
  context.credentialMemory.forgetChoices();
  await notifyAccountsChanged(db, context, key);
  const connector = catalog.connector(key.environment, credential.connectorId);
  if (connector) await endTokens(context, connector, { credential });
}

/**
 * Returns the scheme of a new credential: the named type, else the only one, else the only one that knows every field
 * of `data`.
 * @throws GatehouseError `invalid_request` when the type is unknown, or is missing and ambiguous.
 */
export function schemeOf(
  connector: Connector,
  type: string | undefined,
  data: JsonObject = {},
): Authentication {
  const schemes = connector.definition.authentication;
  const named = schemes.filter((scheme) => type === undefined || scheme.type === type);
  const fields = Object.keys(data);
  const fitting = named.filter((scheme) => {
    const known = new Set([...storedFields(connector, scheme).keys(), ...grantFacts(scheme)]);
    return fields.every((name) => known.has(name));
  });
  const [only, ...others] = named.length === 1 ? named : fitting;
  if (only && others.length === 0) return only;
  const known = schemes.map((scheme) => scheme.type).join(', ');
  const rule =
    type === undefined ? `is required for ${connector.name}; one of: ${known}` : `must be one of: ${known}`;
  throw invalidRequest([{ field: 'type', rule }], 'The credential');
}

function activated(scheme: Authentication, account: Account | undefined): CredentialChanges {
  // The account of the grant stays, because a probe may report another id for the same account.
  const hasAccountPath = accountPlaces(scheme) !== undefined;
  return {
    state: 'active',
    reason: null,
    ...(account && !hasAccountPath ? { account: JSON.stringify(account) } : {}),
  };
}

async function change(
  context: ChangeContext,
  key: CredentialKey,
  set: CredentialChanges,
): Promise<Credential> {
  const credential = await context.db
    .transaction()
    .execute((tx) => updateRow(tx, context, { key, changes: set }));
  context.credentialMemory.forgetChoices();
  return credential;
}
