import { requireConnector, type Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format.ts';
import type { Context } from '../context.ts';
import { forLiving } from '../identity/users.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import { sql, type RawBuilder, type Transaction, type Updateable } from 'kysely';
import { noteChange } from '../store/changes.ts';
import type { DbOrTx, Environment, Tables } from '../store/schema.ts';
import {
  credentialFacts,
  credentialNotFound,
  toCredential,
  type Account,
  type Credential,
} from './credential.ts';
import { accountChange, assertSameAccount } from './account-change.ts';
import { forgetChoices } from './choices.ts';
import { credentialFields, storedFields } from './fields.ts';
import { markRefused } from './health.ts';
import { openCredential, openValues, sealValues } from './open.ts';
import { grantFacts, prepareCredential, type PrepareContext } from './prepare.ts';
import { probe } from './probe.ts';
import { withFreshTokens } from './refresh.ts';
import { renewAtOf } from './renewal-times.ts';
import { endTokens } from './revoke.ts';
import { dropSpares } from './spares.ts';

type ChangeContext = PrepareContext & Pick<Context, 'listening'>;

/** What is not of this form never reaches the store, which may refuse its characters. */
const CREDENTIAL_ID = /^cred_[0-9A-Za-z]{22}$/;

/** Whose credential, and which. */
export interface CredentialKey {
  environment: Environment;
  userId: string;
  credentialId: string;
}

export interface NewCredential {
  environment: Environment;
  /** An existing user of that environment. */
  userId: string;
  connectorId: string;
  /** May be left out where the connector has one type, or `data` fits one alone. */
  type?: string | undefined;
  /** Field → value, as the metadata of the connector asks for. */
  data?: JsonObject | undefined;
  /** Default: the account's name, else the connector's. */
  name?: string | undefined;
  signal?: AbortSignal;
}

/**
 * Checks the fields, asks the third party (where the connector has a probe), and stores the credential sealed. When
 * the third party refuses it or cannot be asked, nothing is stored.
 * @throws GatehouseError `connector_not_found`, `invalid_request` with every fault by field, `credential_invalid`
 * when the third party refuses the key (contract.md section 3), upstream_* when it gave no definite answer.
 */
export async function createCredential(context: PrepareContext, wish: NewCredential): Promise<Credential> {
  const connector = requireConnector(context, wish.environment, wish.connectorId);
  const scheme = schemeOf(connector, wish.type, wish.data);
  const { environment, userId, name, data = {}, signal } = wish;
  const credentialId = newId('cred');
  const prepared = await prepareCredential(context, {
    environment,
    connector,
    scheme,
    credentialId,
    data,
    signal,
  });
  const made = { ...prepared, environment, userId, credentialId, connector, scheme, name };
  const stored = context.db.transaction().execute((tx) => insertCredential(tx, context, made));
  const credential = await forLiving(userId, stored);
  forgetChoices(context.db);
  return credential;
}

/** Stores a credential that was checked, sealed to its row, and tells the operator. After the commit: forgetChoices(). */
export async function insertCredential(
  tx: Transaction<Tables>,
  context: Pick<Context, 'db' | 'clock' | 'keys' | 'operator'>,
  made: CredentialKey & {
    connector: Connector;
    scheme: Authentication;
    values: Record<string, string>;
    name?: string | undefined;
    account?: Account | undefined;
    scopes?: string[] | undefined;
    /** Epoch milliseconds. */
    expiresAt?: number | undefined;
    refreshBy?: number | undefined;
  },
): Promise<Credential> {
  const { connector, account } = made;
  const now = context.clock.now();
  const row = await tx
    .insertInto('credentials')
    .values({
      credential_id: made.credentialId,
      environment: made.environment,
      user_id: made.userId,
      connector_id: connector.connectorId,
      type: made.scheme.type,
      name: made.name ?? account?.name ?? connector.name,
      state: 'active',
      account: account ? JSON.stringify(account) : null,
      sealed: sealValues(
        context,
        { ...made, connectorId: connector.connectorId, type: made.scheme.type },
        made.values,
      ),
      scopes: made.scopes ? JSON.stringify(made.scopes) : null,
      expires_at: made.expiresAt ?? null,
      renew_at: renewAtOf(made.expiresAt, now),
      refresh_by: made.refreshBy ?? null,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const credential = toCredential(row);
  await context.operator.tell(tx, made.environment, 'credential.created', credentialFacts(credential));
  await noteAccounts({ db: tx, clock: context.clock }, made);
  return credential;
}

/** A page of a user's credentials, oldest first, and whether more follow. */
export async function listCredentials(
  db: DbOrTx,
  filter: {
    environment: Environment;
    userId: string;
    connectorId?: string | undefined;
    limit: number;
    offset: number;
  },
): Promise<{ credentials: Credential[]; hasMore: boolean }> {
  let query = db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', filter.userId)
    .where('environment', '=', filter.environment);
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  const rows = await query
    .orderBy('created_at')
    .orderBy('credential_id')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
  return { credentials: rows.slice(0, filter.limit).map(toCredential), hasMore: rows.length > filter.limit };
}

/** The credential, if it is that user's; undefined for one of another user or environment. */
export async function findCredential(db: DbOrTx, key: CredentialKey): Promise<Credential | undefined> {
  if (!CREDENTIAL_ID.test(key.credentialId)) return undefined;
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('credential_id', '=', key.credentialId)
    .where('user_id', '=', key.userId)
    .where('environment', '=', key.environment)
    .executeTakeFirst();
  return row && toCredential(row);
}

/** A credential by its id alone, as the unified side knows connections; undefined for one of the other environment. */
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
 * The credential behind a connectionId, which names its user too; another `userId` that is given must be that one.
 * @throws GatehouseError `credential_not_found`
 */
export async function requireConnection(
  db: DbOrTx,
  { environment, credentialId, userId }: Omit<CredentialKey, 'userId'> & { userId?: string | undefined },
): Promise<Credential> {
  const row = CREDENTIAL_ID.test(credentialId)
    ? await db
        .selectFrom('credentials')
        .selectAll()
        .where('credential_id', '=', credentialId)
        .where('environment', '=', environment)
        .executeTakeFirst()
    : undefined;
  if (!row || (userId !== undefined && userId !== row.user_id)) throw credentialNotFound(credentialId);
  return toCredential(row);
}

/** @throws GatehouseError `credential_not_found` */
export async function requireCredential(db: DbOrTx, key: CredentialKey): Promise<Credential> {
  const credential = await findCredential(db, key);
  if (!credential) throw credentialNotFound(key.credentialId);
  return credential;
}

/**
 * Changes the name, or replaces values of a rotated key under the same id: members of `data` that are given replace
 * the stored ones, the whole is checked and probed as at creation, and the credential is active again.
 * @throws GatehouseError as createCredential, and `credential_not_found`.
 */
export async function updateCredential(
  context: ChangeContext,
  key: CredentialKey,
  changes: {
    name?: string | undefined;
    /** Another way to authenticate than before; `data` is then the whole. */
    type?: string | undefined;
    data?: JsonObject | undefined;
    /** Refuses data of another account than the one that is known. */
    sameAccount?: boolean;
    signal?: AbortSignal;
  },
): Promise<Credential> {
  const credential = await requireCredential(context.db, key);
  const set: CredentialChanges = { updated_at: context.clock.now() };
  if (changes.name !== undefined) set.name = changes.name;
  if (changes.data !== undefined) {
    const connector = requireConnector(context, key.environment, credential.connectorId);
    const scheme = schemeOf(connector, changes.type ?? credential.type);
    const known =
      scheme.type === credential.type ? knownData(context, connector, credential, changes.data) : {};
    const prepared = await prepareCredential(context, {
      environment: key.environment,
      connector,
      scheme,
      credentialId: credential.credentialId,
      data: { ...known, ...changes.data },
      signal: changes.signal,
    });
    const { values, account, scopes, expiresAt, refreshBy } = prepared;
    if (changes.sameAccount) assertSameAccount(connector, credential, { type: scheme.type, account });
    await dropSpares(context.db, credential.credentialId);
    Object.assign(set, {
      type: scheme.type,
      sealed: sealValues(context, { ...credential, type: scheme.type }, values),
      version: sql`version + 1`,
      scopes: scopes ? JSON.stringify(scopes) : null,
      expires_at: expiresAt ?? null,
      renew_at: renewAtOf(expiresAt, context.clock.now()),
      refresh_by: refreshBy ?? null,
      refresh_failures: 0,
      refresh_after: null,
      ...activeAgain(scheme, account),
    });
  }
  return change(context, key, set);
}

/** What a change of some members leaves as it is. New tokens are of a new grant, which old facts say nothing of. */
function knownData(
  context: Pick<Context, 'keys'>,
  connector: Connector,
  credential: Credential,
  given: JsonObject,
): JsonObject {
  const stored = openValues(context, credential);
  if (credential.type === 'oauth2' && given['accessToken'] === undefined) {
    const { expiresAt, scopes } = credential;
    return { ...stored, expiresAt, scopes };
  }
  const asked = credentialFields(connector, schemeOf(connector, credential.type));
  return Object.fromEntries(Object.entries(stored).filter(([name]) => asked.has(name)));
}

/**
 * Asks the third party now: a credential that works is active again, one that is refused needs to be reconnected.
 * `checked` is false, and nothing changes, where the connector has no probe.
 * @throws GatehouseError `credential_not_found`; upstream_* when there was no definite answer: then nothing changes.
 */
export async function checkCredential(
  context: ChangeContext,
  key: CredentialKey,
  signal?: AbortSignal,
): Promise<{ credential: Credential; checked: boolean }> {
  const credential = await requireCredential(context.db, key);
  const connector = requireConnector(context, key.environment, credential.connectorId);
  let latest = credential;
  try {
    const { checked, account } = await withFreshTokens(context, connector, credential, (fresh) => {
      latest = fresh;
      return probe(context, connector, openCredential(context, connector, fresh), signal);
    });
    if (!checked) return { credential: latest, checked };
    const scheme = schemeOf(connector, latest.type);
    const set = { ...activeAgain(scheme, account), updated_at: context.clock.now() };
    return { credential: await change(context, key, set), checked };
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'credential_invalid') throw error;
    if (error.details?.['reason'] !== 'revoked') await markRefused(context, latest, error.message);
    return { credential: await requireCredential(context.db, key), checked: true };
  }
}

/**
 * Removes a credential for good, and the list positions kept for it. Tokens are ended at the third party where it has
 * a way; that may take 5 s, and the credential is gone whatever comes of it.
 * @throws GatehouseError `credential_not_found`
 */
export async function deleteCredential(
  context: Pick<Context, 'db' | 'clock' | 'keys' | 'catalog' | 'outbound' | 'log' | 'operator'>,
  key: CredentialKey,
): Promise<void> {
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
    await operator.tell(tx, key.environment, 'credential.deleted', credentialFacts(toCredential(row)));
    return toCredential(row);
  });
  forgetChoices(db);
  await noteAccounts(context, key);
  const connector = catalog.connector(key.environment, credential.connectorId);
  if (connector) await endTokens(context, connector, credential);
}

