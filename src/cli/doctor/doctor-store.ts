import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import type { Config } from '../../config.ts';
import { inspectStored } from '../../custom/inspect-stored.ts';
import type { KeyRing } from '../../crypto/key-ring.ts';
import { keyProvider } from '../../crypto/key-provider.ts';
import { loadKeyRing, masterKeyPath } from '../../crypto/master-key-file.ts';
import { keyUses, rowsByKey } from '../../crypto/rotation.ts';
import { withVault } from '../../crypto/vault.ts';
import type { Db } from '../../store/schema.ts';
import { isSealed, loadHashKey } from '../../identity/secrets.ts';
import {
  readMarker,
  refuseLostFile,
  refuseLostStore,
  refuseOtherStore,
} from '../../identity/store-marker.ts';
import { isoTime, MINUTE, SECOND, systemClock } from '../../lib/clock.ts';
import { MIB } from '../../lib/http/http-body.ts';
import {
  isMigrated,
  isUnreleased,
  mayMigrate,
  schemaVersion,
  UNRELEASED,
  withRights,
} from '../../store/migrate.ts';
import { MIGRATIONS } from '../../store/migrations/migrations.ts';
import { openStore, type Store } from '../../store/open-database.ts';
import { probeWrite } from '../../store/write-probe.ts';
import { findingsOf, type Finding } from './finding.ts';
import { thrownMessage } from '../../lib/errors.ts';

/** A text in base64 without meaning. */
const PROBE = 'Z2F0ZWhvdXNl';
const MAX_SKEW_MS = 30 * SECOND;
/** Free space below which doctor warns: the write-ahead log and a day of executions may need as much. */
const LOW_SPACE_BYTES = 200 * MIB;

export function checkNode(): Finding {
  const { node } = process.versions;
  return findingsOf('Node.js').ok(`${node}, ${process.execPath}`);
}

/** Checks that the home is a folder that this user may write or create. */
export function checkHome({ home }: Config): Finding {
  const { ok, warn, fail } = findingsOf('home');
  const fix = 'Set GATEHOUSE_HOME to a folder that this user may write.';
  try {
    if (!existsSync(home)) {
      const above = nearest(home);
      if (!statSync(above).isDirectory()) return fail(`${above} is not a folder`, fix);
      accessSync(above, constants.W_OK);
      return ok(`${home} does not exist yet; the first start creates it`);
    }
    const found = statSync(home);
    if (!found.isDirectory()) return fail(`${home} is not a folder`, fix);
    accessSync(home, constants.W_OK);
    if ((found.mode & 0o077) !== 0)
      return warn(`${home} is accessible to other users`, `Run: chmod 700 ${home}`);
    return ok(`${home} is writable`);
  } catch (error) {
    return fail(`${home}: ${thrownMessage(error)}`, fix);
  }
}

const RESTORE = 'Restore the right key. Without it, no sealed data opens.';

/** Checks that the configured master keys can be used. */
export async function checkMasterKey(config: Config): Promise<Finding> {
  const { ok, fail } = findingsOf('master key');
  const { keyVault } = config;
  if (hasNoKey(config)) {
    const path = masterKeyPath(config);
    if (readMarker(config) === undefined) return ok(`${path} does not exist yet; the first start creates it`);
    return fail(`${path} is missing, and the home has a store`, RESTORE);
  }
  const provider = keyProvider(config);
  try {
    if (keyVault) {
      await withVault(keyVault, { retries: false }, async (vault) => vault.unwrap(await vault.wrap(PROBE)));
      return ok(`${provider.name} wraps and unwraps keys`);
    }
    const { keyId } = loadKeyRing(config);
    return ok(`key ${keyId} of ${provider.name} seals new data`);
  } catch (error) {
    const message = thrownMessage(error);
    // Some messages have their own remedy, such as a mode of the file.
    return fail(message, keyVault || /\bRun: /.test(message) ? undefined : RESTORE);
  }
}

