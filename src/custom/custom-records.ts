import { checkerHash } from '../connectors/checker.ts';
import { connectorNotFound, type ChangeableCatalog } from '../connectors/catalog.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { DbOrTx, Tx } from '../store/schema.ts';
import type { Context } from './context.ts';
import type { Columns } from './custom-definition.ts';
import type { ImportInclude } from './import-request.ts';
import {
  deleteOldVersions,
  findNewest,
  findStored,
  findVersion,
  forgetRemote,
  MAX_VERSIONS,
  raiseRevision,
  type ConnectorKey,
  type Stored,
  type Version,
} from './custom-rows.ts';

/** Limit of an environment's custom connectors, because every process holds all of them. */
const MAX_CONNECTORS = 500;

/** A new version of a custom connector. */
export interface Change {
  /** The caller's label. */
  caller: string;
  /**
   * Builds the version that follows `before`; undefined stores nothing. It is called again when another change was
   * stored in between.
   */
  make(before: Version | undefined): Promise<Made | undefined>;
  /**
   * The MCP server whose tools are the actions, stored in the same transaction. `stays`: as it is, if there is one.
   * Absent for another kind of connector.
   */
  remote?: { save(tx: Tx): Promise<void> } | 'stays';
  /** Whether everything is checked and nothing stored. */
  dryRun?: boolean | undefined;
}

/** A checked version, as it is stored. */
export interface Made {
  connectorId: string;
  columns: Columns;
  /** The choice of operations of an imported document. */
  include?: ImportInclude | undefined;
}

/** Stores the origin of a definition: a remote server, or none. */
async function saveOrigin(tx: Tx, key: ConnectorKey, { remote }: Change): Promise<void> {
  if (remote !== 'stays') await (remote ? remote.save(tx) : forgetRemote(tx, key));
}

/**
 * Adds a custom connector to an environment. This process uses it from the return on, others within a second. A dry run
 * returns version 0.
 * @throws GatehouseError `invalid_request`, `connector_exists`, `limit_reached`
 */
export async function createConnector(
  context: Context,
  environment: ConnectorKey['environment'],
  change: Change,
): Promise<{ connectorId: string; version: number }> {
  const made = await change.make(undefined);
  if (!made) throw new Error('A new connector has a definition.');
  const { connectorId } = made;
  assertFree(context.catalog, connectorId);
  const key = { environment, connectorId };
  const version = await context.db.transaction().execute(async (tx) => {
    if (!change.dryRun) await raiseRevision(tx, environment);
    const row = await findRow(tx, key);
    if (row?.deleted_at === null) throw connectorExists(connectorId, 'Change it with PUT.');
    await assertRoom(tx, key);
    if (change.dryRun) return 0;
    await saveOrigin(tx, key, change);
    return insertVersion(context, tx, { key, made, caller: change.caller, before: row?.version ?? 0 });
  });
  if (!change.dryRun) await context.customConnectors.refresh();
  return { connectorId, version };
}

/** Changes of a connector by others, after which a change is built again. */
const MAX_CONFLICTS = 5;

/**
 * Stores a new version of a custom connector. An equal definition makes no version.
 * @throws GatehouseError `invalid_request`, `connector_not_found`, `unavailable` while others change it all the time
 */
export async function changeConnector(
  context: Context,
  key: ConnectorKey,
  change: Change,
): Promise<{ connectorId: string; version: number; before: Version }> {
  for (let attempt = 0; attempt <= MAX_CONFLICTS; attempt++) {
    const before = await findNewest(context.db, key);
    if (!before) throw connectorNotFound(key.connectorId, []);
    // Building may take seconds, so it happens before the transaction.
    const made = await change.make(before);
    const version =
      made && !change.dryRun ? await storeAfter(context, key, { before, made, change }) : before.version;
    if (version === undefined) continue;
    await context.customConnectors.refresh();
    return { connectorId: key.connectorId, version, before };
  }
  throw new GatehouseError('unavailable', `Others change "${key.connectorId}" all the time. Try again.`);
}

/** Stores the version after `before`. Returns its number, or undefined when another version came in between. */
async function storeAfter(
  context: Context,
  key: ConnectorKey,
  { before, made, change }: { before: Version; made: Made; change: Change },
): Promise<number | undefined> {
  return context.db.transaction().execute(async (tx) => {
    await raiseRevision(tx, key.environment);
    const newest = await findStored(tx, key);
    if (!newest) throw connectorNotFound(key.connectorId, []);
    if (newest.version !== before.version) return undefined;
    await saveOrigin(tx, key, change);
    return isSame(before, made)
      ? before.version
      : insertVersion(context, tx, { key, made, caller: change.caller, before: before.version });
  });
}

