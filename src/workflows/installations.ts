import type { Updateable } from 'kysely';
import type { Context } from './context.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import type { Credential } from '../credentials/credential.ts';
import { lockSource, releaseIfUnconsumed } from '../sources/consumers.ts';
import { requireEnabled, requireUser } from '../identity/users.ts';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import { notifyAccountsChanged } from '../store/change-notes.ts';
import { orExists } from '../store/open-database.ts';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { credentialsIn, openConfig, sealConfig, type InstallationRow } from './begin.ts';
import type { Definition } from './workflow-definition.ts';
import { configFaults, secretFields, withDefaults } from './configurable-fields.ts';
import { requireWorkflow, versionNotFound, findVersion } from './workflow-records.ts';
import { chosenCredentials, idsOf } from './chosen-credentials.ts';
import { cancelRunsOf } from './cancel-runs.ts';
import { armTrigger } from './triggers.ts';

export type InstallContext = Pick<
  Context,
  'db' | 'clock' | 'keys' | 'hashKey' | 'catalog' | 'config' | 'sources' | 'publicUrl' | 'credentialMemory'
>;

/** The key of an installation: its workflow and user. */
export interface InstallationKey {
  environment: Environment;
  workflowId: string;
  userId: string;
}

/** Shown instead of a secret value. A client that sends it back leaves the value unchanged. */
const MASK = '[secret]';

/**
 * Installs the newest published version for a user. Checks configuration and credentials and sets the trigger, in one
 * transaction.
 * @returns the row, and the address of a `call` trigger, which is returned only here.
 * @throws GatehouseError `workflow_not_found`, `user_not_found`, `forbidden` for a disabled user,
 * `workflow_version_not_found` when nothing is published, `invalid_request` by field, `installation_exists`, and
 * those of chooseCredential().
 */
