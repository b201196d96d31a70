import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import { loadKeyRing, type KeyRing } from '../crypto/key-ring.ts';
import { isSealed, loadHashKey } from '../identity/secrets.ts';
import { isoTime, MINUTE, SECOND, systemClock } from '../lib/clock.ts';
import { MIB } from '../lib/http-body.ts';
import { MIGRATIONS } from '../store/migrations.ts';
import { openStore, type Store } from '../store/open.ts';
import { probeWrite } from '../store/write-probe.ts';
import type { Finding } from './finding.ts';
import { thrownMessage } from '../lib/errors.ts';

const MAX_SKEW_MS = 30 * SECOND;
/** Below the space that the write-ahead log and a day of executions may take. */
const LOW_SPACE_BYTES = 200 * MIB;

export function checkNode(): Finding {
  const { node } = process.versions;
  return { name: 'Node.js', state: 'ok', found: `${node}, ${process.execPath}` };
}

/** Checks that the home is a folder that this user may write or create. */
export function checkHome({ home }: Config): Finding {
  const name = 'home';
  const fix = 'Set GATEHOUSE_HOME to a folder that this user may write.';
  try {
    if (!existsSync(home)) {
      const above = nearest(home);
      if (!statSync(above).isDirectory())
        return { name, state: 'fail', found: `${above} is not a folder`, fix };
      accessSync(above, constants.W_OK);
      return { name, state: 'ok', found: `${home} does not exist yet; the first start creates it` };
    }
    const { mode } = statSync(home);
    if (!statSync(home).isDirectory()) return { name, state: 'fail', found: `${home} is not a folder`, fix };
    accessSync(home, constants.W_OK);
    if ((mode & 0o077) !== 0) {
      return {
        name,
        state: 'warn',
        found: `${home} is accessible to other users`,
        fix: `Run: chmod 700 ${home}`,
      };
    }
    return { name, state: 'ok', found: `${home} is writable` };
  } catch (error) {
    return { name, state: 'fail', found: `${home}: ${thrownMessage(error)}`, fix };
  }
}

export function checkMasterKey(config: Config): Finding {
  const name = 'master key';
  if (!config.masterKeys && !config.masterKeyFile && !existsSync(keyFile(config))) {
    return { name, state: 'ok', found: `${keyFile(config)} does not exist yet; the first start creates it` };
  }
  try {
    const { keyId } = loadKeyRing(config);
    return { name, state: 'ok', found: `key ${keyId} seals new data` };
  } catch (error) {
    return {
      name,
      state: 'fail',
      found: thrownMessage(error),
      fix: 'Restore the right key. Without it, no sealed data opens.',
    };
  }
}

/** Checks the database, its schema, whether the master key opens its sealed data, and the clock. */
export async function checkStore(config: Config): Promise<Finding[]> {
  const name = 'database';
  const { database } = config;
  if (database.kind === 'sqlite' && !existsSync(database.path)) {
    return [{ name, state: 'ok', found: `${database.path} does not exist yet; the first start creates it` }];
  }
  try {
    await using store = await openStore(database);
    const schema = await checkSchema(store);
    if (schema.state !== 'ok') return [schema];
    return [
      schema,
      await checkWrites(config, store),
      await checkSealedData(config, store),
      await checkClock(store),
    ];
  } catch (error) {
    return [
      { name, state: 'fail', found: thrownMessage(error), fix: 'Fix DATABASE_URL, or start the database.' },
    ];
  }
}

async function checkSchema({ db, kind }: Store): Promise<Finding> {
  const name = 'database';
  const tables = await db.introspection.getTables();
  if (!tables.some((table) => table.name === 'schema_versions')) {
    return {
      name,
      state: 'warn',
      found: `${kind} is reachable and empty`,
      fix: 'Run: gatehouse migrate, or start.',
    };
  }
  const { version } = await db
    .selectFrom('schema_versions')
    .select((e) => e.fn.coalesce(e.fn.max('version'), sql<number>`0`).as('version'))
    .executeTakeFirstOrThrow();
  const newest = MIGRATIONS.length;
  const found = `${kind} is reachable, at schema version ${version} of ${newest}`;
  if (version > newest) {
    return {
      name,
      state: 'fail',
      found,
      fix: 'A newer Gatehouse migrated it: start that release, or restore a backup.',
    };
  }
  if (version < newest) return { name, state: 'warn', found, fix: 'Run: gatehouse migrate, or start.' };
  return { name, state: 'ok', found };
}

/** Writes and removes a row, and for SQLite reads the free space of its disk. */
async function checkWrites({ database }: Config, { db }: Store): Promise<Finding> {
  const name = 'disk';
  const fix = 'Free space on the disk of the database. Until then writes are answered with 503.';
  try {
    await probeWrite(db, systemClock.now());
  } catch (error) {
    return { name, state: 'fail', found: `the database takes no writes: ${thrownMessage(error)}`, fix };
  }
  if (database.kind !== 'sqlite') return { name, state: 'ok', found: 'the database takes writes' };
  const { bavail, bsize } = statfsSync(dirname(database.path));
  const found = `${Math.floor((bavail * bsize) / MIB)} MiB are free on the disk of ${database.path}`;
  return bavail * bsize < LOW_SPACE_BYTES
    ? { name, state: 'warn', found, fix }
    : { name, state: 'ok', found };
}

/**
 * Checks the master key with the hash key, which is sealed at the first start. Only the master key that wrote this
 * store opens it.
 */
async function checkSealedData(config: Config, { db }: Store): Promise<Finding> {
  const name = 'sealed data';
  if (!(await isSealed(db))) return { name, state: 'ok', found: 'nothing is sealed yet' };
  const missing = !config.masterKeys && !config.masterKeyFile && !existsSync(keyFile(config));
  if (missing) {
    return {
      name,
      state: 'fail',
      found: `the store holds sealed data, and its master key ${keyFile(config)} is missing`,
      fix: 'Put the key back from a backup, or set GATEHOUSE_MASTER_KEY.',
    };
  }
  try {
    const keys: KeyRing = loadKeyRing(config);
    await loadHashKey({ db, keys, clock: systemClock });
    return { name, state: 'ok', found: `opens with key ${keys.keyId}` };
  } catch (error) {
    return { name, state: 'fail', found: thrownMessage(error) };
  }
}

/**
 * Checks the clock, because tokens depend on it. It must not be behind the times in the store, nor far from the
 * database's clock.
 */
async function checkClock({ db, kind }: Store): Promise<Finding> {
  const name = 'clock';
  const now = systemClock.now();
  const { latest } = await db
    .selectFrom('schema_versions')
    .select((e) => e.fn.max('applied_at').as('latest'))
    .executeTakeFirstOrThrow();
  const fix = 'Set the clock of this machine, by NTP.';
  if (latest > now + MINUTE) {
    return { name, state: 'fail', found: `it is ${isoTime(now)} here, before the store was created`, fix };
  }
  if (kind === 'postgres') {
    const { rows } = await sql<{ ms: number }>`select extract(epoch from now())::float8 * 1000 as ms`.execute(
      db,
    );
    const skewMs = Math.abs((rows[0]?.ms ?? now) - now);
    if (skewMs > MAX_SKEW_MS) {
      return {
        name,
        state: 'warn',
        found: `${Math.round(skewMs / SECOND)} s away from the database's clock`,
        fix,
      };
    }
  }
  return { name, state: 'ok', found: isoTime(now) };
}

function keyFile({ home }: Config): string {
  return join(home, 'master.key');
}

/** Returns the nearest existing path above, usually a folder. */
function nearest(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) || parent === path ? parent : nearest(parent);
}
