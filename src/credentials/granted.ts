import type { Connector } from '../connectors/catalog.ts';
import type { OAuth } from '../connectors/format.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Account } from './credential.ts';
import type { Tokens } from './oauth.ts';
import { unsavedCredential } from './open.ts';
import { probe, type ProbeContext } from './probe.ts';

/** A grant that was just made, with what it began with. */
export interface Granted {
  connector: Connector;
  scheme: OAuth;
  /** The fields that were asked for before. */
  values: Record<string, string>;
  tokens: Tokens;
}

/** What a credential holds after a grant. */
export function valuesOf({ values, tokens }: Pick<Granted, 'values' | 'tokens'>): Record<string, string> {
  const { accessToken, refreshToken, captured } = tokens;
  return { ...values, ...captured, accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) };
}

/**
 * The account behind fresh tokens: what the grant itself told, else the connector's probe. An app that gives no
 * definite answer now does not make good tokens bad, which could not be asked for again.
 * @throws GatehouseError `credential_invalid` when the app refuses the tokens.
 */
export async function probeTokens(
  context: ProbeContext,
  granted: Granted & { credentialId: string },
): Promise<Account | undefined> {
  const { connector, scheme, credentialId, tokens } = granted;
  try {
    const probed = await probe(
      context,
      connector,
      unsavedCredential(connector, scheme, credentialId, valuesOf(granted)),
    );
    const { account } = tokens;
    // Some grants say whose the tokens are by an id alone.
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
