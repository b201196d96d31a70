import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { openContext } from '../context.ts';
import { readMarker, refuseLostFile } from '../identity/store-marker.ts';
import { createLog } from '../log.ts';
import { CommandError } from './faults.ts';

/**
 * Opens a Gatehouse that was started before, so that a mistyped home does not become a new and empty one.
 * @throws CommandError where there is none, StoreError where there was one.
 */
export async function openStarted(config: Config) {
  const { database } = config;
  refuseLostFile(config, readMarker(config));
  if (database.kind === 'sqlite' && !existsSync(database.path)) throw notStarted(config);
  // A command is no service, and must not wait for a collector.
  const context = await openContext(
    { ...config, otlp: undefined },
    { log: createLog(config.logLevel, process.stderr) },
  );
  const key = await context.db.selectFrom('api_keys').select('key_id').limit(1).executeTakeFirst();
  if (key) return context;
  await context.close();
  throw notStarted(config);
}

/** Returns the error of a command that needs a store which a start made. */
export function notStarted({ database }: Config): CommandError {
  const where = database.kind === 'sqlite' ? database.path : 'the database of DATABASE_URL';
  return new CommandError(
    `There is no Gatehouse at ${where} yet: start it once (gatehouse serve), which creates its keys and shows them, ` +
      'or set GATEHOUSE_HOME or DATABASE_URL to where it is.',
  );
}
