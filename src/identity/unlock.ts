import type { Base } from '../base.ts';
import type { Config } from '../config.ts';
import { keyProvider } from '../crypto/key-provider.ts';
import { isMigrated, migrate, withRights } from '../store/migrate.ts';
import { isSealed, loadHashKey } from './secrets.ts';
import { readMarker, refuseLostStore, refuseOtherStore, writeMarker } from './store-marker.ts';

/**
 * Migrates a store and opens its keys.
 * @throws StoreError when the store does not belong to the home, SchemaError, KeyError.
 */
export async function unlockStore(
  config: Config,
  { store, clock, log }: Pick<Base, 'store' | 'clock' | 'log'>,
) {
  const { db } = store;
  const had = readMarker(config);
  await withRights(db, async () => {
    if (had && !((await isMigrated(db)) && (await isSealed(db)))) refuseLostStore(config, had);
  });
  await migrate(store, clock.now());
  const onRetry = (reason: string): void => log.warn({ reason }, 'key provider is not ready, will retry');
  const provider = keyProvider(config, { retries: true, onRetry });
  const keys = await provider.load(db, { isSealed: await isSealed(db), now: clock.now() });
  const hashKey = await loadHashKey({ db, keys, clock });
  refuseOtherStore(config, { had, hashKey });
  writeMarker(config, { had, hashKey });
  return { keys, hashKey };
}
