import { GatehouseError, publicError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { againColumns, attempt, failedFor, failedOutput, type Failure, type Next } from './step-attempt.ts';
import { evaluate } from './evaluate.ts';
import { slotsOf } from './expressions.ts';
import { templateOf, type CallStep } from './perform.ts';
import { afterFailure } from './step-retry.ts';
import { inputMaker, type StepInput } from './step-input.ts';
import {
  commit,
  insertStep,
  itemRows,
  newStep,
  openStep,
  outputColumns,
  outputOf,
  sealStep,
  updateStep,
  type RunChanges,
  type StepRow,
  type Write,
  type Writes,
} from './step-rows.ts';
import { loggedError, loggedInput, refusalOf, type Work, type WorkContext } from './work.ts';

/** Number of items whose inputs are evaluated together. */
const AT_ONCE = 50;
/**
 * Limit in bytes, as JSON, of items whose inputs are evaluated together. They count against the limit of one
 * evaluation.
 */
const MOST_BYTES_AT_ONCE = 1024 * 1024;
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
const MOST_ERRORS = 100;

/**
 * Runs a step for each of its items, in order, each with its own row.
 * One commit writes the result of an item and the start of the next one. A list costs one commit per item.
 * @returns the output of the step, or the state of the run. `data` is in the order of the items, null for a failed one.
 * @throws Overtaken
 */
export async function runItems(
  context: WorkContext,
  work: Work,
  { step, row, stop }: { step: CallStep; row: StepRow; stop: AbortSignal },
): Promise<{ output: JsonObject } | Next> {
  const { run } = work;
  const items = itemsIn(context, row);
  const begun = new Map<number, StepRow>();
  const results = createResults(items.length);
  for (const one of await itemRows(context.db, run.run_id, row.position)) {
    if (one.status === 'succeeded' || one.status === 'failed') results.keep(one.item, outputOf(context, one));
    else begun.set(one.item, one);
  }
  const inputOf = createInputs(context, work, { step, items });

  /** The write of the previous item's result, which is still pending. */
  let carried: Write | undefined;
  const write = async ({ result, beginning }: Writes = {}, changes: RunChanges = {}): Promise<void> => {
    const before = carried;
    carried = undefined;
    const results: Write = async (tx) => {
      await before?.(tx);
      await result?.(tx);
    };
    await commit(context, run, { result: results, ...(beginning ? { beginning } : {}), changes });
  };

  for (let item = 0; item < items.length; item++) {
    if (results.has(item)) continue;
    if (stop.aborted) {
      await write(undefined, { next_at: context.clock.now() });
      return 'left';
    }
    const refusal = item > 0 ? await refusalOf(context, run) : undefined;
    if (refusal) {
      const now = context.clock.now();
      const error = loggedError(work, refusal, row.step_id);
      await write(undefined, { status: 'failed', error, ended_at: now, next_at: now });
      return 'failed';
    }
    const known = begun.get(item);
    let result: { output: JsonObject } | Failure;
    if (known) {
      await write();
      result = await attempt(context, work, { step, found: known });
    } else {
      let made: StepInput;
      try {
        made = await inputOf(item);
      } catch (thrown) {
        await write();
        return wholeFailed(context, work, { step, row, error: publicError(thrown) });
      }
      const { input, error } = made;
      const fresh = freshRow(context, work, { whole: row, item, input });
      await write({ beginning: (tx) => insertStep(tx, fresh) });
      result = error
        ? {
            error,
            decision: afterFailure(error, step.onError, { attempts: 1, repeatable: true }),
            row: fresh,
          }
        : await attempt(context, work, { step, found: fresh, fresh: input });
    }
    if ('output' in result) {
      const { output } = result;
      const place = { run_id: run.run_id, position: row.position, item };
      const set = {
        status: 'succeeded' as const,
        ...outputColumns(context, place, { output, secrets: work.secrets }),
        sealed: null,
        error: null,
        ended_at: context.clock.now(),
      };
      carried = (tx) => updateStep(tx, place, set);
      results.keep(item, output);
    } else {
      const next = await itemFailed(context, work, {
        whole: row,
        failure: result,
        write: (failed, changes) => write({ result: failed }, changes),
      });
      if (next !== 'done') return next;
      results.keep(item, failedOutput(result.error));
    }
    if (results.bytes() > MAX_OUTPUT_BYTES) {
      await write();
      return wholeFailed(context, work, { step, row, error: tooLarge() });
    }
  }
  await write();
  return { output: results.output() };
}

/** Collects the results of the items. */
function createResults(count: number) {
  const data: Json[] = Array.from({ length: count }, () => null);
  const known = new Set<number>();
  const errors: Json[] = [];
  let failed = 0;
  let bytes = 0;
  return {
    has: (item: number) => known.has(item),
    bytes: () => bytes,
    keep(item: number, output: JsonObject): void {
      const value = output['data'] ?? null;
      known.add(item);
      data[item] = value;
      bytes += Buffer.byteLength(JSON.stringify(value));
      if (output['error'] === undefined) return;
      failed += 1;
      if (errors.length < MOST_ERRORS) errors.push({ item, error: output['error'] });
    },
    output: (): JsonObject => ({ data, succeeded: count - failed, failed, errors }),
  };
}

/** Returns a function for the inputs of items, evaluated in batches that fit into one evaluation. */
function createInputs(context: WorkContext, work: Work, { step, items }: { step: CallStep; items: Json[] }) {
  const slots = slotsOf(templateOf(step)).map(({ expression }) => expression);
  const inputFrom = inputMaker(context, work.run, step);
  let from = 0;
  let inputs: StepInput[] = [];
  return async (item: number): Promise<StepInput> => {
    if (item < from || item >= from + inputs.length) {
      const variants = someOf(items, item).map((one, n) => ({ item: one, index: item + n }));
      const rows = await evaluate(context, slots, { scope: work.scope, variants });
      from = item;
      inputs = rows.map(inputFrom);
    }
    return inputs[item - from] ?? { input: {} };
  };
}

/** Returns the items from a position on: at least one, and as many as fit. */
function someOf(items: readonly Json[], from: number): Json[] {
  let bytes = 0;
  const some = items.slice(from, from + AT_ONCE);
  const tooMuch = some.findIndex((one) => (bytes += JSON.stringify(one).length) > MOST_BYTES_AT_ONCE);
  return tooMuch === -1 ? some : some.slice(0, Math.max(1, tooMuch));
}

function freshRow(
  context: WorkContext,
  work: Work,
  {
    whole: { run_id: runId, position, step_id: stepId },
    item,
    input,
  }: { whole: StepRow; item: number; input: JsonObject },
): StepRow {
  const place = { run_id: runId, position, item };
  return newStep({
    ...place,
    step_id: stepId,
    status: 'running',
    attempts: 1,
    input: loggedInput(work, input),
    sealed: sealStep(context, place, input),
    started_at: context.clock.now(),
  });
}

async function itemFailed(
  context: WorkContext,
  work: Work,
  {
    whole,
    failure: { error, decision, row },
    write,
  }: { whole: StepRow; failure: Failure; write: (failed: Write, changes?: RunChanges) => Promise<void> },
): Promise<Next> {
  const now = context.clock.now();
  const logged = loggedError(work, error);
  if (decision.next === 'again') {
    await write((tx) => updateStep(tx, row, againColumns(row, decision, logged)), {
      status: 'waiting',
      next_at: now + decision.waitMs,
    });
    return 'waiting';
  }
  const ended = { status: 'failed' as const, error: logged, ended_at: now };
  if (decision.next === 'continue') {
    const output = JSON.stringify(failedOutput(error));
    await write((tx) => updateStep(tx, row, { ...ended, output, sealed: null }));
    return 'done';
  }
  await write(
    async (tx) => {
      await updateStep(tx, row, ended);
      await updateStep(tx, whole, ended);
    },
    { status: 'failed', error: loggedError(work, error, whole.step_id), ended_at: now, next_at: now },
  );
  return 'failed';
}

/** Records a failure of the step itself: a failed expression, or results that are too large. */
async function wholeFailed(
  context: WorkContext,
  work: Work,
  { step, row, error }: { step: CallStep; row: StepRow; error: GatehouseError },
): Promise<Next> {
  const onError = step.onError === 'continue' ? 'continue' : 'stop';
  const decision = afterFailure(error, onError, { attempts: row.attempts, repeatable: true });
  return failedFor(context, work, { step, failure: { error, decision, row } });
}

function tooLarge(): GatehouseError {
  return new GatehouseError(
    'upstream_too_large',
    `The results of the items are larger than ${MAX_OUTPUT_BYTES} bytes together. Loop over fewer.`,
  );
}

function itemsIn(context: WorkContext, row: StepRow): Json[] {
  const items = row.sealed === null ? [] : openStep(context, row, row.sealed);
  return Array.isArray(items) ? items : [];
}
