import type { Authentication } from '../connectors/format/format.ts';
import type { Secret } from '../lib/secret.ts';

/** A credential, opened for one call. Its values are read only where a request is built. */
export interface OpenCredential {
  readonly credentialId: string;
  readonly connectorId: string;
  /** The scheme of the connector file that it belongs to. */
  readonly scheme: Authentication;
  /** The OAuth app that its tokens are of, for limits that all its users share; absent for other credentials. */
  readonly oauthApp?: string | undefined;
  /** Field name → value, secret or not: the scheme's fields and the connector's variables. */
  readonly values: Readonly<Record<string, Secret>>;
}
