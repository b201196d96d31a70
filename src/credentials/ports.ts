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

/** Is notified when a credential leads elsewhere, in the transaction of the change. */
export interface AccountChanges {
  /** Another account replaced the account of the credential. */
  other(tx: Tx, credentialId: string): Promise<void>;
  /** The account of the credential moved to another address. */
  moved(tx: Tx, credentialId: string): Promise<void>;
}
