import type { Context } from './context.ts';
import { requireEnabled } from '../identity/users.ts';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { DbOrTx } from '../store/schema.ts';
import { assertQueueNotFull, beginRun, type Occasion, type RunRow } from './begin.ts';
import type { Trigger } from './workflow-definition.ts';
import { checkedInput } from './configurable-fields.ts';
import { definitionOf, requireInstallation, type InstallationKey } from './installations.ts';
import { endLive } from './cancel-runs.ts';
import { requireRun, type RunKey } from './run-log.ts';

export type RunsContext = Pick<Context, 'db' | 'clock' | 'keys' | 'runs' | 'catalog'>;

/** The starter of a run, for its record. */
export type Starter = Pick<Occasion, 'caller' | 'requestId' | 'serverId' | 'dedupe' | 'request'>;

/**
 * Queues a run of an installation for a caller. `input` is that of a manual trigger.
 * For other triggers it replaces the record of an event or the body of a call.
 * @throws GatehouseError as requireInstallation(); `forbidden` for a disabled user, `installation_disabled`,
 * `invalid_request` by field, `idempotency_conflict`, `rate_limited`.
 */
export async function startRun(
  context: RunsContext,
  key: InstallationKey,
  { input, ...starter }: Starter & { input?: Json | undefined },
): Promise<string> {
  const row = await requireInstallation(context.db, key);
  await requireEnabled(context.db, row.environment, row.user_id);
  if (row.enabled !== 1) throw disabled();
  const { trigger } = await definitionOf(context.db, row);
  const occasion = { ...starter, byHand: true, trigger: triggerValue(trigger, input, context.clock.now()) };
  await assertQueueNotFull(context.db, row);
  const { runId } = await beginRun(context.db, context, { installation: row, occasion });
  context.runs.wake();
  return runId;
}

/** Returns the value `trigger` of a run that a caller starts. */
export function triggerValue(trigger: Trigger, input: Json | undefined, now: number): Occasion['trigger'] {
  switch (trigger.type) {
    case 'manual':
      return { type: 'manual', input: checkedInput(trigger.inputSchema, input) };
    case 'schedule':
      return { type: 'schedule', scheduledAt: isoTime(now) };
    case 'call':
      return { type: 'call', body: input ?? null, query: {} };
    default: {
      const event = trigger.events?.[0] ?? 'created';
      return { type: 'event', scope: trigger.scope, event, data: input ?? {} };
    }
  }
}

/**
 * Cancels a run before its next step. A running step is finished and recorded.
 * @throws GatehouseError `run_not_found`, `run_ended`
 */
export async function cancelRun(context: RunsContext, key: RunKey): Promise<void> {
  const run = await requireRun(context.db, key);
  await context.db.transaction().execute(async (tx) => {
    const ended = await endLive(tx, context, (runs) => runs.where('run_id', '=', run.run_id));
    if (ended === 0) throw new GatehouseError('run_ended', 'This run has ended already.');
  });
  context.runs.wake();
}

/**
 * Continues a failed run from the failed step, with the same version, configuration and results so far.
 * The step sends the same input under a new idempotency key.
 * @throws GatehouseError `run_not_found`, `run_not_failed`, `forbidden` for a disabled user,
 * `installation_not_found`, `installation_disabled`
 */
export async function retryRun(context: RunsContext, key: RunKey): Promise<void> {
  const run = await requireRun(context.db, key);
  const { clock } = context;
  await context.db.transaction().execute(async (tx) => {
    const now = clock.now();
    const taken = await tx
      .updateTable('workflow_runs')
      .set({ status: 'queued', error: null, ended_at: null, next_at: now, updated_at: now })
      .where('run_id', '=', run.run_id)
      .where('status', '=', 'failed')
      .returningAll()
      .executeTakeFirst();
    if (!taken) {
      throw new GatehouseError(
        'run_not_failed',
        `Only a failed run can be retried; this one is ${run.status}.`,
      );
    }
    await requireEnabled(tx, taken.environment, taken.user_id);
    await assertMayGoOn(tx, taken);
    const failed = tx
      .updateTable('workflow_steps')
      .set((e) => ({ status: 'waiting', attempts: 0, generation: e('generation', '+', 1), error: null }))
      .where('run_id', '=', taken.run_id)
      .where('position', '=', taken.position)
      .where('status', '=', 'failed')
      .where('sealed', 'is not', null);
    await failed.execute();
    // The effect of a dead process's call is unknown. It keeps its key, so an app that knows the key runs it once.
    await tx
      .updateTable('workflow_steps')
      .set({ status: 'waiting', attempts: 0 })
      .where('run_id', '=', taken.run_id)
      .where('position', '=', taken.position)
      .where('status', '=', 'running')
      .execute();
    // A step that failed before anything was sent, for example in an expression, is evaluated again.
    await tx
      .deleteFrom('workflow_steps')
      .where('run_id', '=', taken.run_id)
      .where('position', '=', taken.position)
      .where('status', '=', 'failed')
      .where('sealed', 'is', null)
      .where('item', '=', -1)
      .execute();
  });
  context.runs.wake();
}

async function assertMayGoOn(tx: DbOrTx, run: RunRow): Promise<void> {
  // A trial run of a draft needs no installation.
  if (run.credentials !== null) return;
  const row =
    run.installation_id === null
      ? undefined
      : await tx
          .selectFrom('workflow_installations')
          .select('enabled')
          .where('installation_id', '=', run.installation_id)
          .executeTakeFirst();
  if (!row) throw new GatehouseError('installation_not_found', 'The workflow was uninstalled since.');
  if (row.enabled !== 1) throw disabled();
}

export function disabled(): GatehouseError {
  return new GatehouseError('installation_disabled', 'This installation is disabled.', {
    fix: 'Enable it with PUT …/install {"enabled": true}.',
  });
}
