import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { checkKeys } from '../backup/master-keys.ts';
import { readConfig, type Config, type VaultSettings } from '../config.ts';
import { createKeyRing } from '../crypto/key-ring.ts';
import { newMasterKeyFile, readMasterKeys } from '../crypto/master-key-file.ts';
import { keyUses, rowsByKey } from '../crypto/rotation.ts';
import { withVault } from '../crypto/vault.ts';
import { readWrappedKeys, replaceWrappedKeys, unwrapKeys, wrapKeys } from '../crypto/wrapped-keys.ts';
import { systemClock } from '../lib/clock.ts';
import { thrownMessage } from '../lib/errors.ts';
import { migrate } from '../store/migrate.ts';
import { openStore } from '../store/open-database.ts';
import type { Db } from '../store/schema.ts';
import { CommandError } from './faults.ts';
import { notStarted } from './started.ts';

/**
 * Runs `gatehouse master-key move`. With `from`, Vault wraps the keys of this file. With `to`, the keys that Vault wrapped
 * are written to this new file. The keys stay the same, so running processes are not disturbed.
 * @throws CommandError where the configuration names no Vault, or the keys are not those of the store.
 */
export async function moveMasterKeys(options: {
  from?: string;
  to?: string;
  json: boolean;
}): Promise<number> {
  const { from, to, json } = options;
  const config = readConfig();
  const { keyVault, database } = config;
  if (!keyVault) throw new CommandError('Set GATEHOUSE_MASTER_KEY=vault:<mount>/<key> and VAULT_ADDR first.');
  if ((from === undefined) === (to === undefined))
    throw new CommandError('Give --from <file> or --to <file>.');
  if (database.kind === 'sqlite' && !existsSync(database.path)) throw notStarted(config);
  await using store = await openStore(database);
  await migrate(store, systemClock.now());
  const file = resolve(from ?? to ?? '');
  const keyIds =
    from === undefined
      ? await toFile(store.db, keyVault, file)
      : await fromFile(store.db, { config, keyVault, file });
  if (json) process.stdout.write(`${JSON.stringify({ file, keyIds })}\n`);
  else process.stderr.write(`${from === undefined ? wroteFile(file) : wrapped(keyVault, file)}\n`);
  return 0;
}

function wrapped({ mount, key }: VaultSettings, file: string): string {
  return (
    `Vault wraps the master key of this store now. Start each process with GATEHOUSE_MASTER_KEY=vault:${mount}/${key}, ` +
    `make a backup, and then delete ${file}.`
  );
}

function wroteFile(file: string): string {
  return `The master key is in ${file}. Start each process with GATEHOUSE_MASTER_KEY_FILE=${file} and without GATEHOUSE_MASTER_KEY.`;
}

async function fromFile(
  db: Db,
  { config, keyVault, file }: { config: Config; keyVault: VaultSettings; file: string },
): Promise<readonly string[]> {
  const keys = readMasterKeys(file);
  const { keyIds } = createKeyRing(keys);
  const secrets = await db.selectFrom('secrets').select(['name', 'sealed']).execute();
  if (secrets.length === 0) throw notStarted(config);
  for (const secret of secrets) checkKeys({ keys, from: file }, secret);
  const needed = [...rowsByKey(await keyUses(db)).keys()];
  const known = (await readWrappedKeys(db)).map(({ key_id: keyId }) => keyId);
  const missing = [...needed, ...known].filter((keyId) => !keyIds.includes(keyId));
  if (missing.length > 0)
    throw new CommandError(
      `${file} lacks the master key ${missing.join(', ')} of this store. Add it as a further line.`,
    );
  await withVault(keyVault, { retries: false }, async (vault) => {
    const rows = await wrapKeys(vault, keys);
    // Proves that Vault unwraps the keys, because the operator deletes the file afterwards.
    await unwrapKeys(vault, rows);
    await db.transaction().execute((tx) => replaceWrappedKeys(tx, rows, systemClock.now()));
  });
  return keyIds;
}

async function toFile(db: Db, keyVault: VaultSettings, file: string): Promise<readonly string[]> {
  const rows = await readWrappedKeys(db);
  if (rows.length === 0) throw new CommandError('Vault has wrapped no master key of this store.');
  const keys = await withVault(keyVault, { retries: false }, (vault) => unwrapKeys(vault, rows));
  try {
    newMasterKeyFile(file, keys);
  } catch (error) {
    throw new CommandError(`Cannot write ${file}: ${thrownMessage(error)}. Name a file that does not exist.`);
  }
  return createKeyRing(keys).keyIds;
}
