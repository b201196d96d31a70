import { requireConnector, type Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format.ts';
import type { Context } from '../context.ts';
import { forLiving } from '../identity/users.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Environment } from '../store/schema.ts';
import {
  credentialFacts,
  credentialNotFound,
  toCredential,
  type Account,
  type Credential,
} from './credential.ts';
import { assertSameAccount } from './account-change.ts';
import { forgetChoices } from './choices.ts';
import { credentialFields, storedFields } from './fields.ts';
import { markRefused } from './health.ts';
import { openCredential, openValues } from './open.ts';
import { grantFacts, prepareCredential, type PrepareContext } from './prepare.ts';
import { probe } from './probe.ts';
import { withFreshTokens } from './refresh.ts';
import { endTokens } from './revoke.ts';
import {
  findAccount,
  insertCredential,
  noteAccounts,
  renewedColumns,
  renewRow,
  updateRow,
  type CredentialChanges,
  type CredentialKey,
} from './rows.ts';
import { dropSpares } from './spares.ts';

type ConnectContext = PrepareContext & Pick<Context, 'listening' | 'hashKey'>;
type ChangeContext = ConnectContext;

/** What is not of this form never reaches the store, which may refuse its characters. */
const CREDENTIAL_ID = /^cred_[0-9A-Za-z]{22}$/;

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

/** An account that was connected. `renewed`: the user had it already, and its record holds what came now. */
export interface Connected {
  credential: Credential;
  renewed: boolean;
}

/**
 * Checks the fields, asks the third party (where the connector has a probe), and stores the credential sealed: in the
 * record that the user already has for this account, else in a new one. When the third party refuses it or cannot be
 * asked, nothing is stored.
 * @throws GatehouseError `connector_not_found`, `invalid_request` with every fault by field, `credential_invalid`
 * when the third party refuses the key (contract.md section 3), upstream_* when it gave no definite answer.
 */
export async function connectAccount(context: ConnectContext, wish: NewCredential): Promise<Connected> {
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
  const owner = { environment, userId };
  const stored = context.db.transaction().execute(async (tx): Promise<Connected> => {
    const account = { ...prepared, ...owner, connector, scheme };
    const { accountKey, existing } = await findAccount(tx, context, account);
    const made = { ...account, name, accountKey, credentialId: existing?.credentialId ?? credentialId };
    return existing
      ? { credential: await renewRow(tx, context, made), renewed: true }
      : { credential: await insertCredential(tx, context, made), renewed: false };
  });
  const connected = await forLiving(userId, stored);
  forgetChoices(context.db);
  return connected;
}

/** As connectAccount(), for callers to whom a new record and a renewed one are the same. */
export async function createCredential(context: ConnectContext, wish: NewCredential): Promise<Credential> {
  const { credential } = await connectAccount(context, wish);
  return credential;
}

const ORDER: ListOrder<{ created_at: number; credential_id: string }> = {
  columns: { created_at: 'whole', credential_id: 'id' },
  direction: 'asc',
  position: (row) => [row.created_at, row.credential_id],
};

/** A page of a user's credentials, oldest first, and where it ends. */
export async function listCredentials(
  db: DbOrTx,
  filter: PageRequest & { environment: Environment; userId: string; connectorId?: string | undefined },
): Promise<PageEnd & { credentials: Credential[] }> {
  let query = db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', filter.userId)
    .where('environment', '=', filter.environment);
  if (filter.connectorId !== undefined) query = query.where('connector_id', '=', filter.connectorId);
  const { rows: credentials, ...end } = await readPage(query, ORDER, filter);
  return { credentials: credentials.map(toCredential), ...end };
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
 * Changes the name or the mark as default, or replaces values of a rotated key under the same id: members of `data` that are given replace
 * the stored ones, the whole is checked and probed as at creation, and the credential is active again.
 * @throws GatehouseError as createCredential, `credential_not_found`, and `credential_conflict` for data of an account
 * that another record of the user holds.
 */
export async function updateCredential(
  context: ChangeContext,
  key: CredentialKey,
  changes: {
    name?: string | undefined;
    /** Whether it is used when none is chosen; at most one of a user and connector is. */
    default?: boolean | undefined;
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
  if (changes.default !== undefined) set.is_default = changes.default ? 1 : 0;
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
    if (changes.sameAccount)
      assertSameAccount(connector, credential, { type: scheme.type, account: prepared.account });
    await dropSpares(context.db, credential.credentialId);
    const bound = { ...credential, type: scheme.type };
    Object.assign(set, renewedColumns(context, bound, prepared), activeAgain(scheme, prepared.account));
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
    if (error.details?.['reason'] !== 'revoked') await markRefused(context, latest, error);
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

function activeAgain(scheme: Authentication, account: Account | undefined): CredentialChanges {
  // Whose tokens are is what their grant said; a probe may know the same account by another id.
  const told = 'account' in scheme && scheme.account !== undefined;
  return {
    state: 'active',
    reason: null,
    ...(account && !told ? { account: JSON.stringify(account) } : {}),
  };
}

async function change(
  context: ChangeContext,
  key: CredentialKey,
  set: CredentialChanges,
): Promise<Credential> {
  const credential = await context.db.transaction().execute((tx) => updateRow(tx, context, key, set));
  forgetChoices(context.db);
  return credential;
}