export async function install(
  context: InstallContext,
  key: InstallationKey,
  input: { config: JsonObject; credentials: Record<string, string> },
): Promise<{ row: InstallationRow; definition: Definition; hookUrl?: string | undefined }> {
  const { environment, workflowId, userId } = key;
  const { latest } = await requireWorkflow(context.db, environment, workflowId);
  await requireEnabled(context.db, environment, userId);
  if (latest.draft) {
    throw new GatehouseError(
      'workflow_version_not_found',
      'This workflow has no published version yet. Publish its draft first.',
    );
  }
  const { definition, version } = latest;
  const config = checkedConfig(definition, input.config);
  const installationId = newId('ins');
  const token = definition.trigger.type === 'call' ? newRandomToken() : undefined;
  const row = await orExists(
    context.db.transaction().execute(async (tx) => {
      const credentials = await chosenCredentials(tx, context, {
        owner: key,
        definition,
        named: input.credentials,
      });
      const trigger = await armTrigger(tx, context, {
        environment,
        userId,
        definition,
        credentials,
        enabled: true,
      });
      const now = context.clock.now();
      await notifyAccountsChanged(tx, context, key);
      return tx
        .insertInto('workflow_installations')
        .values({
          installation_id: installationId,
          environment,
          workflow_id: workflowId,
          user_id: userId,
          version,
          previous_version: null,
          enabled: 1,
          config_sealed: sealConfig(context, installationId, config),
          credentials: idsOf(credentials),
          ...trigger,
          hook_hash: token === undefined ? null : hashToken(context.hashKey, token),
          created_at: now,
          updated_at: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
    }),
    'installation_exists',
    'This user has installed the workflow already. Change the installation, upgrade it, or uninstall it first.',
  );
  context.sources.wake();
  return { row, definition, hookUrl: token === undefined ? undefined : hookUrl(context, token) };
}

/**
 * Changes the given fields; `config` is replaced completely. A disabled installation starts no runs, and running ones
 * end.
 * @throws GatehouseError as install(), and `installation_not_found`.
 */
export async function updateInstallation(
  context: InstallContext,
  key: InstallationKey,
  changes: {
    config?: JsonObject | undefined;
    credentials?: Record<string, string> | undefined;
    enabled?: boolean | undefined;
  },
): Promise<{ row: InstallationRow; definition: Definition }> {
  const changed = await context.db.transaction().execute(async (tx) => {
    const row = await lockInstallation(tx, context, key);
    const definition = await definitionOf(tx, row);
    const enabled = changes.enabled ?? row.enabled === 1;
    const set: Updateable<Tables['workflow_installations']> = {
      enabled: enabled ? 1 : 0,
      updated_at: context.clock.now(),
    };
    if (changes.config !== undefined) {
      const config = checkedConfig(definition, changes.config, openConfig(context, row));
      set.config_sealed = sealConfig(context, row.installation_id, config);
    }
    let credentials: ReadonlyMap<string, Credential> = new Map();
    // Disabling must work even if an account no longer works.
    if (changes.credentials !== undefined || (enabled && row.enabled === 0)) {
      credentials = await chosenCredentials(tx, context, {
        owner: key,
        definition,
        named: changes.credentials ?? {},
        stored: credentialsIn(row.credentials),
      });
      set.credentials = idsOf(credentials);
    }
    if (set.credentials !== undefined || !enabled) {
      const before = { schedule: row.schedule, fireAt: row.fire_at, hookHash: row.hook_hash };
      Object.assign(set, await armTrigger(tx, context, { ...key, definition, credentials, enabled, before }));
    }
    const after = await tx
      .updateTable('workflow_installations')
      .set(set)
      .where('installation_id', '=', row.installation_id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await releaseFormerSource(tx, context, { before: row, after });
    await notifyAccountsChanged(tx, context, key);
    return { row: after, definition };
  });
  context.sources.wake();
  return changed;
}

/** Removes an installation and cancels its runs. @throws GatehouseError `installation_not_found` */
export async function uninstall(context: InstallContext, key: InstallationKey): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    const { source_id: sourceId } = await requireInstallation(tx, key);
    if (sourceId !== null) await lockSource(tx, sourceId);
    const row = await lockInstallation(tx, context, key);
    await cancelRunsOf(tx, context, row.installation_id);
    await tx
      .deleteFrom('workflow_installations')
      .where('installation_id', '=', row.installation_id)
      .execute();
    if (row.source_id !== null) await releaseIfUnconsumed(tx, context, row.source_id);
    await notifyAccountsChanged(tx, context, key);
  });
}

/**
 * Creates a new address for a `call` trigger and disables the old one at once.
 * @throws `installation_not_found`, `invalid_request`
 */
export async function rotateHook(context: InstallContext, key: InstallationKey): Promise<string> {
  const row = await requireInstallation(context.db, key);
  if (row.trigger_type !== 'call')
    throw invalidRequest([{ field: 'workflowId', rule: 'has no trigger of the type call' }], 'The path');
  const token = newRandomToken();
  await context.db
    .updateTable('workflow_installations')
    .set({ hook_hash: hashToken(context.hashKey, token), updated_at: context.clock.now() })
    .where('installation_id', '=', row.installation_id)
    .execute();
  return hookUrl(context, token);
}

/** Returns the installation of a `call` address. */
export async function installationOfHook(
  context: Pick<Context, 'db' | 'hashKey'>,
  token: string,
): Promise<InstallationRow | undefined> {
  if (!/^[0-9A-Za-z]{43}$/.test(token)) return undefined;
  return context.db
    .selectFrom('workflow_installations')
    .selectAll()
    .where('hook_hash', '=', hashToken(context.hashKey, token))
    .executeTakeFirst();
}

export async function findInstallation(
  db: DbOrTx,
  { environment, workflowId, userId }: InstallationKey,
): Promise<InstallationRow | undefined> {
  return db
    .selectFrom('workflow_installations')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .executeTakeFirst();
}

