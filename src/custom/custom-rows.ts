import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { importInclude, type ImportInclude } from './import-request.ts';

type VersionRow = Selectable<Tables['custom_connector_versions']>;

/** The key of a custom connector. */
export interface ConnectorKey {
  readonly environment: Environment;
  readonly connectorId: string;
}

/** The facts of a version, without its texts. Times are epoch milliseconds. */
export type VersionFacts = ReturnType<typeof toFacts>;

/** A version with its source, its overlay and the checked file, each as JSON text. */
export type Version = ReturnType<typeof toVersion>;

/** A custom connector that exists: the facts of its newest version, and its own times. */
export interface Stored extends VersionFacts {
  readonly firstAt: number;
  readonly updatedAt: number;
}

const head = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  categories: z.array(z.string()),
});
const origins = z.array(z.string());

const FACTS = [
  'v.environment',
  'v.connector_id',
  'v.version',
  'v.kind',
  'v.head',
  'v.checker',
  'v.fingerprint',
  'v.origins',
  'v.created_at',
  'v.created_by',
] as const;

function toFacts(row: Omit<VersionRow, 'source' | 'overlay' | 'definition' | 'import_settings'>) {
  return {
    connectorId: row.connector_id,
    version: row.version,
    kind: row.kind,
    head: head.parse(JSON.parse(row.head)),
    checker: row.checker,
    fingerprint: row.fingerprint,
    origins: origins.parse(JSON.parse(row.origins)),
    createdAt: row.created_at,
    createdBy: row.created_by,
  };
}

function toVersion(row: VersionRow) {
  const { source, overlay, definition } = row;
  return { ...toFacts(row), source, overlay, definition, include: includeIn(row.import_settings) };
}

/** Returns the choice of operations of an import; undefined for other versions. */
function includeIn(settings: string | null): ImportInclude | undefined {
  return settings === null ? undefined : importInclude.parse(JSON.parse(settings));
}

/** Returns the number of the last change of each environment; none where nothing was ever changed. */
export async function readRevisions(db: DbOrTx): Promise<Map<Environment, number>> {
  const rows = await db.selectFrom('custom_connector_revisions').selectAll().execute();
  return new Map(rows.map((row) => [row.environment, row.revision]));
}

/**
 * Raises the number of the last change. It comes first in a transaction, because the lock of its row lets one change
 * of an environment happen at a time.
 */
export async function raiseRevision(tx: Tx, environment: Environment): Promise<void> {
  await tx
    .insertInto('custom_connector_revisions')
    .values({ environment, revision: 1 })
    .onConflict((c) =>
      c.column('environment').doUpdateSet((e) => ({
        revision: e('custom_connector_revisions.revision', '+', 1),
      })),
    )
    .execute();
}

/** Returns the custom connectors of an environment with their newest versions. */
function newest(db: DbOrTx, environment: Environment) {
  return db
    .selectFrom('custom_connectors as c')
    .innerJoin('custom_connector_versions as v', (join) =>
      join
        .onRef('v.environment', '=', 'c.environment')
        .onRef('v.connector_id', '=', 'c.connector_id')
        .onRef('v.version', '=', 'c.version'),
    )
    .where('c.environment', '=', environment)
    .where('c.deleted_at', 'is', null);
}

/** Returns the number of the newest version of each custom connector of an environment, by id. */
export async function readNumbers(db: DbOrTx, environment: Environment): Promise<Map<string, number>> {
  const rows = await newest(db, environment).select(['v.connector_id', 'v.version']).execute();
  return new Map(rows.map((row) => [row.connector_id, row.version]));
}

/** Returns the newest version of a custom connector; undefined when it does not exist or is deleted. */
export async function findNewest(
  db: DbOrTx,
  { environment, connectorId }: ConnectorKey,
): Promise<Version | undefined> {
  const row = await newest(db, environment)
    .selectAll('v')
    .where('c.connector_id', '=', connectorId)
    .executeTakeFirst();
  return row && toVersion(row);
}

const stored = (db: DbOrTx, environment: Environment) =>
  newest(db, environment).select([...FACTS, 'c.created_at as first_at', 'c.updated_at']);

const BY_ID: ListOrder = { columns: { connector_id: 'id' }, direction: 'asc' };

/** Returns a page of the custom connectors of an environment, by id. */
export async function listStored(
  db: DbOrTx,
  environment: Environment,
  page: PageRequest,
): Promise<PageEnd & { connectors: Stored[] }> {
  const all = db.selectFrom(stored(db, environment).as('all')).selectAll();
  const { rows, ...end } = await readPage(all, BY_ID, page);
  return { connectors: rows.map(toStored), ...end };
}

export async function findStored(
  db: DbOrTx,
  { environment, connectorId }: ConnectorKey,
): Promise<Stored | undefined> {
  const row = await stored(db, environment).where('c.connector_id', '=', connectorId).executeTakeFirst();
  return row && toStored(row);
}

function toStored(row: Parameters<typeof toFacts>[0] & { first_at: number; updated_at: number }): Stored {
  return { ...toFacts(row), firstAt: row.first_at, updatedAt: row.updated_at };
}

const NEWEST_FIRST: ListOrder = { columns: { version: 'whole' }, direction: 'desc' };

/** Returns a page of the versions of a connector, newest first. */
export async function listVersions(
  db: DbOrTx,
  { environment, connectorId }: ConnectorKey,
  page: PageRequest,
): Promise<PageEnd & { versions: VersionFacts[] }> {
  const query = db
    .selectFrom('custom_connector_versions as v')
    .select([...FACTS])
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId);
  const { rows, ...end } = await readPage(query, NEWEST_FIRST, page);
  return { versions: rows.map(toFacts), ...end };
}

export async function findVersion(
  db: DbOrTx,
  { environment, connectorId, version }: ConnectorKey & { version: number },
): Promise<Version | undefined> {
  const row = await db
    .selectFrom('custom_connector_versions')
    .selectAll()
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('version', '=', version)
    .executeTakeFirst();
  return row && toVersion(row);
}

/** Deletes the remote MCP server behind a connector, with the operator's values for it. */
export async function forgetRemote(tx: Tx, { environment, connectorId }: ConnectorKey): Promise<void> {
  await tx
    .deleteFrom('remote_servers')
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .execute();
}

/** Versions that are stored of a connector; older ones are deleted. */
export const MAX_VERSIONS = 100;
/** Characters of all stored versions of a connector. A whole API has up to 20 million. */
const MAX_STORED_CHARS = 64 * 1024 * 1024;

/** Deletes the versions beyond the limits. The newest one stays. */
export async function deleteOldVersions(
  tx: Tx,
  { environment, connectorId }: ConnectorKey,
  newestVersion: number,
): Promise<void> {
  const sizes = await tx
    .selectFrom('custom_connector_versions')
    .select(['version', sql<number>`length(source) + length(definition)`.as('size')])
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .orderBy('version', 'desc')
    .execute();
  let left = MAX_STORED_CHARS;
  const old = sizes.find(({ version, size }) => {
    left -= Number(size);
    return version < newestVersion && (left < 0 || version <= newestVersion - MAX_VERSIONS);
  });
  if (!old) return;
  await tx
    .deleteFrom('custom_connector_versions')
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('version', '<=', old.version)
    .execute();
}
