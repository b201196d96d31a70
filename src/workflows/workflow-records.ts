import type { Selectable } from 'kysely';
import type { Base } from '../base.ts';
import { lockSource, releaseIfUnconsumed } from '../sources/consumers.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Json } from '../lib/json.ts';
import { orExists } from '../store/open-database.ts';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { checkedDefinition } from './check.ts';
import { storedDefinition, type Definition } from './workflow-definition.ts';

type WorkflowContext = Pick<Base, 'db' | 'clock' | 'catalog'>;

/** A workflow with its newest published version; with its draft when nothing is published. */
export type Workflow = ReturnType<typeof toWorkflow>;

/** A version of a workflow. Published versions never change. Times are epoch milliseconds. */
export type Version = ReturnType<typeof toVersion>;

export interface NewWorkflow {
  environment: Environment;
  name: string;
  definition: Json;
  draft?: boolean | undefined;
}

const WORKFLOW_ID = /^wf_[0-9A-Za-z]{22}$/;

/** @throws GatehouseError `workflow_exists` when the name is taken, `invalid_request` with the faults by path. */
export async function createWorkflow(context: WorkflowContext, input: NewWorkflow): Promise<Workflow> {
  const { environment, name, draft = false } = input;
  const definition = await checkedDefinition(context, environment, input.definition);
  const now = context.clock.now();
  const workflowId = newId('wf');
  await orExists(
    context.db.transaction().execute(async (tx) => {
      await tx
        .insertInto('workflows')
        .values({
          workflow_id: workflowId,
          environment,
          name,
          name_key: name.toLowerCase(),
          created_at: now,
          updated_at: now,
        })
        .execute();
      await insertVersion(tx, { workflowId, version: 1, draft, definition, now });
    }),
    'workflow_exists',
    `A workflow of this environment has the name "${name}".`,
  );
  return requireWorkflow(context.db, environment, workflowId);
}

/**
 * Adds a version. The next version replaces a draft, under the draft's number.
 * @throws GatehouseError `workflow_not_found`, `invalid_request` with the faults by path.
 */
export async function addVersion(
  context: WorkflowContext,
  input: { environment: Environment; workflowId: string; definition: Json; draft: boolean },
): Promise<Version> {
  const { environment, workflowId, draft } = input;
  await requireWorkflow(context.db, environment, workflowId);
  const definition = await checkedDefinition(context, environment, input.definition);
  return context.db.transaction().execute(async (tx) => {
    const newest = await lockWorkflow(tx, context, workflowId);
    const version = newest.draft ? newest.version : newest.version + 1;
    if (newest.draft) await deleteVersion(tx, workflowId, version);
    const now = context.clock.now();
    await insertVersion(tx, { workflowId, version, draft, definition, now });
    return { version, draft, definition, createdAt: now };
  });
}

/** Publishes the draft. @throws GatehouseError `workflow_version_not_found`, `invalid_request` */
export async function publishVersion(
  context: WorkflowContext,
  input: { environment: Environment; workflowId: string; version: number },
): Promise<Version> {
  const { environment, workflowId, version } = input;
  const found = await requireVersion(context.db, { environment, workflowId, version });
  if (!found.draft) throw invalidRequest([{ field: 'version', rule: 'is already published' }]);
  // Connectors or actions that it names may have been removed since.
  await checkedDefinition(context, environment, JSON.parse(JSON.stringify(found.definition)));
  return context.db.transaction().execute(async (tx) => {
    await lockWorkflow(tx, context, workflowId);
    const { numUpdatedRows } = await tx
      .updateTable('workflow_versions')
      .set({ draft: 0, updated_at: context.clock.now() })
      .where('workflow_id', '=', workflowId)
      .where('version', '=', version)
      .where('draft', '=', 1)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw versionNotFound(version);
    return { ...(await requireVersion(tx, { environment, workflowId, version })) };
  });
}

/** Deletes a workflow with its versions, installations and runs. @throws GatehouseError `workflow_not_found` */
export async function deleteWorkflow(
  context: Pick<Base, 'db' | 'clock'>,
  environment: Environment,
  workflowId: string,
): Promise<void> {
  await requireWorkflow(context.db, environment, workflowId);
  await context.db.transaction().execute(async (tx) => {
    // A concurrent installation waits for the end of this transaction and then finds no workflow.
    const { numUpdatedRows } = await tx
      .updateTable('workflows')
      .set({ updated_at: context.clock.now() })
      .where('workflow_id', '=', workflowId)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw workflowNotFound(workflowId);
    const sources = await tx
      .selectFrom('workflow_installations')
      .select('source_id')
      .distinct()
      .where('workflow_id', '=', workflowId)
      .where('source_id', 'is not', null)
      .orderBy('source_id')
      .execute();
    for (const { source_id: sourceId } of sources) if (sourceId !== null) await lockSource(tx, sourceId);
    await tx.deleteFrom('workflows').where('workflow_id', '=', workflowId).execute();
    for (const { source_id: sourceId } of sources)
      if (sourceId !== null) await releaseIfUnconsumed(tx, context, sourceId);
  });
}

