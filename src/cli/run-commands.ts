import { asObject, type JsonObject } from '../lib/json.ts';
import { errorText, idOf, listRecords, runsAt, USERS, WORKFLOWS, type ListPart } from './record-kinds.ts';
import type { Service } from './service.ts';
import { shortTime, tableOf, textOf, type Column } from './table.ts';

export interface RunOptions {
  user: string;
  json?: boolean;
}

/** Runs `gatehouse workflows run`: queues a run of an installed workflow, which a serving Gatehouse takes. */
export async function runWorkflow(
  service: Service,
  { workflow, input }: { workflow: string; input: JsonObject },
  { user, json }: RunOptions,
): Promise<number> {
  const workflowId = await idOf(service, WORKFLOWS, workflow);
  const userId = await idOf(service, USERS, user);
  const answer = asObject(
    await service.request({
      method: 'POST',
      path: `/workflows/${encodeURIComponent(workflowId)}/run`,
      query: { userId },
      body: Object.keys(input).length > 0 ? { input } : {},
    }),
  );
  process.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${textOf(answer['runId'])}\n`);
  process.stderr.write(
    `Its steps: gatehouse workflows logs ${workflowId} --run ${textOf(answer['runId'])}\n`,
  );
  return 0;
}

export interface LogOptions {
  run?: string;
  user?: string;
  page: ListPart;
  json?: boolean;
}

/** Runs `gatehouse workflows logs`: prints the newest runs of a workflow, or the steps of one run. */
export async function workflowLogs(service: Service, workflow: string, options: LogOptions): Promise<number> {
  const workflowId = await idOf(service, WORKFLOWS, workflow);
  const path = `/workflows/${encodeURIComponent(workflowId)}/runs`;
  if (options.run !== undefined) {
    const run = asObject(await service.request({ path: `${path}/${encodeURIComponent(options.run)}` }));
    process.stdout.write(options.json ? `${JSON.stringify(run)}\n` : textOfRun(run));
    return 0;
  }
  const userId = options.user === undefined ? undefined : await idOf(service, USERS, options.user);
  const filters = userId === undefined ? {} : { userId };
  const { page, json } = options;
  return listRecords(service, runsAt(path), { filters, page, ...(json ? { json } : {}) });
}

const STEPS: readonly Column<JsonObject>[] = [
  ['step', ({ stepId }) => textOf(stepId)],
  ['status', ({ status }) => textOf(status)],
  ['attempts', ({ attempts }) => textOf(attempts)],
  ['started', ({ startedAt }) => shortTime(startedAt)],
  ['ended', ({ endedAt }) => shortTime(endedAt)],
  ['error', ({ error }) => errorText(error)],
];

function textOfRun(run: JsonObject): string {
  const { runId, status, steps, error } = run;
  const list = Array.isArray(steps) ? steps.map(asObject) : [];
  const failed = error === undefined || error === null ? '' : `: ${errorText(error)}`;
  return `${textOf(runId)} ${textOf(status)}${failed}\n${list.length > 0 ? tableOf(STEPS, list) : ''}`;
}
