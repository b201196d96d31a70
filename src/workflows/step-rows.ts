import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Context } from './context.ts';
import { SECOND } from '../lib/clock.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { scrubJson } from '../lib/scrub-json.ts';
import type { DbOrTx, Tables, Tx } from '../store/schema.ts';
import type { RunRow } from './begin.ts';
import { reportEnd } from './report-end.ts';
import { boundTo } from '../store/sealed-columns.ts';

export type StepRow = Selectable<Tables['workflow_steps']>;
export type StepChanges = Updateable<Tables['workflow_steps']>;
export type RunChanges = Updateable<Tables['workflow_runs']>;
/** How long a process holds a run. It renews the lease while it works; after a crash another process takes over. */
export const LEASE_MS = 10 * SECOND;

/** `item` in the row of the step itself. */
export const WHOLE = -1;

/** Thrown when the run is no longer ours: taken over, cancelled, or deleted with its workflow. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

export type Write = (tx: Tx) => Promise<void>;

/** Writes of steps, in this order. */
export interface Writes {
  /** The result of a step, written even if the run was cancelled during the step. */
  result?: Write;
  /** The start of the next step, not written if the run was cancelled. */
  beginning?: Write;
}

/**
 * Writes a step's result, the next step's start and the run's state, if we still hold the run.
 * Notifies the operator of a run's end in the same transaction.
 * @throws Overtaken when the run is not ours or was cancelled.
 */
export async function commit(
  context: Pick<Context, 'db' | 'clock' | 'telemetry' | 'operator'>,
  run: RunRow,
  { result, beginning, changes = {} }: Writes & { changes?: RunChanges | undefined },
): Promise<void> {
  const { db, clock } = context;
  const held = await db.transaction().execute(async (tx) => {
    const now = clock.now();
    const ours = tx
      .updateTable('workflow_runs')
      .where('run_id', '=', run.run_id)
      .where('fence', '=', run.fence);
    const row = await ours
      .set({ updated_at: now })
      .returning(['status', 'failure_reported'])
      .executeTakeFirst();
    if (!row) return false;
    await result?.(tx);
    if (row.status !== 'running') {
      await cancelWaiting(tx, run.run_id, now);
      // No step of this run is in progress here any more.
      await ours.set({ next_at: now }).execute();
      return false;
    }
    await beginning?.(tx);
    await ours.set({ next_at: now + LEASE_MS, ...changes }).execute();
    const { status, error = null } = changes;
    const isReported = row.failure_reported === 1;
    if (status === 'failed' && !isReported) {
      await ours.set({ failure_reported: 1 }).execute();
      await reportEnd(tx, context, { run, ending: { status, error } });
    }
    if (status === 'succeeded' && isReported)
      await reportEnd(tx, context, { run, ending: { status, error } });
    return true;
  });
  if (!held) throw new Overtaken('The run is not ours any more.');
  const { status } = changes;
  if (status === 'succeeded' || status === 'failed') context.telemetry.workflowRuns.count(status);
}

/** Cancels the waiting steps of a cancelled run, so that none is retried. */
export async function cancelWaiting(tx: DbOrTx, runId: string, now: number): Promise<void> {
  await tx
    .updateTable('workflow_steps')
    .set({ status: 'cancelled', sealed: null, ended_at: now })
    .where('run_id', '=', runId)
    .where('status', '=', 'waiting')
    .execute();
}

/** Renews the lease, also of a cancelled run. Its log relies on the lease while the last step is still running. */
export async function renewLease(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  run: Pick<RunRow, 'run_id' | 'fence'>,
): Promise<void> {
  await db
    .updateTable('workflow_runs')
    .set({ next_at: clock.now() + LEASE_MS })
    .where('run_id', '=', run.run_id)
    .where('fence', '=', run.fence)
    .where('status', 'in', ['running', 'cancelled'])
    .execute();
}

/** Returns the rows of the steps themselves, in order. */
export async function stepRows(db: DbOrTx, runId: string): Promise<StepRow[]> {
  return db
    .selectFrom('workflow_steps')
    .selectAll()
    .where('run_id', '=', runId)
    .where('item', '=', WHOLE)
    .orderBy('position')
    .execute();
}

/** Returns the rows of a for-each's started items, in order. */
export async function itemRows(db: DbOrTx, runId: string, position: number): Promise<StepRow[]> {
  return db
    .selectFrom('workflow_steps')
    .selectAll()
    .where('run_id', '=', runId)
    .where('position', '=', position)
    .where('item', '>', WHOLE)
    .orderBy('item')
    .execute();
}

/** The columns that every new step has. Others have the values of a step that was not attempted. */
export type NewStep = Place & Pick<StepRow, 'step_id' | 'status' | 'started_at'> & Partial<StepRow>;

export function newStep(step: NewStep): StepRow {
  return {
    attempts: 0,
    generation: 0,
    input: null,
    sealed: null,
    output: null,
    output_sealed: null,
    error: null,
    ended_at: null,
    ...step,
  };
}

export async function insertStep(tx: DbOrTx, row: Insertable<Tables['workflow_steps']>): Promise<void> {
  await tx.insertInto('workflow_steps').values(row).execute();
}

export async function updateStep(
  tx: DbOrTx,
  { run_id: runId, position, item }: Place,
  set: StepChanges,
): Promise<void> {
  await tx
    .updateTable('workflow_steps')
    .set(set)
    .where('run_id', '=', runId)
    .where('position', '=', position)
    .where('item', '=', item)
    .execute();
}

export type Place = Pick<StepRow, 'run_id' | 'position' | 'item'>;

export function sealStep({ keys }: Pick<Context, 'keys'>, place: Place, value: Json): string {
  return keys.sealJson(value, binding(place));
}

export function openStep({ keys }: Pick<Context, 'keys'>, place: Place, sealed: string): Json {
  return stored(keys.open(sealed, binding(place)));
}

/** Returns the output that later steps receive. */
export function outputOf(context: Pick<Context, 'keys'>, row: StepRow): JsonObject {
  const sealed =
    row.output_sealed === null ? undefined : openStep(context, outputPlace(row), row.output_sealed);
  const value = sealed ?? (row.output === null ? null : stored(row.output));
  return isJsonObject(value) ? value : { data: null };
}

/** Returns the columns of an output: the log's version, and the sealed original if they differ. */
export function outputColumns(
  context: Pick<Context, 'keys'>,
  place: Place,
  { output, secrets }: { output: JsonObject; secrets: readonly string[] },
): Pick<StepRow, 'output' | 'output_sealed'> {
  const exact = JSON.stringify(output);
  const clean = JSON.stringify(scrubJson(output, secrets));
  const sealed = clean === exact ? null : sealStep(context, outputPlace(place), output);
  return { output: clean, output_sealed: sealed };
}

/** Parses our own JSON, without a limit of depth. */
function stored(text: string): Json {
  return JSON.parse(text);
}

function outputPlace(place: Place): Place & { part: 'output' } {
  return { ...place, part: 'output' };
}

function binding(place: Place & { part?: 'input' | 'output' }): string {
  return place.part === 'output'
    ? boundTo('workflow_steps.output_sealed', place)
    : boundTo('workflow_steps.sealed', place);
}
