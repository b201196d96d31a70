import type { Context } from './context.ts';
import { newId } from '../lib/ids.ts';
import type { Tx } from '../store/schema.ts';
import type { Account, Credential } from './credential.ts';
import { valuesOf, type Granted } from './granted.ts';
import { refreshByOf } from './renewal-times.ts';
import {
  findAccount,
  insertCredential,
  renewRow,
  type CheckedAccount,
  type CredentialKey,
} from './credential-rows.ts';

type KeepContext = Pick<
  Context,
  'db' | 'clock' | 'keys' | 'hashKey' | 'catalog' | 'operator' | 'accountChanges'
>;

/** A grant with its owner, after its account was looked up. */
export type LookedUp = Granted & Omit<CredentialKey, 'credentialId'> & { account: Account | undefined };

/** The record that will hold the tokens of a grant. */
export interface Place {
  credentialId: string;
  /** The key for a new record; undefined when an existing record keeps its own. */
  accountKey: string | undefined;
}

/** Returns the record for the account of a grant: the one to `reconnect`, else the user's own, else a new one. */
export async function placeFor(
  tx: Tx,
  context: KeepContext,
  { granted, reconnect }: { granted: LookedUp; reconnect: string | undefined },
): Promise<Place> {
  if (reconnect !== undefined) return { credentialId: reconnect, accountKey: undefined };
  const { accountKey, existing } = await findAccount(tx, context, checked(context, granted));
  return existing
    ? { credentialId: existing.credentialId, accountKey: undefined }
    : { credentialId: newId('cred'), accountKey };
}

/** Stores the tokens of a grant in the record of placeFor(). Call forgetChoices() after the commit. */
export async function keepTokens(
  tx: Tx,
  context: KeepContext,
  { granted, place: { credentialId, accountKey } }: { granted: LookedUp; place: Place },
): Promise<Credential> {
  const account = { ...checked(context, granted), credentialId };
  return accountKey === undefined
    ? renewRow(tx, context, account)
    : insertCredential(tx, context, { ...account, accountKey });
}

function checked(context: KeepContext, granted: LookedUp): CheckedAccount {
  const { environment, userId, connector, scheme, account, tokens } = granted;
  return {
    environment,
    userId,
    connector,
    scheme,
    account,
    values: valuesOf(granted),
    scopes: tokens.scopes,
    expiresAt: tokens.expiresAt,
    refreshBy: refreshByOf(scheme, tokens, context.clock.now()),
  };
}
