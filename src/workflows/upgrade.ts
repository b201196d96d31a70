import { createHash } from 'node:crypto';
import { z } from 'zod';
import { publicError } from '../lib/errors.ts';
import { notifyAccountsChanged } from '../store/change-notes.ts';
import type { DbOrTx, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { credentialsIn, type InstallationRow } from './begin.ts';
import { compareFields, sameFields } from './configurable-fields.ts';
import {
  definitionOf,
  lockInstallation,
  releaseFormerSource,
  requireInstallation,
  type InstallationKey,
  type InstallContext,
} from './installations.ts';
import { chosenCredentials, idsOf } from './chosen-credentials.ts';
import { newestPublished, requireWorkflow } from './workflow-records.ts';
import { armTrigger } from './triggers.ts';

const fieldNames = z.array(z.string()).optional();

/** The result of an upgrade or of its dry run. `reason` is a sentence on why there is no upgrade. */
export const upgradeShape = z.object({
  upgraded: z.boolean(),
  from: z.int(),
  to: z.int(),
  reason: z.string().optional(),
  addedFields: fieldNames,
  removedFields: fieldNames,
  changedFields: fieldNames,
});
type Upgrade = z.infer<typeof upgradeShape>;

/**
 * Moves an installation to the newest published version, with its trigger, in one transaction.
 * Running runs finish on the version that they began with.
 * `upgraded` is false, with the reason, when the configurable fields differ or the version is the newest already.
 * @throws GatehouseError `workflow_not_found`, `user_not_found`, `installation_not_found`; those of
 * chooseCredential() when the newest version needs an app that is not connected, and the installation stays
 * unchanged.
 */
export async function upgrade(
  context: InstallContext,
  key: InstallationKey,
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<Upgrade> {
  if (dryRun) return plan(context.db, await requireInstallation(context.db, key));
  const done = await context.db.transaction().execute(async (tx) => {
    const row = await lockInstallation(tx, context, key);
    const planned = await plan(tx, row);
    if (planned.upgraded) await move(tx, context, { row, to: planned.to, previous: row.version });
    return planned;
  });
  if (done.upgraded) context.sources.wake();
  return done;
}

/**
 * Moves an installation back to the version that its last upgrade left.
 * @throws GatehouseError as upgrade().
 */
export async function rollback(
  context: InstallContext,
  key: InstallationKey,
): Promise<{ rolledBack: boolean; from: number; to: number; reason?: string }> {
  return context.db.transaction().execute(async (tx) => {
    const row = await lockInstallation(tx, context, key);
    const { version: from, previous_version: to } = row;
    if (to === null) {
      return { rolledBack: false, from, to: from, reason: 'It was not upgraded, or is rolled back already.' };
    }
    await move(tx, context, { row, to, previous: null });
    return { rolledBack: true, from, to };
  });
}

/** The results of upgradeAll(). `refused` and `failed` name at most 100 installations each. */
export const upgradeReportShape = z.object({
  to: z.int(),
  dryRun: z.boolean(),
  percent: z.number(),
  installations: z.int(),
  upgraded: z.int(),
  current: z.int().meta({ description: 'Installations that were already on the newest version.' }),
  left: z.int().meta({ description: 'Installations outside the percentage.' }),
  refused: z.array(z.object({ userId: z.string(), from: z.int(), reason: z.string() })),
  refusedCount: z.int(),
  failed: z.array(z.object({ userId: z.string(), from: z.int(), code: z.string(), error: z.string() })),
  failedCount: z.int(),
});
type UpgradeReport = z.infer<typeof upgradeReportShape>;

const MOST_NAMED = 100;
const AT_ONCE = 100;

/**
 * Upgrades the installations of a workflow, each in its own transaction. `percent` selects by a hash of the
 * installation. A larger percent therefore includes those of a smaller one, and a repeated call changes nothing.
 * @throws GatehouseError `workflow_not_found`
 */
export async function upgradeAll(
  context: InstallContext,
  { environment, workflowId }: { environment: Environment; workflowId: string },
  { percent = 100, dryRun = false }: { percent?: number | undefined; dryRun?: boolean | undefined },
): Promise<UpgradeReport> {
  const { latest } = await requireWorkflow(context.db, environment, workflowId);
  const report: UpgradeReport = {
    to: latest.version,
    dryRun,
    percent,
    installations: 0,
    upgraded: 0,
    current: 0,
    left: 0,
    refused: [],
    refusedCount: 0,
    failed: [],
    failedCount: 0,
  };
  let after = '';
  for (;;) {
    const rows = await context.db
      .selectFrom('workflow_installations')
      .select(['installation_id', 'user_id', 'version'])
      .where('workflow_id', '=', workflowId)
      .where('installation_id', '>', after)
      .orderBy('installation_id')
      .limit(AT_ONCE)
      .execute();
    for (const row of rows) {
      report.installations += 1;
      if (row.version === latest.version) report.current += 1;
      else if (shareOf(row.installation_id) >= percent) report.left += 1;
      else
        await upgradeOne(
          context,
          { environment, workflowId, userId: row.user_id },
          { report, from: row.version },
        );
    }
    const last = rows.at(-1);
    if (!last || rows.length < AT_ONCE) return report;
    after = last.installation_id;
  }
}

async function upgradeOne(
  context: InstallContext,
  key: InstallationKey,
  { report, from }: { report: UpgradeReport; from: number },
): Promise<void> {
  const { userId } = key;
  try {
    const done = await upgrade(context, key, report);
    if (done.upgraded) {
      report.upgraded += 1;
      return;
    }
    report.refusedCount += 1;
    if (report.refused.length < MOST_NAMED) report.refused.push({ userId, from, reason: done.reason ?? '' });
  } catch (thrown) {
    const { code, message } = publicError(thrown);
    // The installation was removed during this loop.
    if (code === 'installation_not_found' || code === 'user_not_found') return;
    report.failedCount += 1;
    if (report.failed.length < MOST_NAMED) report.failed.push({ userId, from, code, error: message });
  }
}

/** Returns a number from 0 to 100, constant for an installation. */
function shareOf(installationId: string): number {
  return (createHash('sha256').update(installationId).digest().readUInt32BE(0) / 2 ** 32) * 100;
}

async function plan(db: DbOrTx, row: InstallationRow): Promise<Upgrade> {
  const newest = await newestPublished(db, row.workflow_id);
  const from = row.version;
  const to = newest?.version ?? from;
  if (to === from) return { upgraded: false, from, to, reason: 'It is on the newest version already.' };
  const before = await definitionOf(db, row);
  const after = await definitionOf(db, { ...row, version: to });
  const fields = compareFields(before.configurableFields, after.configurableFields);
  if (sameFields(fields)) return { upgraded: true, from, to };
  const said = [
    ['added', fields.added],
    ['removed', fields.removed],
    ['changed', fields.changed],
  ] as const;
  const parts = said
    .filter(([, names]) => names.length > 0)
    .map(([how, names]) => `${how}: ${names.join(', ')}`);
  return {
    upgraded: false,
    from,
    to,
    reason:
      `Version ${to} has other configurable fields (${parts.join('; ')}). ` +
      'Uninstall the workflow for this user and install it again.',
    addedFields: fields.added,
    removedFields: fields.removed,
    changedFields: fields.changed,
  };
}

/** Changes the row's version, credentials and trigger, all or nothing. */
async function move(
  tx: Tx,
  context: InstallContext,
  { row, to, previous }: { row: InstallationRow; to: number; previous: number | null },
): Promise<void> {
  const definition = await definitionOf(tx, { ...row, version: to });
  const whose = { environment: row.environment, userId: row.user_id };
  const credentials = await chosenCredentials(tx, context, {
    owner: whose,
    definition,
    named: {},
    stored: credentialsIn(row.credentials),
    namedBy: `PUT /users/${row.user_id}/credentials/{credentialId} {"default": true}`,
  });
  const trigger = await armTrigger(tx, context, {
    ...whose,
    definition,
    credentials,
    enabled: row.enabled === 1,
    before: { schedule: row.schedule, fireAt: row.fire_at, hookHash: row.hook_hash },
  });
  const after = await tx
    .updateTable('workflow_installations')
    .set({
      version: to,
      previous_version: previous,
      credentials: idsOf(credentials),
      ...trigger,
      updated_at: context.clock.now(),
    })
    .where('installation_id', '=', row.installation_id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await releaseFormerSource(tx, context, { before: row, after });
  await notifyAccountsChanged(tx, context, whose);
}
