import { connectorNotFound, type ChangeableCatalog } from '../connectors/catalog.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { DbOrTx, Tx } from '../store/schema.ts';
import type { Context } from './context.ts';
import { requireDefinition, type Definition, type Source } from './definition.ts';
import {
  columnsOf,
  findNewest,
  findStored,
  findVersion,
  forgetRemote,
  raiseRevision,
  type ConnectorKey,
  type Stored,
  type Version,
} from './rows.ts';

/** Limit of an environment's custom connectors, because every process holds all of them. */
const MAX_CONNECTORS = 500;
/** Versions that are stored of a connector; older ones are deleted. */
const MAX_VERSIONS = 100;

/** A new definition with the caller's label. */
interface Change {
  source: Source;
  caller: string;
  /** The MCP server whose tools are the actions, stored in the same transaction; absent for a connector file. */
  remote?: { save(tx: Tx): Promise<void> };
}

/** Stores the origin of a definition: a remote server, or none. */
async function saveOrigin(tx: Tx, key: ConnectorKey, { remote }: Change): Promise<void> {
  await (remote ? remote.save(tx) : forgetRemote(tx, key));
}

/**
 * Adds a custom connector to an environment. This process uses it from the return on, others within a second.
 * @throws GatehouseError `invalid_request`, `connector_exists`, `limit_reached`
 */
export async function createConnector(
  context: Context,
  environment: ConnectorKey['environment'],
  change: Change,
): Promise<{ connectorId: string; version: number }> {
  const made = requireDefinition(change.source);
  const connectorId = made.file.id;
  assertFree(context.catalog, connectorId);
  const key = { environment, connectorId };
  const version = await context.db.transaction().execute(async (tx) => {
    await raiseRevision(tx, environment);
    const row = await findRow(tx, key);
    if (row?.deleted_at === null) throw connectorExists(connectorId, 'Change it with PUT.');
    await assertRoom(tx, key);
    await saveOrigin(tx, key, change);
    return insertVersion(context, tx, { key, made, change, before: row?.version ?? 0 });
  });
  await context.customConnectors.refresh();
  return { connectorId, version };
}

/**
 * Stores a new version of a custom connector. An equal definition makes no version.
 * @throws GatehouseError `invalid_request`, `connector_not_found`
 */
export async function changeConnector(
  context: Context,
  key: ConnectorKey,
  change: Change,
): Promise<{ connectorId: string; version: number }> {
  await requireStored(context.db, key);
  const made = requireDefinition(change.source, key.connectorId);
  const version = await context.db.transaction().execute(async (tx) => {
    await raiseRevision(tx, key.environment);
    const before = await findNewest(tx, key);
    if (!before) throw connectorNotFound(key.connectorId, []);
    await saveOrigin(tx, key, change);
    const isKnown = before.fingerprint === made.fingerprint && before.kind === kindOf(change);
    return isKnown
      ? before.version
      : insertVersion(context, tx, { key, made, change, before: before.version });
  });
  await context.customConnectors.refresh();
  return { connectorId: key.connectorId, version };
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
    `The connector "${key.connectorId}" has no version ${key.version}. It may have been deleted, because the newest ${MAX_VERSIONS} are stored.`,
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

function kindOf({ remote }: Change): Version['kind'] {
  return remote ? 'mcp' : 'definition';
}

/** Stores the version after `before`, and makes it the newest. */
async function insertVersion(
  { clock }: Pick<Context, 'clock'>,
  tx: Tx,
  { key, made, change, before }: { key: ConnectorKey; made: Definition; change: Change; before: number },
): Promise<number> {
  const now = clock.now();
  const version = before + 1;
  const id = { environment: key.environment, connector_id: key.connectorId };
  const created = { created_at: now, created_by: change.caller };
  await tx
    .insertInto('custom_connector_versions')
    .values({ ...id, version, ...columnsOf(made, kindOf(change)), ...created })
    .execute();
  await tx
    .insertInto('custom_connectors')
    .values({ ...id, version, created_at: now, updated_at: now, deleted_at: null })
    .onConflict((c) =>
      c.columns(['environment', 'connector_id']).doUpdateSet({ version, updated_at: now, deleted_at: null }),
    )
    .execute();
  await tx
    .deleteFrom('custom_connector_versions')
    .where('environment', '=', key.environment)
    .where('connector_id', '=', key.connectorId)
    .where('version', '<=', version - MAX_VERSIONS)
    .execute();
  return version;
}
