import { publicError, type GatehouseError } from '../lib/errors.ts';
import { asObject, type JsonObject } from '../lib/json.ts';
import { rememberWrites } from './chains.ts';
import { perform, type CallStep } from './perform.ts';
import { afterFailure, callAbandoned, mayRepeat, type AfterFailure } from './step-retry.ts';
import { commit, openStep, updateStep, WHOLE, type StepRow } from './step-rows.ts';
import { addResult, loggedError, type Work, type WorkContext } from './work.ts';

/** The state of a run after a step. */
export type Next = 'done' | 'waiting' | 'failed' | 'left';

export interface Failure {
  error: GatehouseError;
  decision: AfterFailure;
  row: StepRow;
}

/**
 * Makes one attempt at a call: a fresh one with `fresh` as input, or one that began before, whose input is in its
 * row. A row with the status `running` is from a process that died. Its call is sent again only if that is safe.
 * @throws Overtaken
 */
export async function attempt(
  context: WorkContext,
  work: Work,
  { step, found, fresh }: { step: CallStep; found: StepRow; fresh?: JsonObject | undefined },
): Promise<{ output: JsonObject } | Failure> {
  const { run, definition } = work;
  const repeatable = mayRepeat(context, run, step);
  let row = found;
  const failure = (error: GatehouseError): Failure => {
    if (error.code === 'internal') context.log.error({ runId: run.run_id, err: error.cause }, 'step failed');
    return {
      error,
      decision: afterFailure(error, step.onError, { attempts: row.attempts, repeatable }),
      row,
    };
  };
  if (fresh === undefined) {
    if (found.status === 'running' && !repeatable) return failure(callAbandoned());
    row = { ...found, status: 'running', attempts: found.attempts + 1 };
    const set = { status: 'running' as const, attempts: row.attempts };
    await commit(context, run, { beginning: (tx) => updateStep(tx, row, set) });
  }
  try {
    const input = fresh ?? openInput(context, row);
    const beganAt = context.clock.now();
    const call = { definition, step, input, upstreamKey: keyOf(row), chain: work.chain };
    const output = await perform(context, run, call);
    await rememberWrites(context, work, { step, input, output, beganAt });
    return { output };
  } catch (thrown) {
    return failure(publicError(thrown));
  }
}

/** Returns the idempotency key for the third party: the same for the same call, at most 40 characters. */
function keyOf({ run_id: runId, position, item, generation }: StepRow): string {
  return [
    runId,
    position,
    ...(item === WHOLE ? [] : [item]),
    ...(generation === 0 ? [] : [`r${generation}`]),
  ].join('.');
}

function openInput(context: WorkContext, row: StepRow): JsonObject {
  return asObject(row.sealed === null ? null : openStep(context, row, row.sealed));
}

/** Returns the output of a step that failed, for a run that continues. */
export function failedOutput({ code, message }: GatehouseError): JsonObject {
  return { data: null, error: { code, message } };
}

/** Records the consequence of a failed attempt at a step. @throws Overtaken */
export async function failedFor(
  context: WorkContext,
  work: Work,
  { step, failure: { error, decision, row } }: { step: CallStep; failure: Failure },
): Promise<Next> {
  const now = context.clock.now();
  const logged = loggedError(work, error);
  const stepId = step.stepId;
  switch (decision.next) {
    case 'again': {
      const nextAt = now + decision.waitMs;
      await commit(context, work.run, {
        result: (tx) => updateStep(tx, row, againColumns(row, decision, logged)),
        changes: { status: 'waiting', next_at: nextAt },
      });
      return 'waiting';
    }
    case 'continue': {
      const output = failedOutput(error);
      const set = {
        status: 'failed' as const,
        error: logged,
        output: JSON.stringify(output),
        sealed: null,
        ended_at: now,
      };
      await commit(context, work.run, {
        result: (tx) => updateStep(tx, row, set),
        changes: { position: row.position + 1 },
      });
      addResult(work, stepId, output);
      return 'done';
    }
    default:
      await commit(context, work.run, {
        result: (tx) => updateStep(tx, row, { status: 'failed', error: logged, ended_at: now }),
        changes: { status: 'failed', error: loggedError(work, error, stepId), ended_at: now, next_at: now },
      });
      return 'failed';
  }
}

/**
 * Returns the columns of a call that will be repeated. Its key changes only if the failed call certainly had no
 * effect.
 */
export function againColumns(
  row: StepRow,
  { newKey }: Extract<AfterFailure, { next: 'again' }>,
  error: string,
) {
  return { status: 'waiting' as const, error, generation: row.generation + (newKey ? 1 : 0) };
}
