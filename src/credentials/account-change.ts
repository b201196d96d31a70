import type { Connector } from '../connectors/catalog.ts';
import { templateNames } from '../connectors/templates.ts';
import type { Base } from '../base.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Account, Credential } from './credential.ts';
import { valuesIfOpen } from './sealed-values.ts';

type Led = Pick<
  Credential,
  'environment' | 'userId' | 'credentialId' | 'connectorId' | 'type' | 'account' | 'sealed' | 'origins'
>;

/** `moved`: the same account at another address. */
type AccountChange = 'none' | 'moved' | 'other';

/**
 * Compares the account before and after a change of the credential. The id that the app reports decides.
 * Without an id on both sides the address decides, because ids can repeat: each shop counts its orders from 1.
 * Returns `none` when the old or the new address is unknown.
 */
export function accountChange(context: Pick<Base, 'keys' | 'catalog'>, before: Led, now: Led): AccountChange {
  if (before.account && now.account && before.account.id !== now.account.id) return 'other';
  if (before.sealed === now.sealed) return 'none';
  const connector = context.catalog.connector(now.environment, now.connectorId);
  const [from, to] = [before, now].map((one) => connector && placeOf(context, connector, one));
  if (from === undefined || to === undefined || from === to) return 'none';
  return before.account && now.account ? 'moved' : 'other';
}

/** Returns the values that locate an account, without its keys: the variables and the other parts of its base URL. */
export function placeIn(
  { definition: { baseUrl, variables } }: Connector,
  values: Record<string, string>,
): string {
  const names = [...new Set([...Object.keys(variables), ...templateNames(baseUrl)])];
  return JSON.stringify(names.map((name) => values[name] ?? variables[name]?.default ?? null));
}

function placeOf(context: Pick<Base, 'keys'>, connector: Connector, credential: Led): string | undefined {
  // A row whose old values no longer open can still take new ones.
  const values = valuesIfOpen(context, credential);
  return values && placeIn(connector, values);
}

/**
 * Rejects a reconnect that brings another account, because everything that uses the credential continues with it.
 * Compares only credentials of the same type: another scheme may report another id for the same account.
 * @throws GatehouseError `credential_conflict`, in words for the person.
 */
export function assertSameAccount(
  { name }: Connector,
  before: Pick<Credential, 'type' | 'account'>,
  now: { type: string; account: Account | undefined },
): void {
  const { type, account } = before;
  if (!account || !now.account || type !== now.type || account.id === now.account.id) return;
  throw new GatehouseError(
    'credential_conflict',
    `That is another ${name} account than the one that is connected here` +
      `${account.name ? ` (${account.name})` : ''}. Take that one, or connect the other as a new account.`,
  );
}
