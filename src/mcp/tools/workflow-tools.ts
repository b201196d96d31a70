import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { forgiven } from '../../connectors/schemas/forgive.ts';
import { modelSchema } from '../../connectors/schemas/model-schema.ts';
import type { Base } from '../../base.ts';
import { GatehouseError, isErrorCode, withDetails } from '../../lib/errors.ts';
import { asObject, valueAt, type Json, type JsonObject } from '../../lib/json.ts';
import { describeWholeRun, requireRun } from '../../workflows/run-log.ts';
import { createRunnables, deniedBy, effectsOf, type Runnable } from '../../workflows/runnables.ts';
import type { Grant } from '../scope/grant.ts';
import type { ToolScope } from '../scope/tool.ts';
import { sparseHints, type ToolDefinition } from '../scope/tool-definition.ts';
import type { WorkflowTool, WorkflowTools } from '../scope/workflow-tool.ts';

/* The workflows with a manual trigger that the user has installed, as tools: `run_<workflow>`. */

const NONE: readonly WorkflowTool[] = [];
const MAX_TOOL_NAME = 64;
/** How long a call waits for the end of its run. A longer run goes on in the background. */
const PATIENCE_MS = 25_000;
const FIRST_LOOK_MS = 25;
const LONGEST_LOOK_MS = 500;

export function createWorkflowTools(context: Pick<Base, 'db' | 'clock' | 'catalog'>): WorkflowTools {
  const runnables = createRunnables(context);
  return {
    async of({ environment, userId, live }) {
      if (userId === undefined) return NONE;
      const installed = await runnables.of(environment, userId);
      if (installed.length === 0) return NONE;
      const names = new Set<string>();
      return installed.map((one) => {
        const name = nameOf(one, names);
        names.add(name);
        return {
          definition: toolOf(name, one, effectsOf(context, environment, one.definition)),
          workflowId: one.workflowId,
          rule: deniedBy(context, environment, { definition: one.definition, decision: live.decision }),
        };
      });
    },
  };
}

/** Returns the tools that tools/list shows. */
export function listed(tools: readonly WorkflowTool[], { live }: Pick<Grant, 'live'>): ToolDefinition[] {
  if (live.server.toolMode === 'discovery') return [];
  return tools.filter(({ rule }) => rule === undefined).map(({ definition }) => definition);
}

/**
 * Returns `run_` and the name in the alphabet of tools. A name that is too long or taken ends in a hash of the
 * workflow's id.
 */
function nameOf({ name, workflowId }: Runnable, taken: ReadonlySet<string>): string {
  const plain = `run_${name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')}`;
  if (plain !== 'run_' && plain.length <= MAX_TOOL_NAME && !taken.has(plain)) return plain;
  const hash = createHash('sha256').update(workflowId).digest('hex').slice(0, 8);
  return `${plain.slice(0, 55).replace(/_+$/, '')}_${hash}`;
}

function toolOf(
  name: string,
  { workflowId, name: title, inputSchema, definition }: Runnable,
  effects: ReturnType<typeof effectsOf>,
): ToolDefinition {
  const calls = definition.steps.flatMap((step) =>
    'connectorId' in step ? [`${step.connectorId}.${step.actionId}`] : 'http' in step ? ['http'] : [],
  );
  return {
    name,
    title,
    description:
      `Runs the workflow "${title}" for the user, and waits for its end up to 25 s. ` +
      (calls.length === 0 ? 'It calls no app.' : `It calls ${[...new Set(calls)].slice(0, 10).join(', ')}.`),
    inputSchema: { ...modelSchema(inputSchema, 'input'), type: 'object' },
    annotations: sparseHints({
      readOnlyHint: effects.every((effect) => effect === 'read'),
      destructiveHint: effects.includes('destructive'),
      idempotentHint: false,
      openWorldHint: true,
    }),
    _meta: { 'gatehouse/workflowId': workflowId },
  };
}

/**
 * Runs a workflow and returns the output of its last step. Returns the run's status when it does not end in time.
 * @throws GatehouseError with the code of the step that failed; `invalid_request` by field for wrong input.
 */
export async function runWorkflow(
  { context, grant, requestId, signal, task, corrections }: ToolScope,
  { workflowId, definition: { inputSchema } }: WorkflowTool,
  given: JsonObject,
): Promise<JsonObject> {
  const read = forgiven(inputSchema, given);
  const input = read.input;
  corrections.push(...read.corrections);
  const { environment, userId = '', live, caller } = grant;
  const key = { environment, workflowId, userId };
  const { serverId } = live.server;
  await task?.runs(undefined, { mayWrite: true });
  const { startRun } = await import('../../workflows/runs.ts');
  const runId = await startRun(context, key, { caller, requestId, serverId, input }).catch(
    (error: unknown) => {
      const isInvalid = error instanceof GatehouseError && error.code === 'invalid_request';
      throw isInvalid ? withDetails(error, { inputSchema }) : error;
    },
  );
  // A process that serves only stdio must run the workflow itself.
  context.runs.wake(context);
  const until = performance.now() + PATIENCE_MS;
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_LOOK_MS)) {
    await sleep(waitMs);
    const row = await requireRun(context.db, { environment, workflowId, runId, userId });
    const { status } = row;
    if (status === 'succeeded' || status === 'failed' || status === 'cancelled') {
      const { steps, error } = await describeWholeRun(context, row);
      if (status === 'failed') throw failure(runId, error);
      const data = valueAt(steps.at(-1)?.output ?? null, 'data');
      return {
        runId,
        status,
        steps: steps.map(({ stepId, status: of }) => ({ stepId, status: of })),
        data: data ?? null,
      };
    }
    if (signal.aborted || performance.now() > until) {
      return {
        runId,
        status,
        next: 'It goes on by itself. There is nothing to do, and no need to run it again.',
      };
    }
  }
}

function failure(runId: string, error: Json | undefined): GatehouseError {
  const facts = asObject(error);
  const { code, error: message, stepId } = facts;
  return new GatehouseError(
    isErrorCode(code) ? code : 'internal',
    `The run failed at its step "${String(stepId)}": ${String(message)}`,
    { details: { runId, stepId, message: String(message) } },
  );
}
