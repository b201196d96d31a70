import { sql, type Insertable, type Selectable } from 'kysely';
import type { Base } from '../base.ts';
import { idempotencyConflict } from '../actions/idempotency.ts';
import { DAY } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newOrderedId } from '../lib/ids.ts';
import { asObject, canonicalJson, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { sha256 } from '../lib/sha256.ts';
import { boundTo } from '../store/sealed-columns.ts';

export type InstallationRow = Selectable<Tables['workflow_installations']>;
export type RunRow = Selectable<Tables['workflow_runs']>;
type SealContext = Pick<Base, 'keys'>;

/** The event that starts a run. */
export interface Occasion {
  /** The value `trigger` of its expressions; `type` is its kind. */
  trigger: JsonObject & { type: RunRow['trigger_type'] };
  /** Whether a caller started the run directly, whatever the workflow's trigger is. */
  byHand?: boolean;
  /** The caller, for the record. */
  caller: string;
  requestId: string;
  /** The MCP server of the call; its restrictions apply to each step. */
  serverId?: string | undefined;
  /** The number of runs before this one that caused each other. */
  chain?: number | undefined;
  /** Occasions with the same name make one run. */
  dedupe?: string | undefined;
  /** The request of an Idempotency-Key: the same key with another request is rejected for 24 hours. */
  request?: Json | undefined;
}

/** Lifetime of an Idempotency-Key, in ms. */
const KEY_TTL_MS = DAY;

/**
 * Queues a run of an installation, in the caller's transaction, with the current version and configuration.
 * Call `context.runs.wake()` after the commit.
 * @returns the run's id, and whether it is new; a repeated occasion returns its first run.
 * @throws GatehouseError `idempotency_conflict` for a key that named another request within 24 hours.
 */
export async function beginRun(
  tx: DbOrTx,
  context: Pick<Base, 'clock' | 'keys'>,
  { installation, occasion }: { installation: InstallationRow; occasion: Occasion },
): Promise<{ runId: string; isNew: boolean }> {
  const runId = newOrderedId('run', context.clock.now());
  const row = await tx
    .insertInto('workflow_runs')
    .values({
      ...queuedRow(context, runId, { occasion, config: openConfig(context, installation) }),
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
    .select(['run_id', 'request_hash', 'created_at'])
    .where('installation_id', '=', installation.installation_id)
    .where('dedupe', '=', occasion.dedupe ?? '')
    .executeTakeFirst();
  if (earlier && !hasExpired(context, earlier, occasion)) {
    const hash = requestHash(occasion);
    if (hash !== null && earlier.request_hash !== null && hash !== earlier.request_hash)
      throw idempotencyConflict();
    return { runId: earlier.run_id, isNew: false };
  }
  if (earlier) await releaseName(tx, earlier.run_id);
  return beginRun(tx, context, { installation, occasion });
}

/**
 * Returns whether the key of an earlier run has expired. Names without a request last as long as their run is stored.
 */
function hasExpired(
  { clock }: Pick<Base, 'clock'>,
  earlier: Pick<RunRow, 'created_at'>,
  { request }: Occasion,
): boolean {
  return request !== undefined && earlier.created_at <= clock.now() - KEY_TTL_MS;
}

async function releaseName(tx: DbOrTx, runId: string): Promise<void> {
  await tx.updateTable('workflow_runs').set({ dedupe: null }).where('run_id', '=', runId).execute();
}

function requestHash({ request }: Occasion): string | null {
  return request === undefined ? null : sha256(canonicalJson(request));
}

/** Limit of queued runs, so that endless calls fill a queue and not the disk. Events have no such limit. */
const MAX_QUEUED = 10_000;

/** @throws GatehouseError `rate_limited` when an installation has too many queued runs. */
export async function assertQueueNotFull(
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
    `${MAX_QUEUED} runs of this installation are queued already. Try again later.`,
    { retryAfterSeconds: 60 },
  );
}

/** Returns the columns of a queued run, without its owner. */
export function queuedRow(
  context: Pick<Base, 'clock' | 'keys'>,
  runId: string,
  { occasion, config }: { occasion: Occasion; config: JsonObject },
) {
  const { trigger, byHand, caller, requestId, serverId, dedupe, chain = 0 } = occasion;
  const now = context.clock.now();
  return {
    run_id: runId,
    definition: null,
    status: 'queued',
    trigger_type: byHand ? 'manual' : trigger.type,
    trigger: JSON.stringify(trigger),
    config_sealed: context.keys.sealJson(config, boundTo('workflow_runs.config_sealed', { run_id: runId })),
    credentials: null,
    server_id: serverId ?? null,
    caller,
    request_id: requestId,
    next_at: now,
    dedupe: dedupe ?? null,
    request_hash: requestHash(occasion),
    chain,
    error: null,
    started_at: null,
    ended_at: null,
    created_at: now,
    updated_at: now,
  } satisfies Partial<Insertable<Tables['workflow_runs']>>;
}

export function sealConfig({ keys }: SealContext, installationId: string, config: JsonObject): string {
  return keys.sealJson(
    config,
    boundTo('workflow_installations.config_sealed', { installation_id: installationId }),
  );
}

export function openConfig({ keys }: SealContext, row: InstallationRow): JsonObject {
  return asObject(
    parseJson(keys.open(row.config_sealed, boundTo('workflow_installations.config_sealed', row))),
  );
}

export function openRunConfig(
  { keys }: SealContext,
  row: Pick<RunRow, 'run_id' | 'config_sealed'>,
): JsonObject {
  return asObject(parseJson(keys.open(row.config_sealed, boundTo('workflow_runs.config_sealed', row))));
}

/** Parses the credentials column: connectorId → credentialId. */
export function credentialsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(asObject(parseJson(text))).map(([name, value]) => [name, String(value)]),
  );
}
