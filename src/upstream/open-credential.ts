import type { Authentication } from '../connectors/format.ts';
import type { Secret } from '../lib/secret.ts';

/** A credential, opened for one call. Its values are read only where a request is built. */
export interface OpenCredential {
  readonly credentialId: string;
  readonly connectorId: string;
  /** The scheme of the connector file that it belongs to. */
  readonly scheme: Authentication;
  /** Field name → value, secret or not: the scheme's fields and the connector's variables. */
  readonly values: Readonly<Record<string, Secret>>;
}