/** Checks the database, its schema, whether the master key opens its sealed data, and the clock. */
export async function checkStore(config: Config): Promise<Finding[]> {
  const { ok, fail } = findingsOf('database');
  const { database } = config;
  const lost = refusalOf(() => refuseLostFile(config, readMarker(config)));
  if (lost) return [lost];
  if (database.kind === 'sqlite' && !existsSync(database.path))
    return [ok(`${database.path} does not exist yet; the first start creates it`)];
  try {
    await using store = await openStore(database);
    const schema = await withRights(store.db, () => checkSchema(config, store));
    if (schema.state !== 'ok') return [schema];
    return [
      schema,
      await checkWrites(config, store),
      await checkSealedData(config, store),
      await checkClock(store),
      ...(await checkStored(store)),
      await checkManualHooks(store),
    ];
  } catch (error) {
    return [fail(thrownMessage(error), 'Fix DATABASE_URL, or start the database.')];
  }
}

/** Returns the failure of a check that refuses the store as a start does; undefined when the check passes. */
function refusalOf(check: () => void): Finding | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return findingsOf('database').fail(thrownMessage(error));
  }
}

async function checkSchema(config: Config, { db, kind }: Store): Promise<Finding> {
  const { ok, warn, fail } = findingsOf('database');
  const cannotMigrate = async (): Promise<Finding | undefined> =>
    (await mayMigrate(db))
      ? undefined
      : fail(
          'the role of DATABASE_URL may not create tables',
          'Let the owner of the database run: grant all on schema public to the role.',
        );
  if (!(await isMigrated(db))) {
    const lost = refusalOf(() => refuseLostStore(config, readMarker(config)));
    return (
      lost ??
      (await cannotMigrate()) ??
      warn(`${kind} is reachable and empty`, 'Run: gatehouse migrate, or start.')
    );
  }
  if (await isUnreleased(db)) return fail(UNRELEASED);
  const version = await schemaVersion(db);
  const newest = MIGRATIONS.length;
  const found = `${kind} is reachable, at schema version ${version} of ${newest}`;
  if (version > newest)
    return fail(found, 'A newer Gatehouse migrated it: start that release, or restore a backup.');
  if (version === newest) return ok(found);
  return (await cannotMigrate()) ?? warn(found, 'Run: gatehouse migrate, or start.');
}

/** Writes and removes a row, and for SQLite reads the free space of its disk. */
async function checkWrites({ database }: Config, { db }: Store): Promise<Finding> {
  const { ok, warn, fail } = findingsOf('disk');
  const fix = 'Free space on the disk of the database. Until then writes are answered with 503.';
  try {
    await probeWrite(db, systemClock.now());
  } catch (error) {
    return fail(`the database takes no writes: ${thrownMessage(error)}`, fix);
  }
  if (database.kind !== 'sqlite') return ok('the database takes writes');
  const { bavail, bsize } = statfsSync(dirname(database.path));
  const found = `${Math.floor((bavail * bsize) / MIB)} MiB are free on the disk of ${database.path}`;
  return bavail * bsize < LOW_SPACE_BYTES ? warn(found, fix) : ok(found);
}

/**
 * Checks the master key with the hash key, which is sealed at the first start. Only the master key that wrote this
 * store opens it. Checks also that the store is the one that the home had before.
 */
async function checkSealedData(config: Config, { db }: Store): Promise<Finding> {
  const { ok, fail } = findingsOf('sealed data');
  const sealed = await isSealed(db);
  if (sealed && hasNoKey(config)) {
    const found = `the store holds sealed data, and its master key ${masterKeyPath(config)} is missing`;
    return fail(found, 'Put the key back from a backup, or set GATEHOUSE_MASTER_KEY.');
  }
  try {
    const had = readMarker(config);
    if (!sealed) {
      refuseLostStore(config, had);
      return ok('nothing is sealed yet');
    }
    const keys = await keyProvider(config).load(db, { isSealed: true, now: systemClock.now() });
    const hashKey = await loadHashKey({ db, keys, clock: systemClock });
    refuseOtherStore(config, { had, hashKey });
    return await checkKeyUses(keys, db);
  } catch (error) {
    return fail(thrownMessage(error));
  }
}

