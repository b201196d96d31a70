import type { Config } from '../config.ts';
import type { DbOrTx } from '../store/schema.ts';
import { createKeyRing, type KeyRing } from './key-ring.ts';
import { loadKeyRing, masterKeyPath } from './master-key-file.ts';
import { withVault } from './vault.ts';
import { loadWrappedKeys } from './wrapped-keys.ts';

/** A place that the master keys of a store come from. */
export interface KeyProvider {
  /** For people: `the file /var/lib/gatehouse/master.key`. */
  readonly name: string;
  /**
   * Returns the keys of a store. `isSealed` says that the store has sealed data. Then no new key is made.
   * @throws KeyError when a key is missing or cannot be used.
   */
  load(db: DbOrTx, store: { isSealed: boolean; now: number }): Promise<KeyRing>;
}

type KeyConfig = Pick<Config, 'masterKeys' | 'masterKeyFile' | 'keyVault' | 'home'>;

/**
 * Returns the provider that the configuration names: the environment, a file, or Vault. `retries` says whether to wait for
 * a Vault that is not ready. Vault is asked only at the start, and the process keeps the keys in memory. Later failures of
 * Vault therefore do not disturb it.
 */
export function keyProvider(
  config: KeyConfig,
  { retries, onRetry }: { retries: boolean; onRetry?: (reason: string) => void } = { retries: false },
): KeyProvider {
  const { keyVault } = config;
  if (keyVault)
    return {
      name: `the key ${keyVault.mount}/${keyVault.key} of Vault at ${keyVault.address}`,
      load: (db, store) =>
        withVault(keyVault, { retries, ...(onRetry ? { onRetry } : {}) }, async (vault) =>
          createKeyRing(await loadWrappedKeys(db, vault, store)),
        ),
    };
  return {
    name: config.masterKeys ? 'GATEHOUSE_MASTER_KEY' : `the file ${masterKeyPath(config)}`,
    load: async (_db, { isSealed }) => loadKeyRing(config, { isSealed }),
  };
}
