import type { Connector } from '../connectors/catalog.ts';
import type { TokenScheme } from '../connectors/format/format.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { AccountChoice } from './account-choices.ts';
import type { Account } from './credential.ts';
import type { Tokens } from './oauth.ts';
import { unsavedCredential } from './sealed-values.ts';
import { probe, type ProbeContext } from './probe.ts';

/** A new grant with the values that it began with. */
export interface Granted {
  connector: Connector;
  scheme: TokenScheme;
  /** The fields that the person entered before the grant. */
  values: Record<string, string>;
  tokens: Tokens;
}

/** Returns the values that a credential stores after a grant. */
export function valuesOf({ values, tokens }: Pick<Granted, 'values' | 'tokens'>): Record<string, string> {
  const { accessToken, refreshToken, captured } = tokens;
  return { ...values, ...captured, accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) };
}

/** Returns the tokens of a consent for one of the accounts that it reaches. */
export function chosenTokens(
  { choices: _offered, ...tokens }: Tokens,
  { captured, account }: AccountChoice,
): Tokens {
  return { ...tokens, captured, ...(account ? { account } : {}) };
}

/**
 * Returns the account behind new tokens: from the grant itself, else from the connector's probe.
 * An app without a definite answer does not invalidate the tokens, because the grant cannot be repeated.
 * @throws GatehouseError `credential_invalid` when the app rejects the tokens.
 */
export async function probeTokens(
  context: ProbeContext,
  granted: Granted & { credentialId: string },
): Promise<Account | undefined> {
  const { connector, scheme, credentialId, tokens } = granted;
  try {
    const probed = await probe(context, connector, {
      credential: unsavedCredential(connector, scheme, { credentialId, values: valuesOf(granted) }),
    });
    const { account } = tokens;
    // Some grants report only the account's id; the probe adds the name.
    if (!account || account.name !== undefined || probed.account?.name === undefined)
      return account ?? probed.account;
    return { ...account, name: probed.account.name };
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code === 'credential_invalid') throw error;
    context.log.warn(
      { connectorId: connector.connectorId, credentialId, code: error.code },
      'the account behind new tokens could not be read',
    );
    return tokens.account;
  }
}
