import type { Connector } from '../connectors/catalog.ts';
import { templateNames } from '../connectors/templates.ts';
import type { Context } from '../context.ts';
import { KeyError } from '../crypto/key-ring.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Account, Credential } from './credential.ts';
import { openValues } from './open.ts';

type Led = Pick<
  Credential,
  'environment' | 'userId' | 'credentialId' | 'connectorId' | 'type' | 'account' | 'sealed'
>;

/** `moved`: the same account at another address. */
type AccountChange = 'none' | 'moved' | 'other';

/**
 * Whether a credential leads to another account than before. The id that the app tells decides; where it tells none, the
 * address does: of shops that count their orders from 1, another address is another shop. What was not known before is
 * taken for the same.
 */
export function accountChange(
  context: Pick<Context, 'keys' | 'catalog'>,
  before: Led,
  now: Led,
): AccountChange {
  if (before.account && now.account && before.account.id !== now.account.id) return 'other';
  if (before.sealed === now.sealed) return 'none';
  const connector = context.catalog.connector(now.environment, now.connectorId);
  const [from, to] = [before, now].map((one) => connector && placeOf(context, connector, one));
  if (from === undefined || to === undefined || from === to) return 'none';
  return before.account && now.account ? 'moved' : 'other';
}

/** What says where an account is, besides its keys: variables, and the other values that its address is made of. */
export function placeIn(
  { definition: { baseUrl, variables } }: Connector,
  values: Record<string, string>,
): string {
  const names = [...new Set([...Object.keys(variables), ...templateNames(baseUrl)])];
  return JSON.stringify(names.map((name) => values[name] ?? variables[name]?.default ?? null));
}

function placeOf(context: Pick<Context, 'keys'>, connector: Connector, credential: Led): string | undefined {
  try {
    return placeIn(connector, openValues(context, credential));
  } catch (error) {
    // New values mend a row whose old ones no longer open.
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

/**
 * Whoever reconnects an account brings the same one: everything that uses the credential goes on with it. Another way to
 * authenticate may know the same account by another id, so only the same way is compared.
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
