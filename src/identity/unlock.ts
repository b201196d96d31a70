import type { Base } from '../base.ts';
import type { Config } from '../config.ts';
import { loadKeyRing } from '../crypto/master-key-file.ts';
import { isMigrated, migrate } from '../store/migrate.ts';
import { isSealed, loadHashKey } from './secrets.ts';
import { readMarker, refuseLostStore, refuseOtherStore, writeMarker } from './store-marker.ts';

/**
 * Migrates a store and opens its keys.
 * @throws StoreError when the store does not belong to the home, SchemaError, KeyError.
 */
export async function unlockStore(config: Config, { store, clock }: Pick<Base, 'store' | 'clock'>) {
  const { db } = store;
  const had = readMarker(config);
  if (had && !((await isMigrated(db)) && (await isSealed(db)))) refuseLostStore(config, had);
  await migrate(store, clock.now());
  const keys = loadKeyRing(config, { isSealed: await isSealed(db) });
  const hashKey = await loadHashKey({ db, keys, clock });
  refuseOtherStore(config, { had, hashKey });
  writeMarker(config, { had, hashKey });
  return { keys, hashKey };
}
