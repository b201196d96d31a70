import { expect } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import type { RpcAnswer } from './mcp.ts';
import { modern, type ModernOptions } from './modern.ts';

export const TASKS = 'io.modelcontextprotocol/tasks';
/** The capabilities of a client that takes tasks and asks its user. */
export const TAKES_TASKS: JsonObject = { extensions: { [TASKS]: {} }, elicitation: {} };

/** POSTs a request of a client that declares the extension Tasks. */
export function withTasks(
  url: string,
  method: string,
  params: JsonObject,
  options: ModernOptions = {},
): Promise<RpcAnswer> {
  return modern(url, method, params, { capabilities: TAKES_TASKS, ...options });
}

/** Calls a tool as such a client. */
export function callAsTask(
  url: string,
  name: string,
  args: JsonObject = {},
  options: ModernOptions = {},
): Promise<RpcAnswer> {
  return withTasks(url, 'tools/call', { name, arguments: args }, options);
}

/** Reads a task until it has a status, and returns the answer. */
export async function taskIn(url: string, taskId: string, status: string): Promise<RpcAnswer> {
  let last: RpcAnswer | undefined;
  await expect
    .poll(
      async () => {
        last = await withTasks(url, 'tasks/get', { taskId });
        return last.at('result.status') ?? last.body;
      },
      { timeout: 20_000, interval: 50 },
    )
    .toBe(status);
  if (!last) throw new Error('the task was not read');
  return last;
}

/** Returns the id of the task that answered a call. */
export function taskIdOf(answer: RpcAnswer): string {
  expect(answer.body).toMatchObject({ result: { resultType: 'task' } });
  return String(answer.at('result.taskId'));
}