/** @throws GatehouseError `workflow_not_found`, also for a workflow of the other environment. */
export async function requireWorkflow(
  db: DbOrTx,
  environment: Environment,
  workflowId: string,
): Promise<Workflow> {
  const row = WORKFLOW_ID.test(workflowId)
    ? await db
        .selectFrom('workflows')
        .selectAll()
        .where('workflow_id', '=', workflowId)
        .where('environment', '=', environment)
        .executeTakeFirst()
    : undefined;
  const latest = row && (await latestVersion(db, workflowId));
  if (!row || !latest) throw workflowNotFound(workflowId);
  return toWorkflow(row, latest);
}

const ORDER: ListOrder = { columns: { created_at: 'whole', workflow_id: 'id' }, direction: 'asc' };

/** Returns a page of workflows, oldest first, and the position where it ends. */
export async function listWorkflows(
  db: DbOrTx,
  environment: Environment,
  page: PageRequest,
): Promise<PageEnd & { workflows: Workflow[] }> {
  const query = db.selectFrom('workflows').selectAll().where('environment', '=', environment);
  const { rows: found, ...end } = await readPage(query, ORDER, page);
  const workflows: Workflow[] = [];
  for (const row of found) {
    const latest = await latestVersion(db, row.workflow_id);
    if (latest) workflows.push(toWorkflow(row, latest));
  }
  return { workflows, ...end };
}

/** Returns the newest published version, else the draft. */
async function latestVersion(db: DbOrTx, workflowId: string): Promise<Version | undefined> {
  const row = await db
    .selectFrom('workflow_versions')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .orderBy('draft')
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toVersion(row);
}

/** Returns the newest published version, which installations use. */
export async function newestPublished(db: DbOrTx, workflowId: string): Promise<Version | undefined> {
  const latest = await latestVersion(db, workflowId);
  return latest?.draft === false ? latest : undefined;
}

/** @throws GatehouseError `workflow_not_found`, `workflow_version_not_found` */
export async function requireVersion(
  db: DbOrTx,
  { environment, workflowId, version }: { environment: Environment; workflowId: string; version: number },
): Promise<Version> {
  await requireWorkflow(db, environment, workflowId);
  const found = await findVersion(db, workflowId, version);
  if (!found) throw versionNotFound(version);
  return found;
}

export async function findVersion(
  db: DbOrTx,
  workflowId: string,
  version: number,
): Promise<Version | undefined> {
  const row = await db
    .selectFrom('workflow_versions')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .where('version', '=', version)
    .executeTakeFirst();
  return row && toVersion(row);
}

const VERSIONS: ListOrder = { columns: { version: 'whole' }, direction: 'desc' };

/** Returns a page of versions, newest first, and the position where it ends. */
export async function listVersions(
  db: DbOrTx,
  workflowId: string,
  page: PageRequest,
): Promise<PageEnd & { versions: Version[] }> {
  const query = db.selectFrom('workflow_versions').selectAll().where('workflow_id', '=', workflowId);
  const { rows, ...end } = await readPage(query, VERSIONS, page);
  return { versions: rows.map(toVersion), ...end };
}

/** Locks the versions of a workflow against concurrent changes. Returns the newest one, drafts included. */
async function lockWorkflow(
  tx: DbOrTx,
  { clock }: Pick<Base, 'clock'>,
  workflowId: string,
): Promise<{ version: number; draft: boolean }> {
  await tx
    .updateTable('workflows')
    .set({ updated_at: clock.now() })
    .where('workflow_id', '=', workflowId)
    .execute();
  const row = await tx
    .selectFrom('workflow_versions')
    .select(['version', 'draft'])
    .where('workflow_id', '=', workflowId)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!row) throw workflowNotFound(workflowId);
  return { version: row.version, draft: row.draft === 1 };
}

async function insertVersion(
  tx: DbOrTx,
  {
    workflowId,
    version,
    draft,
    definition,
    now,
  }: { workflowId: string; version: number; draft: boolean; definition: Definition; now: number },
): Promise<void> {
  await tx
    .insertInto('workflow_versions')
    .values({
      workflow_id: workflowId,
      version,
      definition: JSON.stringify(definition),
      draft: draft ? 1 : 0,
      created_at: now,
      updated_at: now,
    })
    .execute();
}

async function deleteVersion(tx: DbOrTx, workflowId: string, version: number): Promise<void> {
  await tx
    .deleteFrom('workflow_versions')
    .where('workflow_id', '=', workflowId)
    .where('version', '=', version)
    .execute();
}

function toWorkflow(row: Selectable<Tables['workflows']>, latest: Version) {
  return {
    workflowId: row.workflow_id,
    environment: row.environment,
    name: row.name,
    latest,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toVersion(row: Selectable<Tables['workflow_versions']>) {
  return {
    version: row.version,
    draft: row.draft === 1,
    definition: storedDefinition(row.definition),
    createdAt: row.created_at,
  };
}

export function workflowNotFound(workflowId: string): GatehouseError {
  return new GatehouseError('workflow_not_found', `There is no workflow "${workflowId.slice(0, 64)}".`);
}

export function versionNotFound(version: number): GatehouseError {
  return new GatehouseError('workflow_version_not_found', `This workflow has no version ${version}.`);
}
