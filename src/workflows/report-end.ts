import type { Context } from './context.ts';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import type { Tx } from '../store/schema.ts';
import type { RunRow } from './begin.ts';

const MOST_REASON_CHARS = 500;

/** The end of a run. */
interface Ending {
  status: 'succeeded' | 'failed';
  /** The column `error` of the run: JSON without secrets. */
  error: string | null;
}

/**
 * Notifies the operator in the transaction that ends a run: `run.failed` at its first failure, `run.recovered` when a
 * failed run succeeds later.
 */
export async function reportEnd(
  tx: Tx,
  { operator }: Pick<Context, 'operator'>,
  { run, ending: { status, error } }: { run: RunRow; ending: Ending },
): Promise<void> {
  const facts = await factsOf(tx, run);
  if (status === 'succeeded')
    return operator.notify(tx, run.environment, { type: 'run.recovered', data: facts });
  await operator.notify(tx, run.environment, { type: 'run.failed', data: { ...facts, ...failureIn(error) } });
}

async function factsOf(tx: Tx, run: RunRow): Promise<JsonObject> {
  const workflow = await tx
    .selectFrom('workflows')
    .select('name')
    .where('workflow_id', '=', run.workflow_id)
    .executeTakeFirst();
  return {
    runId: run.run_id,
    workflowId: run.workflow_id,
    workflowName: workflow?.name ?? null,
    installationId: run.installation_id,
    userId: run.user_id,
    version: run.version,
    trigger: run.trigger_type,
  };
}

/** Returns ids and the reason. Details stay in the log of the run, because they may quote an app's answer. */
function failureIn(error: string | null): JsonObject {
  const logged: Json = error === null ? null : parseJson(error);
  if (!isJsonObject(logged)) return {};
  const { stepId = null, code = null, error: message } = logged;
  return { stepId, code, reason: String(message ?? '').slice(0, MOST_REASON_CHARS) };
}
