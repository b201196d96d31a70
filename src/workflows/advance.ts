import { asList } from '../connectors/expression-input.ts';
import { GatehouseError, publicError } from '../lib/errors.ts';
import { isoTime } from '../lib/clock.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { RunRow } from './begin.ts';
import { attempt, failedFor, failedOutput, type Next } from './step-attempt.ts';
import type { Step, WaitStep } from './workflow-definition.ts';
import { runItems } from './each.ts';
import { evaluate, isTrue } from './evaluate.ts';
import { templateOf, type CallStep } from './perform.ts';
import { bare, expressionIn, slotsOf } from './expressions.ts';
import { durationMs } from './schedule.ts';
import { inputMaker } from './step-input.ts';
import {
  commit,
  insertStep,
  newStep,
  outputColumns,
  outputOf,
  sealStep,
  updateStep,
  WHOLE,
  type NewStep,
  type StepRow,
} from './step-rows.ts';
import {
  addResult,
  loggedError,
  loggedInput,
  openWork,
  refusalOf,
  sizeOf,
  type Work,
  type WorkContext,
} from './work.ts';

/** Limit of for-each items. With more items the run fails before the first call. */
const MAX_ITEMS = 10_000;
/** Items of a for-each that the test of a step runs, because each has its own effect. */
const TESTED_ITEMS = 1;
/** Limit of the results that a run keeps for its later steps, as JSON. */
const MAX_RESULTS_BYTES = 16 * 1024 * 1024;
/** Delay after a step that could not start, for example because a queue is full. */
const BUSY_MS = 5000;

/**
 * Runs the steps until the run ends, waits, or `stop` aborts. After `stop`, another process continues the run.
 * The result of each step is committed before the next step begins.
 * If a process died during a call, the call is sent again under the same key. Unsafe calls are not repeated.
 * @throws Overtaken when another process has taken the run.
 */
export async function advance(
  context: WorkContext,
  run: RunRow,
  stop: AbortSignal,
): Promise<'succeeded' | 'failed' | 'waiting' | 'left'> {
  let work: Work;
  try {
    work = await openWork(context, run);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    await endRun(context, run, { status: 'failed', error: loggedError({ secrets: [] }, error) });
    return 'failed';
  }
  const { steps } = work.definition;
  for (let position = run.position; position < steps.length; position++) {
    const step = steps[position];
    if (!step) break;
    if (stop.aborted) {
      // Other processes may take the run at once.
      await commit(context, run, { changes: { next_at: context.clock.now() } });
      return 'left';
    }
    // openWork() has already checked the user for the first step.
    const refusal = position > run.position ? await refusalOf(context, run) : undefined;
    if (refusal) {
      await endRun(context, run, { status: 'failed', error: loggedError(work, refusal, step.stepId) });
      return 'failed';
    }
    const next = await runStep(context, work, { step, position, stop });
    if (next !== 'done') return next;
  }
  await endRun(context, run, { status: 'succeeded', error: null });
  return 'succeeded';
}

async function endRun(
  context: WorkContext,
  run: RunRow,
  { status, error }: { status: 'succeeded' | 'failed'; error: string | null },
): Promise<void> {
  const now = context.clock.now();
  await commit(context, run, { changes: { status, error, ended_at: now, next_at: now } });
}

