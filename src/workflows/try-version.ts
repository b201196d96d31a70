import { requireEnabled } from '../identity/users.ts';
import { invalidRequest } from '../lib/errors.ts';
import { newOrderedId } from '../lib/ids.ts';
import { asObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { openRunConfig, queuedRow, type Occasion, type RunRow } from './begin.ts';
import { chosenCredentials, idsOf } from './chosen-credentials.ts';
import { checkedConfig, type InstallationKey } from './installations.ts';
import { requireRun } from './run-log.ts';
import { triggerValue, type RunsContext, type Starter } from './runs.ts';
import { givenRows, givenSteps, planTest, type Given } from './step-test.ts';
import { secretsIn } from './work.ts';
import type { Definition, Trigger } from './workflow-definition.ts';
import { requireVersion } from './workflow-records.ts';

/** A test of a version, or of one of its steps. */
export type Trial = Starter & {
  /** Default: that of the earlier run, else an empty one. */
  config?: JsonObject | undefined;
  credentials: Record<string, string>;
  /** Default: the value of the trigger in the earlier run. */
  input?: Json | undefined;
  /** The only step to run; undefined for all steps. */
  stepId?: string | undefined;
  /** Results of steps before that one, by stepId. */
  given: Given;
  /** The run of the same workflow and user whose results, trigger and configuration the test of a step uses. */
  fromRunId?: string | undefined;
};

/**
 * Queues a run of any version, usually a draft, without an installation: of all steps, or of one of them.
 * @throws GatehouseError `workflow_version_not_found`, `user_not_found`, `run_not_found`, `forbidden` for a disabled user,
 * `invalid_request` by field, and those of chooseCredential().
 */
export async function tryVersion(
  context: RunsContext,
  key: InstallationKey & { version: number },
  trial: Trial,
): Promise<string> {
  const { db, clock } = context;
  const { environment, workflowId, userId, version } = key;
  const { definition: whole } = await requireVersion(db, { environment, workflowId, version });
  await requireEnabled(db, environment, userId);
  const earlier = await earlierRun(context, key, trial);
  const given = { ...(earlier && (await givenSteps(context, earlier))), ...trial.given };
  const test =
    trial.stepId === undefined
      ? undefined
      : await planTest(whole, trial.stepId, { given, asked: trial.given });
  const definition = test?.definition ?? whole;
  const config = checkedConfig(whole, trial.config ?? (earlier ? openRunConfig(context, earlier) : {}));
  const credentials = await chosenCredentials(db, context, {
    owner: key,
    definition: test ? alone(test) : whole,
    named: trial.credentials,
  });
  const now = clock.now();
  const runId = newOrderedId('run', now);
  const trigger = valueOf(whole.trigger, { trial, earlier, now });
  await db.transaction().execute(async (tx) => {
    await tx
      .insertInto('workflow_runs')
      .values({
        ...queuedRow(context, runId, { occasion: { ...trial, byHand: true, trigger }, config }),
        environment,
        workflow_id: workflowId,
        installation_id: null,
        user_id: userId,
        version,
        definition: JSON.stringify(definition),
        credentials: idsOf(credentials),
        ...(test ? { step_id: test.step.stepId, position: test.position } : {}),
      })
      .execute();
    const rows = test ? givenRows(context, { runId, now, test, secrets: secretsIn(whole, config) }) : [];
    if (rows.length > 0) await tx.insertInto('workflow_steps').values(rows).execute();
  });
  context.runs.wake();
  return runId;
}

async function earlierRun(
  { db }: RunsContext,
  { environment, workflowId, userId }: InstallationKey,
  { stepId, given, fromRunId }: Trial,
): Promise<RunRow | undefined> {
  if (stepId === undefined) {
    const useless = [
      ...(fromRunId === undefined ? [] : ['fromRunId']),
      ...(Object.keys(given).length > 0 ? ['given'] : []),
    ];
    const rule = 'belongs to the test of one step: name it by stepId';
    if (useless.length > 0)
      throw invalidRequest(
        useless.map((field) => ({ field, rule })),
        'The body',
      );
  }
  if (fromRunId === undefined) return undefined;
  return requireRun(db, { environment, workflowId, runId: fromRunId, userId });
}

/** Returns a definition with the tested step alone, whose app is the only one that needs an account. */
function alone({
  definition,
  step,
}: {
  definition: Definition;
  step: Definition['steps'][number];
}): Definition {
  return { ...definition, trigger: { type: 'manual' }, steps: [step] };
}

/** Returns the value of the trigger: as the caller gives it, else as the earlier run had it. */
function valueOf(
  trigger: Trigger,
  { trial: { input }, earlier, now }: { trial: Trial; earlier: RunRow | undefined; now: number },
): Occasion['trigger'] {
  const before = earlier && input === undefined ? asObject(parseJson(earlier.trigger)) : undefined;
  // A draft may have another trigger than the earlier run.
  if (before?.['type'] === trigger.type) return { ...before, type: trigger.type };
  return triggerValue(trigger, input, now);
}