/** Counts the rows of each master key. Rows of a missing key cannot be opened. A key without rows can be retired. */
async function checkKeyUses(keys: KeyRing, db: Db): Promise<Finding> {
  const { ok, warn, fail } = findingsOf('sealed data');
  const rows = rowsByKey(await keyUses(db));
  const found = [...rows].map(([keyId, count]) => `${count} rows with key ${keyId}`).join(', ');
  const unknown = [...rows.keys()].filter((keyId) => !keys.keyIds.includes(keyId));
  if (unknown.length > 0)
    return fail(
      `${found}; key ${unknown.join(', ')} is missing`,
      'Put the missing key back after the first one, in GATEHOUSE_MASTER_KEY or the key file.',
    );
  const earlier = keys.keyIds.slice(1);
  if (earlier.some((keyId) => rows.has(keyId)))
    return warn(`${found}; key ${keys.keyId} seals new data`, 'Run: gatehouse master-key rotate');
  if (earlier.length > 0)
    return warn(
      `${found}; no row needs key ${earlier.join(', ')}`,
      'Make a backup, then run: gatehouse master-key retire',
    );
  return ok(found);
}

/**
 * Checks the clock, because tokens depend on it. It must not be behind the times in the store, nor far from the
 * database's clock.
 */
async function checkClock({ db, kind }: Store): Promise<Finding> {
  const { ok, warn, fail } = findingsOf('clock');
  const now = systemClock.now();
  const { latest } = await db
    .selectFrom('schema_versions')
    .select((e) => e.fn.max('applied_at').as('latest'))
    .executeTakeFirstOrThrow();
  const fix = 'Set the clock of this machine, by NTP.';
  if (latest > now + MINUTE) return fail(`it is ${isoTime(now)} here, before the store was created`, fix);
  if (kind === 'postgres') {
    const { rows } = await sql<{ ms: number }>`select extract(epoch from now())::float8 * 1000 as ms`.execute(
      db,
    );
    const skewMs = Math.abs((rows[0]?.ms ?? now) - now);
    if (skewMs > MAX_SKEW_MS)
      return warn(`${Math.round(skewMs / SECOND)} s away from the database's clock`, fix);
  }
  return ok(isoTime(now));
}

const MAX_NAMED_FAULTS = 10;

/** Checks the connectors in the store. A start leaves out those that break a rule of this release. */
async function checkStored({ db }: Store): Promise<Finding[]> {
  const { ok, fail } = findingsOf('stored connectors');
  const { count, faulty } = await inspectStored(db);
  if (faulty.length === 0) return [ok(count === 0 ? 'none' : `${count}, all readable`)];
  return faulty.map(({ environment, connectorId, version, faults, needsOverlay }) => {
    const more = faults.length - MAX_NAMED_FAULTS;
    const named = faults.slice(0, MAX_NAMED_FAULTS).join('; ');
    const part = needsOverlay ? '/overlay' : '';
    return fail(
      `${connectorId} of ${environment} (version ${version}) is left out: ${named}${more > 0 ? `; and ${more} more` : ''}`,
      `Correct these fields with PUT /api/connectors/${connectorId}${part}, or remove it with DELETE.`,
    );
  });
}

/** Checks whether webhooks that people set up at apps by hand have arrived. */
async function checkManualHooks({ db }: Store): Promise<Finding> {
  const { ok, warn } = findingsOf('webhooks by hand');
  const rows = await db
    .selectFrom('manual_hooks')
    .innerJoin('credentials', 'credentials.credential_id', 'manual_hooks.credential_id')
    .select(['credentials.credential_id', 'credentials.connector_id', 'manual_hooks.last_at'])
    .orderBy('manual_hooks.created_at')
    .execute();
  const silent = rows.filter((row) => row.last_at === null);
  if (silent.length === 0) return ok(rows.length === 0 ? 'none' : `${rows.length}, all have arrived`);
  const named = silent.slice(0, MAX_NAMED_FAULTS).map((row) => `${row.connector_id} ${row.credential_id}`);
  const more = silent.length > named.length ? `, and ${silent.length - named.length} more` : '';
  return warn(
    `no webhook has come for ${named.join(', ')}${more}`,
    'Check the address and the secret at the app. Until then the app is polled.',
  );
}

/** Returns whether the configuration names no master key, and the home has none. */
function hasNoKey(config: Config): boolean {
  const { masterKeys, masterKeyFile, keyVault } = config;
  return !masterKeys && !masterKeyFile && !keyVault && !existsSync(masterKeyPath(config));
}

/** Returns the nearest existing path above, usually a folder. */
function nearest(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) || parent === path ? parent : nearest(parent);
}