/**
 * How a new credential authenticates: by the type that is named; else by the only one, or the only one that knows
 * every field of `data`.
 * @throws GatehouseError `invalid_request` when the type is unknown, or is missing and cannot be told.
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

function activeAgain(
  scheme: Authentication,
  account: Account | undefined,
): Updateable<Tables['credentials']> {
  // Whose tokens are is what their grant said; a probe may know the same account by another id.
  const told = 'account' in scheme && scheme.account !== undefined;
  return {
    state: 'active',
    reason: null,
    ...(account && !told ? { account: JSON.stringify(account) } : {}),
  };
}

/** Columns to change. `version` rises in the statement itself, so that nobody else's change is missed. */
export type CredentialChanges = Omit<Updateable<Tables['credentials']>, 'version'> & {
  version?: number | RawBuilder<number>;
};

async function change(
  context: ChangeContext,
  key: CredentialKey,
  set: CredentialChanges,
): Promise<Credential> {
  const credential = await context.db.transaction().execute((tx) => updateRow(tx, context, key, set));
  forgetChoices(context.db);
  return credential;
}

/**
 * Changes the row of a credential; who listens to it begins anew where it leads to another account then (accountChange).
 * After the commit: forgetChoices().
 * @throws GatehouseError `credential_not_found`
 */