async function runStep(
  context: WorkContext,
  work: Work,
  { step, position, stop }: { step: Step; position: number; stop: AbortSignal },
): Promise<Next> {
  const row = work.rows.get(position);
  if (row) return continueStep(context, work, { step, row, stop });
  let plan: Plan;
  try {
    plan = await planStep(context, work, step);
  } catch (thrown) {
    return recordPlanFailure(context, work, { step, position, error: publicError(thrown) });
  }
  const place = { run_id: work.run.run_id, position, item: WHOLE };
  const now = context.clock.now();
  const fresh = { ...place, step_id: step.stepId, started_at: now };
  switch (plan.kind) {
    case 'skip':
      return record(context, work, {
        fresh: { ...fresh, status: 'skipped' },
        output: { data: null, skipped: true },
      });
    case 'value':
      return record(context, work, {
        fresh: { ...fresh, status: 'succeeded' },
        output: { data: plan.value },
      });
    case 'wait': {
      const until = now + plan.waitMs;
      const ended = { data: null, until: isoTime(until) };
      // The test of a step has no later step that could wait for it.
      if (work.run.step_id !== null)
        return record(context, work, { fresh: { ...fresh, status: 'succeeded' }, output: ended });
      const output = JSON.stringify(ended);
      await commit(context, work.run, {
        beginning: (tx) => insertStep(tx, newStep({ ...fresh, status: 'waiting', output })),
        changes: { status: 'waiting', position, next_at: until },
      });
      return 'waiting';
    }
    case 'call': {
      const started = newStep({
        ...fresh,
        status: 'running',
        attempts: 1,
        input: loggedInput(work, plan.input),
        sealed: sealStep(context, place, plan.input),
      });
      await commit(context, work.run, { beginning: (tx) => insertStep(tx, started), changes: { position } });
      return runCall(context, work, { step: plan.step, row: started, input: plan.input });
    }
    case 'each': {
      const items = work.run.step_id === null ? plan.items : plan.items.slice(0, TESTED_ITEMS);
      const left = items.length === plan.items.length ? {} : { tested: items.length };
      const started = newStep({
        ...fresh,
        status: 'running',
        attempts: 1,
        input: JSON.stringify({ items: plan.items.length, ...left }),
        sealed: sealStep(context, place, items),
      });
      await commit(context, work.run, { beginning: (tx) => insertStep(tx, started), changes: { position } });
      return finishItems(context, work, { step: plan.step, row: started, stop });
    }
  }
}

type Plan =
  | { kind: 'skip' }
  | { kind: 'value'; value: Json }
  | { kind: 'wait'; waitMs: number }
  | { kind: 'call'; step: CallStep; input: JsonObject }
  | { kind: 'each'; step: CallStep; items: Json[] };

/** Returns the work of a step, from its expressions. @throws GatehouseError `expression_failed` … */
async function planStep(context: WorkContext, { scope, run }: Work, step: Step): Promise<Plan> {
  const valueOf = async (text: string): Promise<Json> =>
    (await evaluate(context, [bare(text)], { scope }))[0]?.[0] ?? null;
  if (step.when !== undefined && !isTrue(await valueOf(step.when))) return { kind: 'skip' };
  if ('map' in step) return { kind: 'value', value: await valueOf(step.map) };
  if ('wait' in step) return { kind: 'wait', waitMs: await waitOf(step, valueOf) };
  if (step.forEach !== undefined) return { kind: 'each', step, items: itemsOf(await valueOf(step.forEach)) };
  const slots = slotsOf(templateOf(step)).map(({ expression }) => expression);
  const [values = []] = await evaluate(context, slots, { scope });
  const { input, error } = inputMaker(context, run, step)(values);
  if (error) throw error;
  return { kind: 'call', step, input };
}

async function waitOf({ wait }: WaitStep, valueOf: (text: string) => Promise<Json>): Promise<number> {
  const expression = expressionIn(wait);
  const text = expression === undefined ? wait : await valueOf(expression);
  const waitMs = typeof text === 'string' ? durationMs(text) : undefined;
  if (waitMs !== undefined) return waitMs;
  throw new GatehouseError(
    'expression_failed',
    `"wait" gave ${JSON.stringify(text).slice(0, 80)}; it must be an ISO 8601 duration of at most a year, such as PT5M.`,
  );
}

function itemsOf(value: Json): Json[] {
  const items = asList(value);
  if (items.length <= MAX_ITEMS) return items;
  throw new GatehouseError(
    'expression_failed',
    `"forEach" gave ${items.length} items; a step takes at most ${MAX_ITEMS}. Take fewer, or split them over runs.`,
  );
}

/** Continues a step that began in an earlier turn of its run, or in a process that died. */
async function continueStep(
  context: WorkContext,
  work: Work,
  { step, row, stop }: { step: Step; row: StepRow; stop: AbortSignal },
): Promise<Next> {
  if ('wait' in step || 'map' in step) {
    const now = context.clock.now();
    const set = { status: 'succeeded' as const, ended_at: now };
    await commit(context, work.run, {
      result: (tx) => updateStep(tx, row, set),
      changes: { position: row.position + 1 },
    });
    addResult(work, step.stepId, outputOf(context, row));
    return 'done';
  }
  if (step.forEach !== undefined) return finishItems(context, work, { step, row, stop });
  const result = await attempt(context, work, { step, found: row });
  if ('output' in result) return recordSuccess(context, work, { row, output: result.output });
  return failedFor(context, work, { step, failure: result });
}

