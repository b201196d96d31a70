import type { Selectable } from 'kysely';
import type { Base } from '../base.ts';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { MAX_OFFSET, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { outcomeUnknown } from '../upstream/outcome.ts';
import type { RunRow } from './begin.ts';

type StepRow = Selectable<Tables['workflow_steps']>;

export const RUN_STATUSES = ['queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled'] as const;
const RUN_ID = /^run_[0-9A-Za-z]{22}$/;

/** The key of a run; with `userId` only a run of that user. */
export interface RunKey {
  environment: Environment;
  workflowId: string;
  runId: string;
  userId?: string | undefined;
}

/** @throws GatehouseError `run_not_found`, also for a run of another user, workflow or environment. */
export async function requireRun(db: DbOrTx, key: RunKey): Promise<RunRow> {
  const row = RUN_ID.test(key.runId)
    ? await db
        .selectFrom('workflow_runs')
        .selectAll()
        .where('run_id', '=', key.runId)
        .where('workflow_id', '=', key.workflowId)
        .where('environment', '=', key.environment)
        .executeTakeFirst()
    : undefined;
  if (row && (key.userId === undefined || row.user_id === key.userId)) return row;
  throw new GatehouseError('run_not_found', `There is no run "${key.runId.slice(0, 64)}" of this workflow.`);
}

/** Run ids sort by time. */
const ORDER: ListOrder = {
  columns: { run_id: 'id' },
  direction: 'desc',
  maxOffset: MAX_OFFSET,
};

/**
 * Returns a page of runs, newest first: of all workflows of an environment, or as filtered.
 * @throws GatehouseError `invalid_request` for an offset beyond 10,000, an invalid cursor, or both parameters
 * together.
 */
export async function listRuns(
  db: DbOrTx,
  filter: PageRequest & {
    environment: Environment;
    workflowId?: string | undefined;
    userId?: string | undefined;
    status?: RunRow['status'] | undefined;
  },
): Promise<PageEnd & { runs: RunRow[] }> {
  let query = db.selectFrom('workflow_runs').selectAll().where('environment', '=', filter.environment);
  if (filter.workflowId !== undefined) query = query.where('workflow_id', '=', filter.workflowId);
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
  if (filter.status !== undefined) query = query.where('status', '=', filter.status);
  const { rows: runs, ...end } = await readPage(query, ORDER, filter);
  return { runs, ...end };
}

/** Returns a run as lists show it. */
export function describeRun(row: RunRow) {
  return {
    runId: row.run_id,
    workflowId: row.workflow_id,
    installationId: row.installation_id,
    userId: row.user_id,
    version: row.version,
    ...(row.step_id === null ? {} : { stepId: row.step_id }),
    status: row.status,
    trigger: row.trigger_type,
    createdAt: isoTime(row.created_at),
    startedAt: isoTime(row.started_at),
    endedAt: isoTime(row.ended_at),
    ...(row.status === 'waiting' ? { nextAt: isoTime(row.next_at) } : {}),
    ...(row.error === null ? {} : { error: parseJson(row.error) }),
  };
}

/** Limit of for-each items in a run's description. */
const MAX_ITEMS = 100;

/**
 * Returns a run with its log: its trigger, and each step with input and output, without secrets.
 * When a run has ended and its lease has expired, a `running` step is from a process that died. It is shown as failed,
 * with an unknown outcome.
 */
export async function describeWholeRun({ db, clock }: Pick<Base, 'db' | 'clock'>, row: RunRow) {
  const abandonedAt = row.ended_at !== null && row.next_at <= clock.now() ? row.next_at : undefined;
  const steps = await db
    .selectFrom('workflow_steps')
    .selectAll()
    .where('run_id', '=', row.run_id)
    .where('item', '=', -1)
    .orderBy('position')
    .execute();
  const views = [];
  for (const step of steps) {
    const { counts, items } = await itemsOf(db, step);
    // The items of a for-each make its calls.
    const calls = counts.size === 0 || counts.has('running');
    views.push({
      ...describeStep(asEnded(step, abandonedAt, calls)),
      ...(counts.size === 0
        ? {}
        : {
            itemCounts: countsAsEnded(counts, abandonedAt),
            items: items.map((one) => ({ item: one.item, ...describeStep(asEnded(one, abandonedAt)) })),
          }),
    });
  }
  return { ...describeRun(row), triggerValue: parseJson(row.trigger), steps: views };
}

/** Returns the number of a for-each's items by status, and the first items. */
async function itemsOf(
  db: DbOrTx,
  { run_id: runId, position }: StepRow,
): Promise<{ counts: Map<StepRow['status'], number>; items: StepRow[] }> {
  const ofStep = db
    .selectFrom('workflow_steps')
    .where('run_id', '=', runId)
    .where('position', '=', position)
    .where('item', '>=', 0);
  const counted = await ofStep
    .select((e) => ['status', e.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute();
  if (counted.length === 0) return { counts: new Map(), items: [] };
  return {
    counts: new Map(counted.map(({ status, count }) => [status, Number(count)])),
    items: await ofStep.selectAll().orderBy('item').limit(MAX_ITEMS).execute(),
  };
}

const { code, message, details } = outcomeUnknown(
  'The process ended during this call, and the run did not continue: the call may have taken effect. Check ' +
    'the app before you repeat it.',
);
const ABANDONED = JSON.stringify({ code, error: message, details });

/** Derives the state of an abandoned step; it is not stored, because no process continues a run that has ended. */
function asEnded(row: StepRow, abandonedAt: number | undefined, calls = true): StepRow {
  if (abandonedAt === undefined || row.status !== 'running') return row;
  const ended = { ...row, ended_at: abandonedAt };
  return calls ? { ...ended, status: 'failed', error: ABANDONED } : { ...ended, status: 'cancelled' };
}

function countsAsEnded(
  counts: Map<StepRow['status'], number>,
  abandonedAt: number | undefined,
): Partial<Record<StepRow['status'], number>> {
  const { running = 0, failed = 0, ...others } = Object.fromEntries(counts);
  if (abandonedAt === undefined || running === 0) return Object.fromEntries(counts);
  return { ...others, failed: failed + running };
}

function describeStep(row: StepRow) {
  return {
    stepId: row.step_id,
    status: row.status,
    attempts: row.attempts,
    startedAt: isoTime(row.started_at),
    endedAt: isoTime(row.ended_at),
    ...(row.input === null ? {} : { input: parseJson(row.input) }),
    ...(row.output === null ? {} : { output: parseJson(row.output) }),
    ...(row.error === null ? {} : { error: parseJson(row.error) }),
  };
}
