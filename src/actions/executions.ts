import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Base } from '../base.ts';
import { withoutTokens } from '../crypto/tokens.ts';
import { DAY, MINUTE, SECOND } from '../lib/clock.ts';
import type { AuditLog } from '../runtime/audit-log.ts';
import { createExecutionChain } from '../runtime/execution-chain.ts';
import { manyRows } from '../store/prepared.ts';
import type { Db, Tables, DbOrTx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { boundTo } from '../store/sealed-columns.ts';
import type { Attempt } from '../upstream/upstream-call.ts';
import { createPayloadPolicy, type Payload, type PayloadPolicy } from './payloads.ts';
import { deleteOldRows } from './execution-retention.ts';

/** One decision: who requested which action, whether it was allowed, and how it ended. */
export interface Execution {
  /** From newOrderedId(). */
  executionId: string;
  environment: Environment;
  requestId: string;
  /** The caller's label: `key:<keyId>`, `jwt:<userId>`, `token:<serverId>`, `stdio`. */
  caller: string;
  serverId: string | undefined;
  userId: string | undefined;
  connectorId: string;
  actionId: string;
  credentialId: string | undefined;
  outcome: 'succeeded' | 'failed' | 'denied';
  /** The restriction that denied the call, such as `actions.blockedActions`. */
  rule: string | undefined;
  errorCode: string | undefined;
  /** HTTP status of the third party's last answer. */
  upstreamStatus: number | undefined;
  durationMs: number;
  /** Requests to the app, in their order. */
  attempts: readonly Attempt[];
  /** The program that made the call. */
  programId?: string | undefined;
  /** The execution that this one undoes. */
  undoOf?: string | undefined;
}

/**
 * The record of executions. Rows are written in batches, one transaction each. Measured: a row written alone costs a
 * synced commit, a row in a batch costs a tenth of that.
 */
export interface ExecutionLog extends AsyncDisposable {
  /** Returns which payloads an environment stores. */
  readonly payloads: PayloadPolicy;
  /** Adds a row, which is written within 50 ms, with its payload where there is one. */
  append(execution: Execution, payload?: Payload): void;
  /**
   * Resolves when the row is committed. It also resolves when the store fails, which is logged, so that the answer
   * still reaches the caller.
   */
  commit(execution: Execution, payload?: Payload): Promise<void>;
  /** Writes the waiting rows. */
  flush(): Promise<void>;
  /** Writes the waiting rows, and stops. */
  close(): Promise<void>;
}

const BATCH_MS = 50;
const RETRY_MS = SECOND;
const ROWS_AT_ONCE = 64;
/** Maximum number of waiting rows while the store fails. Beyond it the oldest are dropped, which is logged. */
const MAX_WAITING = 10_000;
/** Maximum number of requests that a row names. A list with a read for each record can have more. */
const MAX_ATTEMPTS = 100;
/** `last_used_at` is written once in this time per credential, not per call. */
const USED_MS = MINUTE;
const MAX_USED = 10_000;
const SWEEP_MS = 10 * MINUTE;

/** Waiting rows beyond which payloads are dropped, because a row with its payload may take 170 KiB. */
const MAX_WAITING_PAYLOADS = 500;

type Row = Tables['executions'];
type BatchRow = Tables['execution_batches'];
type PayloadRow = Tables['execution_payloads'];
/** A row that waits to be written. */
interface Waiting {
  row: Row;
  payload: PayloadRow | undefined;
}

/* A commit may report an error after it took effect. The batch is written again, so rows that exist are skipped. */
const insertPayloads = manyRows((db, rows: PayloadRow[]) =>
  db
    .insertInto('execution_payloads')
    .values(rows)
    .onConflict((c) => c.column('execution_id').doNothing()),
);
const insertBatches = manyRows((db, rows: BatchRow[]) => db.insertInto('execution_batches').values(rows));
const insertExecutions = manyRows((db, rows: Row[]) =>
  db
    .insertInto('executions')
    .values(rows)
    .onConflict((c) => c.column('execution_id').doNothing()),
);

export function createExecutionLog({
  db,
  clock,
  log,
  keys,
  hashKey,
  audit,
}: Pick<Base, 'db' | 'clock' | 'log' | 'keys' | 'hashKey'> & {
  audit: Pick<AuditLog, 'executionsGrew'>;
}): ExecutionLog {
  const chain = createExecutionChain(hashKey);
  // Redaction is off, because these fields hold no secrets and redacting would be most of the line's cost.
  const lines = log.child({}, { redact: [] });
  let waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** The batch that is being written, and at most one further flush after it. */
  let writing: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const usedAt = new LRUCache<string, number>({ max: MAX_USED });

  const add = (execution: Execution, payload: Payload | undefined): void => {
    if (waiting.length >= MAX_WAITING) {
      const lost = waiting.splice(0, MAX_WAITING / 10).length;
      log.error({ lost }, 'executions dropped: the store does not accept them');
    }
    const row = toRow(execution, clock.now());
    const isStored = payload !== undefined && waiting.length < MAX_WAITING_PAYLOADS;
    waiting.push({ row, payload: isStored ? toPayloadRow(keys, row, payload) : undefined });
    lines.info(factsOf(execution), 'action');
  };

  const schedule = (delayMs: number): void => {
    timer ??= setTimeout(() => void flush(), delayMs);
  };

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (!writing) {
      writing = writeBatch().finally(() => (writing = undefined));
      return writing;
    }
    // Flushes requested during a batch share the next batch.
    next ??= writing.then(() => {
      next = undefined;
      return flush();
    });
    return next;
  };

  const writeBatch = async (): Promise<void> => {
    const batch = waiting;
    if (batch.length === 0) return;
    waiting = [];
    const rows = batch.map(({ row }) => row);
    const payloads = batch.map(({ payload }) => payload).filter((one) => one !== undefined);
    const used = newlyUsed(rows, usedAt, clock.now());
    const link = chain.linkOf(rows);
    try {
      await writeRows(db, { rows, payloads, link }, used);
      chain.stored(link);
      audit.executionsGrew();
      for (const [credentialId, at] of used) usedAt.set(credentialId, at);
    } catch (error) {
      chain.restart();
      log.error({ err: error, rows: batch.length }, 'executions not written, will retry');
      waiting = [...batch, ...waiting];
      schedule(RETRY_MS);
    }
  };

  const sweep = setInterval(() => {
    deleteOldRows(db, clock.now()).catch((error: unknown) =>
      log.error({ err: error }, 'old rows not deleted'),
    );
  }, SWEEP_MS);
  sweep.unref();

  const close = async (): Promise<void> => {
    clearInterval(sweep);
    await flush();
    await writing;
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length > 0)
      log.error({ lost: waiting.length }, 'executions lost: the store did not accept them');
  };

  return {
    payloads: createPayloadPolicy({ db, clock, log }),
    append(execution, payload) {
      add(execution, payload);
      schedule(BATCH_MS);
    },
    commit(execution, payload) {
      add(execution, payload);
      return flush();
    },
    flush,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function toRow(execution: Execution, now: number): Row {
  return {
    execution_id: execution.executionId,
    environment: execution.environment,
    at: now,
    request_id: execution.requestId,
    caller: execution.caller,
    server_id: execution.serverId ?? null,
    user_id: execution.userId ?? null,
    connector_id: plain(execution.connectorId),
    action_id: plain(execution.actionId),
    credential_id: execution.credentialId ?? null,
    outcome: execution.outcome,
    rule: execution.rule ?? null,
    error_code: execution.errorCode ?? null,
    upstream_status: execution.upstreamStatus ?? null,
    duration_ms: Math.round(execution.durationMs),
    attempts: attemptsText(execution.attempts),
    program_id: execution.programId ?? null,
    undo_of: execution.undoOf ?? null,
  };
}

/** Returns several requests as JSON. Returns null for a single one, which the call's status and duration describe. */
function attemptsText(attempts: readonly Attempt[]): string | null {
  if (attempts.length < 2) return null;
  const kept = attempts.slice(0, MAX_ATTEMPTS).map(({ waitMs, durationMs, ...attempt }) => ({
    ...attempt,
    waitMs: Math.round(waitMs),
    durationMs: Math.round(durationMs),
  }));
  return JSON.stringify(kept);
}

/** An id that needs no cleaning: short, and without the prefix of a token. */
const ORDINARY_ID = /^(?!.*gh_)[a-z0-9_]{1,32}$/;

/**
 * Cleans an id as the caller wrote it, known or not. PostgreSQL accepts no NUL, and one bad row would block its batch. A
 * caller may also have written a token in the place of an id.
 */
function plain(id: string): string {
  if (ORDINARY_ID.test(id)) return id;
  return withoutTokens(id)
    .slice(0, 100)
    .replaceAll(/[^\x20-\x7e]/g, '?');
}

/** Returns the credentials of the batch whose last use must be written, with that time. */
function newlyUsed(batch: Row[], usedAt: LRUCache<string, number>, now: number): Map<string, number> {
  const used = new Map<string, number>();
  for (const row of batch) {
    const { credential_id: credentialId, outcome, at } = row;
    if (credentialId === null || outcome === 'denied' || isStopped(row)) continue;
    if (now - (usedAt.get(credentialId) ?? -Infinity) >= USED_MS) used.set(credentialId, at);
  }
  return used;
}

/** Returns whether the account of a call stopped it before the app was asked. */
function isStopped({ error_code: code, upstream_status: status }: Row): boolean {
  return status === null && (code === 'credential_invalid' || code === 'credential_required');
}

function toPayloadRow(keys: Base['keys'], row: Row, { days, ...payload }: Payload): PayloadRow {
  return {
    execution_id: row.execution_id,
    user_id: row.user_id,
    sealed: keys.sealJson(payload, boundTo('execution_payloads.sealed', row)),
    expires_at: row.at + days * DAY,
  };
}

async function writeRows(
  db: Db,
  { rows, payloads, link }: { rows: Row[]; payloads: PayloadRow[]; link: BatchRow },
  used: ReadonlyMap<string, number>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      // SQLite runs on this thread. Other requests run between two parts instead of waiting for all of them.
      if (at > 0) await new Promise((next) => setImmediate(next));
      await insertExecutions(db, tx, rows.slice(at, at + ROWS_AT_ONCE));
    }
    await insertBatches(db, tx, [link]);
    for (let at = 0; at < payloads.length; at += ROWS_AT_ONCE)
      await insertPayloads(db, tx, payloads.slice(at, at + ROWS_AT_ONCE));
    // All processes update in one order, so that two never wait for each other's rows.
    for (const [credentialId, at] of [...used].sort(([a], [b]) => (a < b ? -1 : 1))) {
      await tx
        .updateTable('credentials')
        .set({ last_used_at: at })
        .where('credential_id', '=', credentialId)
        .execute();
    }
  });
}

