import type { Base } from '../../base.ts';
import { SECOND, isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { asObject, isJsonObject, parseJson, type Json, type JsonObject } from '../../lib/json.ts';
import { sourceRule } from '../scope/large-results.ts';
import { READ_FIRST } from '../answers/next-steps.ts';
import { ownerOf } from '../scope/grant.ts';
import { Rendered } from '../answers/rendered.ts';
import {
  actionsOf,
  changeTask,
  outcomeOf,
  questionsOf,
  readTask,
  type TaskChange,
  type TaskRow,
} from '../scope/task-rows.ts';
import type { ToolScope } from '../scope/tool.ts';

/* The methods of the extension Tasks: tasks/get, tasks/update, tasks/cancel. */

/** How often a client should look. */
const POLL_INTERVAL_MS = SECOND;

/**
 * Answers a method of a task.
 * @throws GatehouseError `not_found` for a task of another user, server or caller too; `restricted` when the server
 * denies an action of the task now.
 */
export async function answerTask(scope: ToolScope, method: string, params: JsonObject): Promise<Rendered> {
  const { context, grant, runningTasks } = scope;
  const taskId = String(params['taskId']);
  const row = await readTask(context, ownerOf(grant), taskId);
  if (!row) throw taskNotFound(taskId);
  if (method === 'tasks/cancel') {
    await changeTask(context, taskId, () => ({ status: 'cancelled' }));
    runningTasks.wake(taskId);
    return new Rendered('{}');
  }
  const denied = deniedIn(context, grant, row);
  if (denied) throw notAllowed(denied);
  if (method === 'tasks/get') return new Rendered(taskText(context, row));
  await changeTask(context, taskId, (current) => answered(context, current, params['inputResponses'] ?? {}));
  runningTasks.wake(taskId);
  return new Rendered('{}');
}

/** Returns the first action of a task that the server denies now, with the rule; undefined when it allows them all. */
export function deniedIn(
  context: Parameters<typeof sourceRule>[0],
  rights: Parameters<typeof sourceRule>[1],
  row: TaskRow,
): { name: string; rule: string } | undefined {
  for (const name of actionsOf(row)) {
    const at = name.indexOf('.');
    const source = { connectorId: name.slice(0, at), actionId: name.slice(at + 1) };
    const rule = sourceRule(context, rights, source);
    if (rule !== undefined) return { name, rule };
  }
  return undefined;
}

/** Returns a task with its questions, its result or its error, as JSON (DetailedTask). */
export function taskText(context: Pick<Base, 'keys'>, row: TaskRow): string {
  if (row.status === 'input_required') {
    const { requests } = questionsOf(context, row);
    return JSON.stringify({ ...taskView(row), inputRequests: requests });
  }
  if (row.status !== 'completed' && row.status !== 'failed') return JSON.stringify(taskView(row));
  const outcome = outcomeOf(context, row) ?? '{}';
  if (row.status === 'completed') return `${JSON.stringify(taskView(row)).slice(0, -1)},"result":${outcome}}`;
  const error = asObject(parseJson(outcome));
  return JSON.stringify({ ...taskView(row), statusMessage: error['message'] ?? null, error });
}

/** Returns the facts of a task (Task). */
export function taskView(row: TaskRow): JsonObject {
  const {
    task_id: taskId,
    status,
    created_at: createdAt,
    updated_at: updatedAt,
    expires_at: expiresAt,
  } = row;
  return {
    taskId,
    status,
    ...(status === 'cancelled' && row.may_write === 1 ? { statusMessage: READ_FIRST } : {}),
    createdAt: isoTime(createdAt),
    lastUpdatedAt: isoTime(updatedAt),
    ttlMs: expiresAt - createdAt,
    pollIntervalMs: POLL_INTERVAL_MS,
  };
}

/** Returns the change that stores answers to open questions. Ignores all others, as the extension wants. */
function answered(context: Pick<Base, 'keys'>, row: TaskRow, responses: Json): TaskChange | undefined {
  const { requests, answers } = questionsOf(context, row);
  const given = Object.entries(asObject(responses)).filter(
    (entry): entry is [string, JsonObject] => Object.hasOwn(requests, entry[0]) && isJsonObject(entry[1]),
  );
  if (given.length === 0) return undefined;
  const keys = new Set(given.map(([key]) => key));
  const left = Object.entries(requests).filter(([key]) => !keys.has(key));
  return {
    questions: { requests: Object.fromEntries(left), answers: { ...answers, ...Object.fromEntries(given) } },
  };
}

function notAllowed({ name, rule }: { name: string; rule: string }): GatehouseError {
  return new GatehouseError('restricted', `The rule ${rule} denies the action ${name} of this task.`, {
    details: { rule },
  });
}

function taskNotFound(taskId: string): GatehouseError {
  return new GatehouseError(
    'not_found',
    `There is no task "${taskId.slice(0, 100)}" here. A task stays for an hour after its last change.`,
  );
}
