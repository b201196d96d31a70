import { sql, type RawBuilder, type Updateable } from 'kysely';
import type { Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format/format.ts';
import { bindingOf } from '../connectors/origins.ts';
import type { Context } from './context.ts';
import { GatehouseError } from '../lib/errors.ts';
import { notifyAccountsChanged } from '../store/change-notes.ts';
import { isPostgres } from '../store/prepared.ts';
import type { Tables, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { accountChange } from './account-change.ts';
import { accountKeyOf, accountKeyOfStored } from './account-key.ts';
import { credentialFacts, credentialNotFound, toCredential, type Credential } from './credential.ts';
import { sealValues } from './sealed-values.ts';
import type { Prepared } from './prepare.ts';
import { renewAtOf } from './renewal-times.ts';
import { dropSpares } from './spares.ts';

/** The key of a credential with its owner. */
export interface CredentialKey {
  environment: Environment;
  userId: string;
  credentialId: string;
}

/** A checked account that is about to be stored. */
export interface CheckedAccount extends Prepared, Omit<CredentialKey, 'credentialId'> {
  connector: Connector;
  scheme: Authentication;
}

/** A checked account with the record that will hold it. */
interface StoredAccount extends CheckedAccount {
  credentialId: string;
  accountKey: string;
  /** The name that the caller gave. */
  name?: string | undefined;
}

/** Columns to change. The statement itself increments `version`, so that no change by another process is lost. */
export type CredentialChanges = Omit<Updateable<Tables['credentials']>, 'version'> & {
  version?: number | RawBuilder<number>;
};

type WriteContext = Pick<Context, 'clock' | 'keys' | 'hashKey' | 'catalog' | 'accountChanges'>;

/**
 * Returns the record that the user already has for an account.
 * Locks the user's accounts until the transaction ends: two processes that connect one account at once create one
 * record.
 */
export async function findAccount(
  tx: Tx,
  context: Pick<Context, 'keys' | 'hashKey'>,
  account: CheckedAccount,
): Promise<{ accountKey: string; existing: Credential | undefined }> {
  const { environment, userId, connector } = account;
  const accountKey = accountKeyOf(context, connector, account);
  await lockAccounts(tx, userId);
  const rows = await tx
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', userId)
    .where('connector_id', '=', connector.connectorId)
    .where('environment', '=', environment)
    .where((eb) => eb.or([eb('account_key', '=', accountKey), eb('account_key', 'is', null)]))
    .orderBy('created_at')
    .execute();
  const found = rows.map(toCredential);
  const existing =
    found.find((one) => one.accountKey !== null) ??
    found
      .toSorted((one, other) => rank(one) - rank(other))
      .find((one) => accountKeyOfStored(context, connector, one) === accountKey);
  return { accountKey, existing };
}

/** Ranks records of one account that have no key, so that the active one is renewed. */
function rank({ state, isDefault }: Credential): number {
  return (state === 'active' ? 0 : 2) + (isDefault ? 0 : 1);
}

/** Locks the user row on PostgreSQL, which runs transactions of several processes at once; SQLite has one writer. */
async function lockAccounts(tx: Tx, userId: string): Promise<void> {
  if (!isPostgres(tx)) return;
  await tx.selectFrom('users').select('user_id').where('user_id', '=', userId).forNoKeyUpdate().execute();
}

/**
 * Stores a checked credential, sealed to its row, and notifies the operator. Call forgetChoices() after the commit.
 */
export async function insertCredential(
  tx: Tx,
  context: Pick<Context, 'clock' | 'keys' | 'operator'>,
  made: StoredAccount,
): Promise<Credential> {
  const { connector, account } = made;
  const now = context.clock.now();
  const origins = bindingOf(connector);
  const bound = { ...made, connectorId: connector.connectorId, type: made.scheme.type, origins };
  const row = await tx
    .insertInto('credentials')
    .values({
      credential_id: made.credentialId,
      environment: made.environment,
      user_id: made.userId,
      connector_id: connector.connectorId,
      type: made.scheme.type,
      name: made.name ?? (await unusedName(tx, made)),
      state: 'active',
      account: account ? JSON.stringify(account) : null,
      sealed: sealValues(context, bound, made.values),
      origins,
      scopes: made.scopes ? JSON.stringify(made.scopes) : null,
      expires_at: made.expiresAt ?? null,
      renew_at: renewAtOf(made.expiresAt, now),
      refresh_by: made.refreshBy ?? null,
      account_key: made.accountKey,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const credential = toCredential(row);
  await context.operator.notify(tx, made.environment, {
    type: 'credential.created',
    data: credentialFacts(credential),
  });
  await notifyAccountsChanged(tx, context, made);
  return credential;
}

/** Returns the account's name, else the app's; numbered when the user has another account of that name. */
async function unusedName(tx: Tx, { connector, account, userId }: StoredAccount): Promise<string> {
  const name = account?.name ?? connector.name;
  const rows = await tx
    .selectFrom('credentials')
    .select('name')
    .where('user_id', '=', userId)
    .where('connector_id', '=', connector.connectorId)
    .execute();
  const taken = new Set(rows.map((row) => row.name));
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name} ${number}`)) number += 1;
  return `${name} ${number}`;
}

/** Updates the record of the same account, which becomes active again. Call forgetChoices() after the commit. */
export async function renewRow(
  tx: Tx,
  context: WriteContext,
  made: Omit<StoredAccount, 'accountKey'>,
): Promise<Credential> {
  const { connector, scheme, account, name, credentialId } = made;
  await dropSpares(tx, credentialId);
  const origins = bindingOf(connector);
  const bound = { ...made, connectorId: connector.connectorId, type: scheme.type, origins };
  return updateRow(tx, context, {
    key: made,
    changes: {
      ...renewedColumns(context, bound, made),
      ...(account ? { account: JSON.stringify(account) } : {}),
      ...(name === undefined ? {} : { name }),
      state: 'active',
      reason: null,
      lease_token: null,
      lease_until: null,
      updated_at: context.clock.now(),
    },
  });
}

/** Returns the columns for new values. They reset the renewal state of the old ones. */
export function renewedColumns(
  context: Pick<Context, 'clock' | 'keys'>,
  bound: Parameters<typeof sealValues>[1],
  { values, scopes, expiresAt, refreshBy }: Prepared,
): CredentialChanges {
  return {
    type: bound.type,
    sealed: sealValues(context, bound, values),
    origins: bound.origins,
    version: sql<number>`version + 1`,
    scopes: scopes ? JSON.stringify(scopes) : null,
    expires_at: expiresAt ?? null,
    renew_at: renewAtOf(expiresAt, context.clock.now()),
    refresh_by: refreshBy ?? null,
    refresh_failures: 0,
    refresh_after: null,
  };
}

/**
 * Changes the row of a credential. Its event sources start again for another account, and register again for another
 * address (accountChange). Call forgetChoices() after the commit.
 * @throws GatehouseError `credential_not_found`; `credential_conflict` when the new values are of an account that
 * another record of the user holds.
 */
export async function updateRow(
  tx: Tx,
  context: WriteContext,
  { key, changes }: { key: CredentialKey; changes: CredentialChanges },
): Promise<Credential> {
  await lockAccounts(tx, key.userId);
  const found = await tx
    .selectFrom('credentials')
    .selectAll()
    .where('credential_id', '=', key.credentialId)
    .where('user_id', '=', key.userId)
    .where('environment', '=', key.environment)
    .$if(isPostgres(tx), (query) => query.forUpdate())
    .executeTakeFirst();
  if (!found) throw credentialNotFound(key.credentialId);
  const before = toCredential(found);
  if (changes.is_default === 1) await unmarkDefault(tx, before);
  const row = await tx
    .updateTable('credentials')
    .set(changes)
    .where('credential_id', '=', key.credentialId)
    .returningAll()
    .executeTakeFirstOrThrow();
  await notifyAccountsChanged(tx, context, key);
  const now = toCredential(row);
  if (changes.account === undefined && changes.sealed === undefined) return now;
  const effect = accountChange(context, before, now);
  if (effect !== 'none') await context.accountChanges[effect](tx, key.credentialId);
  return { ...now, accountKey: await rekey(tx, context, { before, now }) };
}

async function unmarkDefault(tx: Tx, { userId, connectorId }: Credential): Promise<void> {
  await tx
    .updateTable('credentials')
    .set({ is_default: 0 })
    .where('user_id', '=', userId)
    .where('connector_id', '=', connectorId)
    .where('is_default', '=', 1)
    .execute();
}

/**
 * Stores the key of the account that a record opens now. A record has no key when its app reported the account late, and
 * another record holds that account.
 * @throws GatehouseError `credential_conflict` when new values open an account that another record holds.
 */
async function rekey(
  tx: Tx,
  context: Pick<Context, 'keys' | 'hashKey' | 'catalog'>,
  { before, now }: { before: Credential; now: Credential },
): Promise<string | null> {
  const connector = context.catalog.connector(now.environment, now.connectorId);
  if (!connector) return now.accountKey;
  const key = accountKeyOfStored(context, connector, now);
  if (key === undefined || key === before.accountKey) return now.accountKey;
  const holder = await tx
    .selectFrom('credentials')
    .select(['credential_id', 'name'])
    .where('user_id', '=', now.userId)
    .where('connector_id', '=', now.connectorId)
    .where('account_key', '=', key)
    .executeTakeFirst();
  const valuesUnchanged = before.sealed === now.sealed;
  const hadSameAccount = accountKeyOfStored(context, connector, before) === key;
  if (holder && !valuesUnchanged && !hadSameAccount) throw connectedAlready(connector, holder);
  const accountKey = holder ? null : key;
  await tx
    .updateTable('credentials')
    .set({ account_key: accountKey })
    .where('credential_id', '=', now.credentialId)
    .execute();
  return accountKey;
}

function connectedAlready(
  { name: app }: Connector,
  { credential_id: credentialId, name }: { credential_id: string; name: string },
): GatehouseError {
  return new GatehouseError(
    'credential_conflict',
    `This ${app} account is connected already, as "${name}" (${credentialId}). Change that credential, or delete it first.`,
    { details: { credentialId } },
  );
}