const EXECUTION_ID = /^exe_[0-9A-Za-z]{22}$/;

/** Returns the facts of an execution for its log line. */
function factsOf(execution: Execution) {
  const { connectorId, actionId, requestId, caller, serverId, userId } = execution;
  const { outcome, rule, errorCode, upstreamStatus } = execution;
  return {
    requestId,
    action: `${connectorId}.${actionId}`,
    caller,
    serverId,
    userId,
    outcome,
    rule,
    errorCode,
    upstreamStatus,
    durationMs: Math.round(execution.durationMs * 10) / 10,
  };
}

/** Returns an execution of an environment, or undefined. */
export async function findExecution(
  db: DbOrTx,
  environment: Environment,
  executionId: string,
): Promise<Tables['executions'] | undefined> {
  if (!EXECUTION_ID.test(executionId)) return undefined;
  return db
    .selectFrom('executions')
    .selectAll()
    .where('execution_id', '=', executionId)
    .where('environment', '=', environment)
    .executeTakeFirst();
}

/** Returns the executions that undid these, by the id of the undone one. */
export async function undoneBy(
  db: DbOrTx,
  environment: Environment,
  executionIds: readonly string[],
): Promise<Map<string, string>> {
  if (executionIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('executions')
    .select(['execution_id', 'undo_of'])
    .where('undo_of', 'in', executionIds)
    // `column || ''` matches no index. SQLite without statistics would read all succeeded calls of the environment.
    .where(sql`environment || ''`, '=', environment)
    .where(sql`outcome || ''`, '=', 'succeeded')
    .execute();
  return new Map(rows.map((row) => [row.undo_of ?? '', row.execution_id]));
}
