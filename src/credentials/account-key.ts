import type { Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format.ts';
import type { Context } from '../context.ts';
import { KeyError } from '../crypto/key-ring.ts';
import { hashToken } from '../crypto/tokens.ts';
import { placeIn } from './account-change.ts';
import type { Account, Credential } from './credential.ts';
import { credentialFields } from './fields.ts';
import { openValues } from './open.ts';

/** The account that a credential opens. */
interface Identified {
  scheme: Authentication;
  values: Record<string, string>;
  account?: Account | null | undefined;
}

/**
 * The keyed hash that two credentials of a user and connector share when they open one account: over its address and the
 * id that the app tells of it. Where the app tells none, over what was entered; of OAuth tokens the one that lasts.
 */
export function accountKeyOf(
  { hashKey }: Pick<Context, 'hashKey'>,
  connector: Connector,
  identified: Identified,
): string {
  return hashToken(hashKey, `account|${JSON.stringify(identityOf(connector, identified))}`);
}

/** The same of a stored credential; undefined when it does not open, or its connector no longer offers its type. */
export function accountKeyOfStored(
  context: Pick<Context, 'hashKey' | 'keys'>,
  connector: Connector,
  credential: Credential,
): string | undefined {
  const scheme = connector.definition.authentication.find(({ type }) => type === credential.type);
  if (!scheme) return undefined;
  try {
    const values = openValues(context, credential);
    return accountKeyOf(context, connector, { scheme, values, account: credential.account });
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

/**
 * Another way to authenticate opens the same account where the app tells the same id. An app with actions that only one
 * way can run is connected in both, so there the way counts.
 */
function identityOf(connector: Connector, { scheme, values, account }: Identified): unknown[] {
  const ways = [...connector.actions.values()].some(({ definition }) => definition.authentication);
  if (account) return ['id', placeIn(connector, values), account.id, ...(ways ? [scheme.type] : [])];
  if (scheme.type === 'oauth2') {
    return ['token', placeIn(connector, values), values['refreshToken'] ?? values['accessToken']];
  }
  const asked = [...credentialFields(connector, scheme).keys()].toSorted();
  return ['key', scheme.type, asked.map((name) => [name, values[name] ?? null])];
}
