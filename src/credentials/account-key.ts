import type { Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format/format.ts';
import type { Base } from '../base.ts';
import { hashToken } from '../crypto/tokens.ts';
import { placeIn } from './account-change.ts';
import type { Account, Credential } from './credential.ts';
import { credentialFields } from './fields.ts';
import { valuesIfOpen } from './sealed-values.ts';

/** The account that a credential opens, with the values that identify it. */
interface Identified {
  scheme: Authentication;
  values: Record<string, string>;
  account?: Account | null | undefined;
}

/**
 * Returns the keyed hash that two credentials of one user and connector share when they open the same account. The
 * hash covers the address and the id that the app reports. Without an id it covers the entered values, or for OAuth
 * the longest-lived token.
 */
export function accountKeyOf(
  { hashKey }: Pick<Base, 'hashKey'>,
  connector: Connector,
  identified: Identified,
): string {
  return hashToken(hashKey, `account|${JSON.stringify(identityOf(connector, identified))}`);
}

/**
 * Returns the account key of a stored credential; undefined when it does not open or the connector no longer has its
 * type.
 */
export function accountKeyOfStored(
  context: Pick<Base, 'hashKey' | 'keys'>,
  connector: Connector,
  credential: Credential,
): string | undefined {
  const scheme = connector.definition.authentication.find(({ type }) => type === credential.type);
  const values = scheme && valuesIfOpen(context, credential);
  return values && accountKeyOf(context, connector, { scheme, values, account: credential.account });
}

/**
 * Returns the parts of the account key.
 * The scheme type is left out when the app reports an id: another scheme then opens the same account.
 * It is a part when the connector has actions that only one scheme can run, because users connect both schemes.
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