/** @throws GatehouseError `workflow_not_found`, `user_not_found`, `installation_not_found` */
export async function requireInstallation(db: DbOrTx, key: InstallationKey): Promise<InstallationRow> {
  await requireWorkflow(db, key.environment, key.workflowId);
  await requireUser(db, key.environment, key.userId);
  const row = await findInstallation(db, key);
  if (!row) throw installationNotFound();
  return row;
}

/** Locks the row until the transaction ends. @throws as requireInstallation() */
export async function lockInstallation(
  tx: Tx,
  { clock }: Pick<Context, 'clock'>,
  key: InstallationKey,
): Promise<InstallationRow> {
  const { installation_id: installationId } = await requireInstallation(tx, key);
  const row = await tx
    .updateTable('workflow_installations')
    .set({ updated_at: clock.now() })
    .where('installation_id', '=', installationId)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw installationNotFound();
  return row;
}

const ORDER: ListOrder = { columns: { created_at: 'whole', installation_id: 'id' }, direction: 'asc' };

/** Returns a page of a workflow's installations, oldest first, and the position where it ends. */
export async function listInstallations(
  db: DbOrTx,
  filter: PageRequest & { workflowId: string; userId?: string | undefined },
): Promise<PageEnd & { rows: InstallationRow[] }> {
  let query = db
    .selectFrom('workflow_installations')
    .selectAll()
    .where('workflow_id', '=', filter.workflowId);
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
  return readPage(query, ORDER, filter);
}

/** Returns the installation as the API answers it, with masked secrets. */
export function describeInstallation(
  context: Pick<Context, 'keys'>,
  row: InstallationRow,
  definition: Definition,
) {
  const config = openConfig(context, row);
  for (const name of secretFields(definition.configurableFields))
    if (config[name] !== undefined) config[name] = MASK;
  return {
    installationId: row.installation_id,
    workflowId: row.workflow_id,
    userId: row.user_id,
    version: row.version,
    previousVersion: row.previous_version,
    enabled: row.enabled === 1,
    config,
    credentials: credentialsIn(row.credentials),
    trigger: {
      type: row.trigger_type,
      ...(row.trigger_type === 'event' ? { listening: row.source_id !== null } : {}),
      ...(row.trigger_type === 'schedule' ? { nextAt: isoTime(row.fire_at) } : {}),
    },
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}

export async function definitionOf(
  db: DbOrTx,
  row: Pick<InstallationRow, 'workflow_id' | 'version'>,
): Promise<Definition> {
  const version = await findVersion(db, row.workflow_id, row.version);
  if (!version) throw versionNotFound(row.version);
  return version.definition;
}

/** Returns the configuration with defaults. @throws GatehouseError `invalid_request` with every fault by field. */
export function checkedConfig(
  { configurableFields }: Definition,
  given: JsonObject,
  before: JsonObject = {},
): JsonObject {
  const config = withDefaults(configurableFields, given);
  for (const name of secretFields(configurableFields)) {
    const value = before[name];
    if (config[name] === MASK && value !== undefined) config[name] = value;
  }
  const faults = configFaults(configurableFields, config);
  if (faults.length > 0) throw invalidRequest(faults, 'The configuration');
  return config;
}

/** Releases the source that a row no longer uses. */
export async function releaseFormerSource(
  tx: Tx,
  context: Pick<Context, 'clock'>,
  { before, after }: { before: InstallationRow; after: InstallationRow },
): Promise<void> {
  if (before.source_id !== null && before.source_id !== after.source_id)
    await releaseIfUnconsumed(tx, context, before.source_id);
}

function hookUrl({ publicUrl }: Pick<Context, 'publicUrl'>, token: string): string {
  return `${publicUrl}/hooks/workflows/${token}`;
}

export function installationNotFound(): GatehouseError {
  return new GatehouseError('installation_not_found', 'This user has not installed this workflow.');
}
