import { sql, type Insertable, type Selectable } from 'kysely';
import type { Context } from '../context.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newOrderedId } from '../lib/ids.ts';
import { parseJson, type JsonObject } from '../lib/json.ts';
import { isJsonObject } from '../lib/json.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';

export type InstallationRow = Selectable<Tables['workflow_installations']>;
export type RunRow = Selectable<Tables['workflow_runs']>;
type SealContext = Pick<Context, 'keys'>;

/** What makes an installation run. */
export interface Occasion {
  /** The value `trigger` of its expressions; `type` says which kind it is. */
  trigger: JsonObject & { type: RunRow['trigger_type'] };
  /** Who asks, for the record. */
  caller: string;
  requestId: string;
  /** The MCP server that it comes through: its restrictions hold for each step. */
  serverId?: string | undefined;
  /** Of occasions with the same name, one makes a run. */
  dedupe?: string | undefined;
}

/**
 * Queues a run of an installation, in the caller's transaction, with the version and the configuration of this moment.
 * @returns its id, and whether it is new: an occasion that has made one already gives that one again. After the commit,
 * `context.runs.wake()`.
 */
export async function beginRun(
  tx: DbOrTx,
  context: Pick<Context, 'clock' | 'keys'>,
  installation: InstallationRow,
  occasion: Occasion,
): Promise<{ runId: string; isNew: boolean }> {
  const runId = newOrderedId('run', context.clock.now());
  const row = await tx
    .insertInto('workflow_runs')
    .values({
      ...queuedRow(context, runId, occasion, openConfig(context, installation)),
      environment: installation.environment,
      workflow_id: installation.workflow_id,
      installation_id: installation.installation_id,
      user_id: installation.user_id,
      version: installation.version,
    })
    .onConflict((c) => c.columns(['installation_id', 'dedupe']).doNothing())
    .returning('run_id')
    .executeTakeFirst();
  if (row) return { runId, isNew: true };
  const earlier = await tx
    .selectFrom('workflow_runs')
    .select('run_id')
    .where('installation_id', '=', installation.installation_id)
    .where('dedupe', '=', occasion.dedupe ?? '')
    .executeTakeFirstOrThrow();
  return { runId: earlier.run_id, isNew: false };
}

/** Whoever calls without end fills a queue, and not the disk. Events are what they are, and have no such end. */
const MAX_QUEUED = 10_000;

/** @throws GatehouseError `rate_limited` when an installation has too many runs that wait for their turn. */
export async function assertRoom(
  db: DbOrTx,
  { installation_id: installationId }: Pick<InstallationRow, 'installation_id'>,
): Promise<void> {
  const queued = await db
    .selectFrom('workflow_runs')
    .select('run_id')
    .where('installation_id', '=', installationId)
    .where('status', '=', sql.lit('queued'))
    .limit(1)
    .offset(MAX_QUEUED - 1)
    .executeTakeFirst();
  if (!queued) return;
  throw new GatehouseError(
    'rate_limited',
    `${MAX_QUEUED} runs of this installation wait for their turn already. Try again later.`,
    { headers: { 'Retry-After': '60' } },
  );
}

/** The columns of a run that has yet to begin, but for whose it is. */
export function queuedRow(
  context: Pick<Context, 'clock' | 'keys'>,
  runId: string,
  { trigger, caller, requestId, serverId, dedupe }: Occasion,
  config: JsonObject,
) {
  const now = context.clock.now();
  return {
    run_id: runId,
    definition: null,
    status: 'queued',
    trigger_type: trigger.type,
    trigger: JSON.stringify(trigger),
    config_sealed: context.keys.seal(JSON.stringify(config), runBinding(runId)),
    credentials: null,
    server_id: serverId ?? null,
    caller,
    request_id: requestId,
    next_at: now,
    dedupe: dedupe ?? null,
    error: null,
    started_at: null,
    ended_at: null,
    created_at: now,
    updated_at: now,
  } satisfies Partial<Insertable<Tables['workflow_runs']>>;
}

export function sealConfig({ keys }: SealContext, installationId: string, config: JsonObject): string {
  return keys.seal(JSON.stringify(config), `workflow_installation|${installationId}`);
}

export function openConfig({ keys }: SealContext, row: InstallationRow): JsonObject {
  return object(keys.open(row.config_sealed, `workflow_installation|${row.installation_id}`));
}

export function openRunConfig(
  { keys }: SealContext,
  row: Pick<RunRow, 'run_id' | 'config_sealed'>,
): JsonObject {
  return object(keys.open(row.config_sealed, runBinding(row.run_id)));
}

/** connectorId → credentialId, as a row has it. */
export function credentialsIn(text: string): Record<string, string> {
  return Object.fromEntries(Object.entries(object(text)).map(([name, value]) => [name, String(value)]));
}

function runBinding(runId: string): string {
  return `workflow_run|${runId}`;
}

function object(text: string): JsonObject {
  const value = parseJson(text);
  return isJsonObject(value) ? value : {};
}
