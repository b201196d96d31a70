import type { Context } from './context.ts';
import { requireEnabled } from '../identity/users.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asObject, isJsonObject, parseJson, asJson, type Json, type JsonObject } from '../lib/json.ts';
import { scrubJson } from '../lib/scrub-json.ts';
import { openRunConfig, type RunRow } from './begin.ts';
import { assertNoLoop, chainOfEvent } from './chains.ts';
import { storedDefinition, type Definition } from './workflow-definition.ts';
import type { Scope } from './evaluate.ts';
import { secretFields } from './configurable-fields.ts';
import type { PerformContext } from './perform.ts';
import { findVersion } from './workflow-records.ts';
import { outputOf, stepRows, type StepRow } from './step-rows.ts';

export type WorkContext = PerformContext & Pick<Context, 'expressions'>;

/** A run with its data, for the process that holds its lease. */
export interface Work {
  run: RunRow;
  definition: Definition;
  scope: Scope;
  /** Runs before this one that caused each other. */
  chain: number;
  /** Values of secret fields of the configuration, which must stay out of the log. */
  secrets: string[];
  /** Size of the results in `scope.steps`, as JSON. */
  resultBytes: number;
  /** Rows of started steps, by position. */
  rows: Map<number, StepRow>;
}

/** Opens a run. @throws GatehouseError when its version or its user is deleted, or its user is disabled. */
export async function openWork(context: WorkContext, run: RunRow): Promise<Work> {
  const definition = await definitionOfRun(context, run);
  const user = await requireEnabled(context.db, run.environment, run.user_id);
  const config = openRunConfig(context, run);
  const trigger = parseJson(run.trigger);
  const chain = await chainOf(context, run, trigger);
  assertNoLoop(chain);
  const rows = await stepRows(context.db, run.run_id);
  const work: Work = {
    run,
    definition,
    chain,
    scope: {
      trigger: asObject(trigger),
      steps: {},
      config,
      user: { userId: user.userId, username: user.username, metadata: user.metadata },
    },
    secrets: secretsIn(definition, config),
    resultBytes: 0,
    rows: new Map(rows.map((row) => [row.position, row])),
  };
  for (const row of rows)
    if (row.position < run.position) addResult(work, row.step_id, outputOf(context, row));
  return work;
}

/** Adds the result of a step to those that later steps read. */
export function addResult(work: Work, stepId: string, output: Json): void {
  work.scope.steps[stepId] = output;
  work.resultBytes += sizeOf(output);
}

/** Returns the bytes of a result as JSON. */
export function sizeOf(output: Json): number {
  return Buffer.byteLength(JSON.stringify(output));
}

/**
 * Returns the place of a run in its chain. The event of a write may come before the app answers the write, so a run looks
 * for the write again when it starts.
 */
async function chainOf(context: WorkContext, run: RunRow, trigger: Json): Promise<number> {
  if (run.trigger_type !== 'event' || run.chain > 0 || run.position > 0 || run.installation_id === null)
    return run.chain;
  const source = await context.db
    .selectFrom('workflow_installations')
    .innerJoin('sources', 'sources.source_id', 'workflow_installations.source_id')
    .select('sources.connector_id')
    .where('workflow_installations.installation_id', '=', run.installation_id)
    .executeTakeFirst();
  if (!source) return run.chain;
  return chainOfEvent(context.db, context, {
    userId: run.user_id,
    connectorId: source.connector_id,
    remoteId: asObject(asObject(trigger)['data'] ?? null)['remoteId'],
    before: run.created_at,
  });
}

/** Returns the values of secret fields of a configuration. */
export function secretsIn({ configurableFields }: Definition, config: JsonObject): string[] {
  return secretFields(configurableFields).flatMap((name) => textsIn(config[name] ?? null));
}

/** Returns the error that stops a run before its next step, because its user is disabled or deleted. */
export async function refusalOf(
  { db }: Pick<Context, 'db'>,
  { environment, user_id: userId }: RunRow,
): Promise<GatehouseError | undefined> {
  try {
    await requireEnabled(db, environment, userId);
    return undefined;
  } catch (error) {
    if (error instanceof GatehouseError) return error;
    throw error;
  }
}

async function definitionOfRun({ db }: Pick<Context, 'db'>, run: RunRow): Promise<Definition> {
  if (run.definition !== null) return storedDefinition(run.definition);
  const version = await findVersion(db, run.workflow_id, run.version);
  if (version) return version.definition;
  throw new GatehouseError(
    'workflow_version_not_found',
    'The version that this run began with no longer exists.',
  );
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

const MOST_LOGGED_BYTES = 64 * 1024;

/** Returns an input as the log shows it: without secrets, and omitted beyond 64 KiB. */
export function loggedInput({ secrets }: Pick<Work, 'secrets'>, input: Json): string {
  const text = JSON.stringify(scrubJson(input, secrets));
  const bytes = Buffer.byteLength(text);
  return bytes <= MOST_LOGGED_BYTES ? text : JSON.stringify({ omitted: true, bytes });
}

/** Returns a failure as the log shows it. */
export function loggedError(
  { secrets }: Pick<Work, 'secrets'>,
  error: GatehouseError,
  stepId?: string,
): string {
  const { code, message, details } = error;
  const facts: Json = { ...(stepId === undefined ? {} : { stepId }), code, error: message };
  const whole: Json = details === undefined ? facts : asJson({ ...facts, details });
  const text = JSON.stringify(scrubJson(whole, secrets));
  return Buffer.byteLength(text) <= MOST_LOGGED_BYTES ? text : JSON.stringify(scrubJson(facts, secrets));
}