function isSame(before: Version, { columns, include }: Made): boolean {
  return (
    before.fingerprint === columns.fingerprint &&
    before.kind === columns.kind &&
    before.overlay === columns.overlay &&
    JSON.stringify(before.include) === JSON.stringify(include)
  );
}

/**
 * Deletes a custom connector. Credentials, subscriptions and workflows that name it stay, and work again when a
 * connector with its id and its addresses returns.
 * @throws GatehouseError `connector_not_found`
 */
export async function deleteConnector(context: Context, key: ConnectorKey): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    await raiseRevision(tx, key.environment);
    const now = context.clock.now();
    const row = await tx
      .updateTable('custom_connectors')
      .set({ deleted_at: now, updated_at: now })
      .where('environment', '=', key.environment)
      .where('connector_id', '=', key.connectorId)
      .where('deleted_at', 'is', null)
      .returning('version')
      .executeTakeFirst();
    if (!row) throw connectorNotFound(key.connectorId, []);
    await forgetRemote(tx, key);
  });
  await context.customConnectors.refresh();
}

/** @throws GatehouseError `connector_not_found` */
export async function requireStored(db: DbOrTx, key: ConnectorKey): Promise<Stored> {
  const found = await findStored(db, key);
  if (!found) throw connectorNotFound(key.connectorId, []);
  return found;
}

/** @throws GatehouseError `connector_not_found`, `connector_version_not_found` */
export async function requireVersion(db: DbOrTx, key: ConnectorKey & { version: number }): Promise<Version> {
  await requireStored(db, key);
  const found = await findVersion(db, key);
  if (found) return found;
  throw new GatehouseError(
    'connector_version_not_found',
    `The connector "${key.connectorId}" has no version ${key.version}. It may have been deleted, because at most the newest ${MAX_VERSIONS} are stored.`,
  );
}

/** @throws GatehouseError `connector_exists` when a shipped connector, or one of the folder, has this id. */
function assertFree(catalog: ChangeableCatalog, connectorId: string): void {
  const holder = catalog.holderOf(connectorId);
  if (holder === 'shipped')
    throw connectorExists(connectorId, 'It is shipped with Gatehouse. Choose another id.');
  if (holder === 'folder')
    throw connectorExists(connectorId, 'A file of GATEHOUSE_CONNECTORS has it. Change that file.');
}

function connectorExists(connectorId: string, fix: string): GatehouseError {
  return new GatehouseError('connector_exists', `There is a connector "${connectorId}" already. ${fix}`);
}

async function assertRoom(tx: Tx, { environment }: ConnectorKey): Promise<void> {
  const { count } = await tx
    .selectFrom('custom_connectors')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('environment', '=', environment)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (Number(count) < MAX_CONNECTORS) return;
  throw new GatehouseError(
    'limit_reached',
    `An environment has at most ${MAX_CONNECTORS} custom connectors. Delete one first.`,
    { details: { limit: MAX_CONNECTORS } },
  );
}

function findRow(tx: Tx, { environment, connectorId }: ConnectorKey) {
  return tx
    .selectFrom('custom_connectors')
    .selectAll()
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .executeTakeFirst();
}

/** Stores the version after `before`, and makes it the newest. */
async function insertVersion(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  { key, made, caller, before }: { key: ConnectorKey; made: Made; caller: string; before: number },
): Promise<number> {
  const now = clock.now();
  const version = before + 1;
  const id = { environment: key.environment, connector_id: key.connectorId };
  const created = { created_at: now, created_by: caller };
  const import_settings = made.include === undefined ? null : JSON.stringify(made.include);
  await tx
    .insertInto('custom_connector_versions')
    .values({ ...id, version, ...made.columns, checker: checkerHash(), import_settings, ...created })
    .execute();
  await tx
    .insertInto('custom_connectors')
    .values({ ...id, version, created_at: now, updated_at: now, deleted_at: null })
    .onConflict((c) =>
      c.columns(['environment', 'connector_id']).doUpdateSet({ version, updated_at: now, deleted_at: null }),
    )
    .execute();
  await deleteOldVersions(tx, key, version);
  return version;
}
