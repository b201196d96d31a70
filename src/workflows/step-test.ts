import { invalidRequest, type Fault } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { RunRow } from './begin.ts';
import type { Context } from './context.ts';
import { pathsOf } from './expression-names.ts';
import { bare, expressionIn, slotsOf } from './expressions.ts';
import { templateOf } from './perform.ts';
import { newStep, outputColumns, outputOf, stepRows, WHOLE, type StepRow } from './step-rows.ts';
import type { Definition, Step } from './workflow-definition.ts';

/*
 * The test of one step. Its run begins at the step, with the results of earlier steps as rows of the status `given`, and
 * has no later steps. The first failure ends it, a for-each runs its first item, and a wait is computed and does not pass.
 */

/** Results of steps, by stepId, as expressions read them below `steps`. */
export type Given = Record<string, JsonObject>;

/** A step to test, in a definition that ends with it. */
export interface StepTest {
  definition: Definition;
  step: Step;
  position: number;
  /** The results of the steps before it. */
  given: Given;
}

/**
 * Returns the test of a step. `given`: the results of other steps; those of later steps are left out.
 * @throws GatehouseError `invalid_request` for an unknown step, and by field for each result that its expressions need.
 */
export async function planTest(
  whole: Definition,
  stepId: string,
  { given, asked }: { given: Given; asked: Given },
): Promise<StepTest> {
  const position = whole.steps.findIndex((one) => one.stepId === stepId);
  const step = whole.steps[position];
  const ids = whole.steps.map((one) => one.stepId);
  if (!step)
    throw invalidRequest(
      [{ field: 'stepId', rule: `is no step of this version: ${ids.join(', ')}` }],
      'The body',
    );
  const before = ids.slice(0, position);
  const strangers = Object.keys(asked).filter((id) => !before.includes(id));
  const faults: Fault[] = strangers.map((id) => ({
    field: `given.${id.slice(0, 64)}`,
    rule: `is no step before ${stepId}`,
  }));
  const read = await stepsReadBy(step);
  for (const id of before)
    if (read.has(id) && !Object.hasOwn(given, id))
      faults.push({ field: `given.${id}`, rule: `is required, because ${stepId} reads steps.${id}` });
  if (faults.length > 0) throw invalidRequest(faults, 'The body');
  const steps = [...whole.steps.slice(0, position), stopping(step)];
  return {
    definition: { ...whole, steps },
    step,
    position,
    given: Object.fromEntries(Object.entries(given).filter(([id]) => before.includes(id))),
  };
}

/** Returns a step whose first failure ends the run, because a repetition would only delay the answer. */
function stopping(step: Step): Step {
  return 'onError' in step ? { ...step, onError: 'stop' } : step;
}

/** Returns the steps that the expressions of a step name. An expression that may read everything adds none. */
async function stepsReadBy(step: Step): Promise<ReadonlySet<string>> {
  const paths = await Promise.all(expressionsOf(step).map(pathsOf));
  return new Set(
    paths.flatMap((some) =>
      (some ?? []).flatMap(([root, id]) => (root === 'steps' && id !== undefined ? [id] : [])),
    ),
  );
}

function expressionsOf(step: Step): string[] {
  const own = step.when === undefined ? [] : [bare(step.when)];
  if ('map' in step) return [...own, bare(step.map)];
  if ('wait' in step) return [...own, expressionIn(step.wait) ?? []].flat();
  const each = step.forEach === undefined ? [] : [bare(step.forEach)];
  return [...own, ...each, ...slotsOf(templateOf(step)).map(({ expression }) => expression)];
}

/** Returns the results of an earlier run, exactly as its later steps received them. */
export async function givenSteps({ db, keys }: Pick<Context, 'db' | 'keys'>, run: RunRow): Promise<Given> {
  const rows = await stepRows(db, run.run_id);
  return Object.fromEntries(
    rows.filter(({ output }) => output !== null).map((row) => [row.step_id, outputOf({ keys }, row)]),
  );
}

/** Returns the rows of the given results. */
export function givenRows(
  context: Pick<Context, 'keys'>,
  { runId, now, test, secrets }: { runId: string; now: number; test: StepTest; secrets: readonly string[] },
): StepRow[] {
  return test.definition.steps.flatMap(({ stepId }, position) => {
    const output = position < test.position ? test.given[stepId] : undefined;
    if (!output) return [];
    const place = { run_id: runId, position, item: WHOLE };
    const columns = outputColumns(context, place, { output, secrets });
    return [
      newStep({ ...place, ...columns, step_id: stepId, status: 'given', started_at: now, ended_at: now }),
    ];
  });
}
