import { readConfig } from '../config.ts';
import { readMarker, refuseLostFile } from '../identity/store-marker.ts';
import { systemClock } from '../lib/clock.ts';
import { migrate } from '../store/migrate.ts';
import { MIGRATIONS } from '../store/migrations/migrations.ts';
import { openStore } from '../store/open-database.ts';

/** Runs `gatehouse migrate`: prints the names of the migrations that ran. */
export async function migrateStore({ json }: { json: boolean }): Promise<number> {
  const config = readConfig();
  refuseLostFile(config, readMarker(config));
  await using store = await openStore(config.database);
  const applied = await migrate(store, systemClock.now());
  const version = MIGRATIONS.length;
  if (json) process.stdout.write(`${JSON.stringify({ version, applied })}\n`);
  else {
    for (const name of applied) process.stdout.write(`${name}\n`);
    const what = applied.length === 0 ? 'is at' : 'was brought to';
    process.stderr.write(`The database ${what} schema version ${version}.\n`);
  }
  return 0;
}
