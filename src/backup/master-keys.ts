import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { createKeyRing } from '../crypto/key-ring.ts';
import { masterKeyPath, readMasterKeys } from '../crypto/master-key-file.ts';
import { openSecret } from '../identity/secrets.ts';
import { thrownMessage } from '../lib/errors.ts';
import { BackupError } from './backup-format.ts';

type KeyConfig = Pick<Config, 'masterKeys' | 'masterKeyFile' | 'keyVault' | 'home'>;

/** The master keys in base64, the sealing one first, and where they are. */
export interface MasterKeys {
  keys: string[];
  from: string;
}

/**
 * Returns the master keys; undefined when there are none, and when Vault wraps them, because the store then has them.
 * @throws KeyError when their file cannot be read.
 */
export function masterKeysOf(config: KeyConfig): MasterKeys | undefined {
  if (config.masterKeys) return { keys: config.masterKeys, from: 'GATEHOUSE_MASTER_KEY' };
  if (config.keyVault) return undefined;
  const path = masterKeyPath(config);
  return existsSync(path) ? { keys: readMasterKeys(path), from: path } : undefined;
}

/**
 * Checks that keys open a secret of the store.
 * @throws KeyError when a key breaks a rule, BackupError when no key opens it.
 */
export function checkKeys({ keys, from }: MasterKeys, secret: { name: string; sealed: string }): void {
  const ring = createKeyRing(keys);
  try {
    openSecret(ring, secret);
  } catch (cause) {
    throw new BackupError(`The master key of ${from} does not open this store: ${thrownMessage(cause)}`, {
      cause,
    });
  }
}
