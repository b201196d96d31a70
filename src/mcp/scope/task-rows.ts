import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from 'kysely';
import { z } from 'zod';
import type { Base } from '../../base.ts';
import { HOUR } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { LEASE_MS } from '../../runtime/lease.ts';
import type { Tables } from '../../store/schema.ts';
import { boundTo } from '../../store/sealed-columns.ts';
import type { Parties } from './grant.ts';
import { outcomeUnknown } from '../../upstream/outcome.ts';

/** How long a task stays after its last change. */
const TTL_MS = HOUR;
const ACTIVE = ['working', 'input_required'] as const;

type RowContext = Pick<Base, 'db' | 'clock' | 'keys'>;

export type TaskRow = Tables['tasks'];

/** The actions that a call ran. */
export interface TaskActions {
  /** As `connector.action`. */
  actions: readonly string[];
  mayWrite: boolean;
}

const questions = z.object({
  /** Questions that the client has not answered, in MCP's wire form, by their key. */
  requests: z.record(z.string(), z.object({ method: z.string(), params: z.record(z.string(), z.json()) })),
  /** Answers that the process of the call may not have read yet, by the key of their question. */
  answers: z.record(z.string(), z.record(z.string(), z.json())),
});
/** The questions of a call to its client. */
export type TaskQuestions = z.infer<typeof questions>;

/** A change of a task. */
export type TaskChange =
  | { actions: TaskActions }
  | { questions: TaskQuestions }
  /** `outcome`: the result, or the error of a failed task, as JSON. */
  | { status: 'completed' | 'failed'; outcome: string }
  | { status: 'cancelled' };

/** Stores the task of a call that runs in this process. */
export async function createTask(
  { db, clock }: RowContext,
  { environment, serverId, userId, caller }: Parties,
  { taskId, actions }: { taskId: string; actions: TaskActions },
): Promise<TaskRow> {
  const now = clock.now();
  const row: TaskRow = {
    task_id: taskId,
    environment,
    server_id: serverId,
    user_id: userId ?? null,
    caller,
    status: 'working',
    ...columnsOf(actions),
    sealed: null,
    bytes: 0,
    version: 1,
    lease_until: now + LEASE_MS,
    expires_at: now + TTL_MS,
    created_at: now,
    updated_at: now,
  };
  await db.insertInto('tasks').values(row).execute();
  return row;
}

/** Returns how many tasks of an owner are stored, and the bytes of their results. */
export async function storedTasks(
  { db, clock }: Pick<RowContext, 'db' | 'clock'>,
  owner: Parties,
): Promise<{ count: number; bytes: number }> {
  const { count, bytes } = await db
    .selectFrom('tasks')
    .select((e) => [
      e.fn.countAll<number>().as('count'),
      e.fn.coalesce(e.fn.sum<number>('bytes'), e.lit(0)).as('bytes'),
    ])
    .where(isOf(owner))
    .where('expires_at', '>', clock.now())
    .executeTakeFirstOrThrow();
  return { count: Number(count), bytes: Number(bytes) };
}

/**
 * Returns a task of this owner; undefined for any other. A task whose process has died is ended first: it fails, and
 * says whether the call may have had its effect.
 */
export async function readTask(
  context: RowContext,
  owner: Parties,
  taskId: string,
): Promise<TaskRow | undefined> {
  const { db, clock } = context;
  for (;;) {
    const row = await db
      .selectFrom('tasks')
      .selectAll()
      .where('task_id', '=', taskId)
      .where(isOf(owner))
      .where('expires_at', '>', clock.now())
      .executeTakeFirst();
    if (!row || !isLost(row, clock.now())) return row;
    await changeTask(context, taskId, (current) =>
      isLost(current, clock.now()) ? ended(current) : undefined,
    );
  }
}

/** Returns whether the process that ran a call has died. */
export function isLost({ lease_until: until }: Pick<TaskRow, 'lease_until'>, now: number): boolean {
  return until !== null && until <= now;
}

/**
 * Changes a task that has not ended, and returns its new row; undefined for one that has ended or is gone. `change` is
 * called again when another request changed the task at the same time. It returns undefined to leave the task as it is.
 */