async function runCall(
  context: WorkContext,
  work: Work,
  { step, row, input }: { step: CallStep; row: StepRow; input: JsonObject },
): Promise<Next> {
  const result = await attempt(context, work, { step, found: row, fresh: input });
  if ('output' in result) return recordSuccess(context, work, { row, output: result.output });
  return failedFor(context, work, { step, failure: result });
}

async function finishItems(
  context: WorkContext,
  work: Work,
  { step, row, stop }: { step: CallStep; row: StepRow; stop: AbortSignal },
): Promise<Next> {
  const result = await runItems(context, work, { step, row, stop });
  return typeof result === 'string' ? result : recordSuccess(context, work, { row, output: result.output });
}

async function recordSuccess(
  context: WorkContext,
  work: Work,
  { row, output }: { row: StepRow; output: JsonObject },
): Promise<Next> {
  const storedBytes = work.resultBytes + sizeOf(output);
  const tooMuch = storedBytes > MAX_RESULTS_BYTES;
  const now = context.clock.now();
  const set = {
    status: 'succeeded' as const,
    ...outputColumns(context, row, { output, secrets: work.secrets }),
    sealed: null,
    error: null,
    ended_at: now,
  };
  await commit(context, work.run, {
    result: (tx) => updateStep(tx, row, set),
    changes: {
      position: row.position + 1,
      ...(tooMuch
        ? {
            status: 'failed',
            error: loggedError(work, tooLarge(storedBytes), row.step_id),
            ended_at: now,
            next_at: now,
          }
        : {}),
    },
  });
  if (tooMuch) return 'failed';
  addResult(work, row.step_id, output);
  return 'done';
}

function tooLarge(bytes: number): GatehouseError {
  return new GatehouseError(
    'upstream_too_large',
    `The results of this run are ${bytes} bytes. At most ${MAX_RESULTS_BYTES} are stored. Request less in its steps.`,
  );
}

/** Records a step that makes no call, in one write. */
async function record(
  context: WorkContext,
  work: Work,
  { fresh, output }: { fresh: NewStep; output: JsonObject },
): Promise<Next> {
  const columns = outputColumns(context, fresh, { output, secrets: work.secrets });
  const row = newStep({ ...fresh, ...columns, attempts: 1, ended_at: context.clock.now() });
  await commit(context, work.run, {
    result: (tx) => insertStep(tx, row),
    changes: { position: fresh.position + 1 },
  });
  addResult(work, fresh.step_id, output);
  return 'done';
}

/** Records a step whose expressions failed. Nothing was sent. */
async function recordPlanFailure(
  context: WorkContext,
  work: Work,
  { step, position, error }: { step: Step; position: number; error: GatehouseError },
): Promise<Next> {
  const now = context.clock.now();
  if (error.code === 'unavailable') {
    await commit(context, work.run, { changes: { status: 'waiting', position, next_at: now + BUSY_MS } });
    return 'waiting';
  }
  if (error.code === 'internal')
    context.log.error({ runId: work.run.run_id, err: error.cause }, 'step failed');
  const place = { run_id: work.run.run_id, position, item: WHOLE, step_id: step.stepId, started_at: now };
  const row = newStep({
    ...place,
    status: 'failed',
    attempts: 1,
    error: loggedError(work, error),
    ended_at: now,
  });
  const continues = 'onError' in step && step.onError === 'continue';
  const output = failedOutput(error);
  await commit(context, work.run, {
    result: (tx) => insertStep(tx, continues ? { ...row, output: JSON.stringify(output) } : row),
    changes: continues
      ? { position: position + 1 }
      : {
          status: 'failed',
          position,
          error: loggedError(work, error, step.stepId),
          ended_at: now,
          next_at: now,
        },
  });
  if (!continues) return 'failed';
  addResult(work, step.stepId, output);
  return 'done';
}