export async function updateRow(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock' | 'keys' | 'catalog' | 'listening'>,
  key: CredentialKey,
  { account, sealed, ...set }: CredentialChanges,
): Promise<Credential> {
  const row = await tx
    .updateTable('credentials')
    .set(set)
    .where('credential_id', '=', key.credentialId)
    .where('user_id', '=', key.userId)
    .where('environment', '=', key.environment)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw credentialNotFound(key.credentialId);
  await noteAccounts({ db: tx, clock: context.clock }, key);
  const before = toCredential(row);
  if (account === undefined && sealed === undefined) return before;
  const changed = await tx
    .updateTable('credentials')
    .set({ ...(account === undefined ? {} : { account }), ...(sealed === undefined ? {} : { sealed }) })
    .where('credential_id', '=', key.credentialId)
    .returningAll()
    .executeTakeFirstOrThrow();
  const now = toCredential(changed);
  const leads = accountChange(context, before, now);
  if (leads !== 'none') await context.listening[leads](tx, key.credentialId);
  return now;
}

/** The accounts of a user are others: those who listen are told. */
function noteAccounts(
  { db, clock }: Pick<Context, 'clock'> & { db: DbOrTx },
  { environment, userId }: Pick<CredentialKey, 'environment' | 'userId'>,
): Promise<void> {
  return noteChange(db, clock.now(), { environment, kind: 'accounts', subject: userId });
}