export async function changeTask(
  context: RowContext,
  taskId: string,
  change: (row: TaskRow) => TaskChange | undefined,
): Promise<TaskRow | undefined> {
  const { db, clock } = context;
  for (;;) {
    const now = clock.now();
    const row = await db
      .selectFrom('tasks')
      .selectAll()
      .where('task_id', '=', taskId)
      .where('status', 'in', ACTIVE)
      .where('expires_at', '>', now)
      .executeTakeFirst();
    const made = row && change(row);
    if (!row || !made) return row;
    const columns = {
      ...changedColumns(context, row, made),
      version: row.version + 1,
      updated_at: now,
      expires_at: now + TTL_MS,
    };
    const changed = await db
      .updateTable('tasks')
      .set(columns)
      .where('task_id', '=', taskId)
      .where('version', '=', row.version)
      .where('status', 'in', ACTIVE)
      .returning('task_id')
      .executeTakeFirst();
    if (changed) return { ...row, ...columns };
  }
}

/** Extends the leases of calls that run in this process. */
export async function renewTasks(
  { db, clock }: Pick<RowContext, 'db' | 'clock'>,
  taskIds: readonly string[],
): Promise<void> {
  if (taskIds.length === 0) return;
  await db
    .updateTable('tasks')
    .set({ lease_until: clock.now() + LEASE_MS })
    .where('task_id', 'in', taskIds)
    .where('status', 'in', ACTIVE)
    .execute();
}

/** Returns the versions of those of the tasks that have not ended. */
export async function activeVersions(
  { db, clock }: Pick<RowContext, 'db' | 'clock'>,
  taskIds: readonly string[],
): Promise<Map<string, number>> {
  if (taskIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('tasks')
    .select(['task_id', 'version'])
    .where('task_id', 'in', taskIds)
    .where('status', 'in', ACTIVE)
    .where('expires_at', '>', clock.now())
    .execute();
  return new Map(rows.map(({ task_id: taskId, version }) => [taskId, version]));
}

/** Returns the questions of a task that has not ended. */
export function questionsOf({ keys }: Pick<RowContext, 'keys'>, row: TaskRow): TaskQuestions {
  if (row.sealed === null) return { requests: {}, answers: {} };
  return keys.openJson(questions, row.sealed, boundTo('tasks.sealed', row));
}

/** Returns the result or the error of a task that has ended, as JSON; undefined without one. */
export function outcomeOf({ keys }: Pick<RowContext, 'keys'>, row: TaskRow): string | undefined {
  return row.sealed === null ? undefined : keys.open(row.sealed, boundTo('tasks.sealed', row));
}

/** Returns the actions that the call of a task ran, as `connector.action`. */
export function actionsOf({ actions }: Pick<TaskRow, 'actions'>): string[] {
  return z.array(z.string()).parse(JSON.parse(actions));
}

/** Returns the change that ends a task whose process ends, or has ended, before the call. */
export function ended({ may_write: mayWrite }: Pick<TaskRow, 'may_write'>): TaskChange {
  const { rpcCode, message, code, details } =
    mayWrite === 1
      ? outcomeUnknown(
          'The process that ran this call ended before it had an answer, so whether the call took effect is unknown. ' +
            'Check the app before you repeat it.',
        )
      : new GatehouseError(
          'unavailable',
          'The process that ran this call ended before it had an answer. The call changed nothing, so make it again.',
        );
  const error = { code: rpcCode, message, data: { code, ...details } };
  return { status: 'failed', outcome: JSON.stringify(error) };
}

function changedColumns(
  { keys }: Pick<RowContext, 'keys'>,
  row: TaskRow,
  change: TaskChange,
): Partial<TaskRow> {
  const bound = boundTo('tasks.sealed', row);
  if ('actions' in change) return columnsOf(change.actions);
  if ('questions' in change) {
    const isWaiting = Object.keys(change.questions.requests).length > 0;
    return {
      status: isWaiting ? 'input_required' : 'working',
      sealed: keys.sealJson(change.questions, bound),
    };
  }
  const { status } = change;
  const outcome = 'outcome' in change ? change.outcome : undefined;
  return {
    status,
    sealed: outcome === undefined ? null : keys.seal(outcome, bound),
    bytes: outcome === undefined ? 0 : Buffer.byteLength(outcome),
    lease_until: null,
  };
}

function columnsOf({ actions, mayWrite }: TaskActions): Pick<TaskRow, 'actions' | 'may_write'> {
  return { actions: JSON.stringify(actions), may_write: mayWrite ? 1 : 0 };
}

function isOf({ environment, serverId, userId, caller }: Parties) {
  return (e: ExpressionBuilder<Tables, 'tasks'>): ExpressionWrapper<Tables, 'tasks', SqlBool> =>
    e.and([
      e('environment', '=', environment),
      e('server_id', '=', serverId),
      userId === undefined ? e('user_id', 'is', null) : e('user_id', '=', userId),
      e('caller', '=', caller),
    ]);
}
