import type { Base } from '../../base.ts';
import { asObject, parseJson, type JsonObject } from '../../lib/json.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import type { Parties } from '../scope/grant.ts';
import { deniedIn, taskText } from '../server/task-methods.ts';
import { isLost, readTask } from '../scope/task-rows.ts';

/** Tasks in a statement. */
const MAX_IN_STATEMENT = 500;

/** The tasks that a watcher follows. */
export interface WatchedTasks {
  readonly owner: Parties;
  /** The version that was reported last, by task id; 0 before the first. A task that has ended is removed. */
  readonly versions: Map<string, number>;
}

/** A receiver of notifications about tasks. */
interface TaskWatcher {
  readonly live: LiveServer;
  readonly tasks?: WatchedTasks;
  notify(method: string, params?: JsonObject): void;
}

/** Notifies watchers of tasks that changed since the last time, with the whole task. */
export async function notifyOfTasks(
  context: Pick<Base, 'db' | 'clock' | 'keys' | 'catalog'>,
  watchers: readonly TaskWatcher[],
): Promise<void> {
  const following = watchers.filter(({ tasks }) => tasks && tasks.versions.size > 0);
  if (following.length === 0) return;
  const taskIds = [...new Set(following.flatMap(({ tasks }) => [...(tasks?.versions.keys() ?? [])]))];
  const changed = await versionsOf(context, taskIds);
  for (const watcher of following) {
    const { owner, versions } = watcher.tasks ?? {};
    for (const [taskId, before] of versions ?? []) {
      const version = changed.get(taskId);
      if (version === before) continue;
      const row = owner && (await readTask(context, owner, taskId));
      if (!row || row.lease_until === null) versions?.delete(taskId);
      else versions?.set(taskId, row.version);
      const { live } = watcher;
      if (row && !deniedIn(context, { environment: row.environment, live }, row))
        watcher.notify('notifications/tasks', asObject(parseJson(taskText(context, row))));
    }
  }
}

/** Returns the versions of tasks. A task whose process has died counts as changed. */
async function versionsOf(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  taskIds: readonly string[],
): Promise<Map<string, number>> {
  const versions = new Map<string, number>();
  for (let at = 0; at < taskIds.length; at += MAX_IN_STATEMENT) {
    const rows = await db
      .selectFrom('tasks')
      .select(['task_id', 'version', 'lease_until'])
      .where('task_id', 'in', taskIds.slice(at, at + MAX_IN_STATEMENT))
      .execute();
    for (const row of rows) versions.set(row.task_id, isLost(row, clock.now()) ? -1 : row.version);
  }
  return versions;
}
