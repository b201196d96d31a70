import { GatehouseError } from '../../lib/errors.ts';
import { asObject, isJsonObject, type Json } from '../../lib/json.ts';

/*
 * The extension Tasks of MCP 2026-07-28 (SEP-2663): a tools/call that takes long is answered with a task, which the
 * client polls.
 */

/** Id of the extension. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** The methods of the extension. Each names its task by `params.taskId`. */
export const TASK_METHODS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);

/** Returns whether a client declared the extension. */
export function declaresTasks(capabilities: Json | undefined): boolean {
  const { extensions } = asObject(capabilities);
  return extensions !== undefined && isJsonObject(asObject(extensions)[TASKS]);
}

/** Returns the error for a request that only clients with the extension can make (-32021). */
export function tasksMissing(what: string): GatehouseError {
  return new GatehouseError(
    'client_capability_missing',
    `${what} is for clients that declare the extension ${TASKS}.`,
    { details: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
  );
}
