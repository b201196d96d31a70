import type { JsonObject } from '../lib/json.ts';
import type { Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';

/** Is notified of events in the life of credentials. */
export interface CredentialEvents {
  /** Runs in the transaction of the change. `data` holds ids and reasons, never a secret. */
  notify(
    tx: Tx,
    environment: Environment,
    event: {
      type: 'credential.created' | 'credential.needs_reconnect' | 'credential.deleted';
      data: JsonObject;
    },
  ): Promise<void>;
}

/** Keeps the clients that Gatehouse itself registered at the OAuth servers of remote MCP servers. */
export interface SignInClients {
  /** Registers the client of a connector again where its OAuth server does not know it any more. Never rejects. */
  beforeSignIn(key: ConnectorIn): Promise<void>;
  /** Notes a registration or a sign-in that worked, so that the next sign-in does not check the client. */
  noteKnown(key: ConnectorIn): void;
  /** Returns whether the client worked in the last minutes, and no sign-in has begun since. */
  isKnown(key: ConnectorIn): boolean;
  /**
   * Registers the client again after a refusal of this one. Returns whether there is another client now. Never
   * rejects.
   */
  refused(key: ConnectorIn, clientId: string): Promise<boolean>;
}

/** A connector of an environment. */
interface ConnectorIn {
  environment: Environment;
  connectorId: string;
}

/** Is notified when a credential leads elsewhere, in the transaction of the change. */
export interface AccountChanges {
  /** Another account replaced the account of the credential. */
  other(tx: Tx, credentialId: string): Promise<void>;
  /** The account of the credential moved to another address. */
  moved(tx: Tx, credentialId: string): Promise<void>;
}
