import type { KeyObject } from 'node:crypto';
import { DAY, HOUR, type Clock } from '../lib/clock.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { chainLinks } from './chain-links.ts';
import { contentHash, hashOfBatch } from './execution-chain.ts';

/** How long executions and their batches are stored. */
export const EXECUTIONS_TTL_MS = 90 * DAY;

/** Rows may be deleted while they are checked, so the last hour of their time is not asked for. */
const MARGIN_MS = HOUR;
const PAGE = 1000;
const CHANGED = 'the record of its chain was changed or inserted';

/** The outcome of checking the chains of executions. */
export interface ExecutionVerification {
  executions: number;
  batches: number;
  broken: { row: string; reason: string } | null;
}

type Batch = Tables['execution_batches'];
type Broken = NonNullable<ExecutionVerification['broken']>;

export interface VerifyContext {
  db: DbOrTx;
  hashKey: KeyObject;
  clock: Clock;
}

/** Returns whether rows of a time may be deleted already, because they are stored for a limited time. */
export function isExpired({ clock }: Pick<VerifyContext, 'clock'>, at: number): boolean {
  return at <= clock.now() - EXECUTIONS_TTL_MS + MARGIN_MS;
}

/** Checks the chain of every process, then that each execution is in a chain. Stops at the first broken row. */
export async function verifyExecutions(context: VerifyContext): Promise<ExecutionVerification> {
  const counts = { executions: 0, batches: 0 };
  const broken = (await brokenBatch(context, counts)) ?? (await insertedExecution(context));
  return { ...counts, broken };
}

async function brokenBatch(
  context: VerifyContext,
  counts: { executions: number; batches: number },
): Promise<Broken | null> {
  let before: Batch | undefined;
  for await (const batch of chainLinks(context.db, 'execution_batches')) {
    const last = batch.chain_id === before?.chain_id ? before : undefined;
    const fault = linkFault(context, batch, last) ?? (await contentFault(context, batch));
    if (fault) return fault;
    counts.executions += idsOf(batch).length;
    counts.batches += 1;
    before = batch;
  }
  return null;
}

function linkFault(context: VerifyContext, batch: Batch, before: Batch | undefined): Broken | null {
  const { sequence, previous_at, previous_hash } = batch;
  const row = nameOf(batch);
  if (batch.hash !== hashOfBatch(context.hashKey, batch)) return { row, reason: CHANGED };
  if (sequence !== (before?.sequence ?? 0) + 1) {
    const isOld = previous_at !== null && isExpired(context, previous_at);
    return isOld ? null : { row, reason: 'executions before it were removed' };
  }
  return previous_hash === (before?.hash ?? '') ? null : { row, reason: CHANGED };
}

async function contentFault(context: VerifyContext, batch: Batch): Promise<Broken | null> {
  // Some of its executions may be deleted already, and the hash needs all of them.
  if (isExpired(context, batch.first_at)) return null;
  const ids = idsOf(batch);
  const found = new Map<string, Tables['executions']>();
  for (let at = 0; at < ids.length; at += PAGE) {
    const rows = await context.db
      .selectFrom('executions')
      .selectAll()
      .where('execution_id', 'in', ids.slice(at, at + PAGE))
      .execute();
    for (const row of rows) found.set(row.execution_id, row);
  }
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) return { row: missing, reason: 'it was removed' };
  const executions = ids.map((id) => found.get(id)).filter((one) => one !== undefined);
  if (batch.content_hash === contentHash(context.hashKey, executions)) return null;
  return { row: nameOf(batch), reason: ids.length === 1 ? 'it was changed' : 'one of them was changed' };
}

/** Finds an execution that is in no batch. Batches of expired ones may be deleted already. */
async function insertedExecution({ db, clock }: VerifyContext): Promise<Broken | null> {
  const since = clock.now() - EXECUTIONS_TTL_MS + MARGIN_MS;
  for (const environment of ENVIRONMENTS)
    for await (const rows of pagesOf(db, environment, since)) {
      const chained = await idsBetween(db, rows[0]?.at ?? 0, rows.at(-1)?.at ?? 0);
      const inserted = rows.find(({ execution_id: id }) => !chained.has(id));
      if (inserted)
        return { row: inserted.execution_id, reason: 'it was inserted, because it belongs to no chain' };
    }
  return null;
}

type Place = Pick<Tables['executions'], 'execution_id' | 'at'>;

async function* pagesOf(db: DbOrTx, environment: Environment, since: number): AsyncGenerator<Place[]> {
  let after = { at: since, execution_id: '' };
  for (;;) {
    const { at, execution_id } = after;
    const rows = await db
      .selectFrom('executions')
      .select(['execution_id', 'at'])
      .where('environment', '=', environment)
      .where((e) => e.or([e('at', '>', at), e.and([e('at', '=', at), e('execution_id', '>', execution_id)])]))
      .orderBy('at')
      .orderBy('execution_id')
      .limit(PAGE)
      .execute();
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last;
  }
}

/** Returns the ids in the batches that have executions of these times. */
async function idsBetween(db: DbOrTx, from: number, to: number): Promise<Set<string>> {
  const batches = await db
    .selectFrom('execution_batches')
    .select('executions')
    .where('at', '>=', from)
    .where('first_at', '<=', to)
    .execute();
  return new Set(batches.flatMap(idsOf));
}

function idsOf({ executions }: Pick<Batch, 'executions'>): string[] {
  return JSON.parse(executions);
}

/** Names the executions of a batch: one id, or the first and the last. */
function nameOf(batch: Batch): string {
  const ids = idsOf(batch);
  return ids.length === 1 ? String(ids[0]) : `${ids[0]} to ${ids.at(-1)}`;
}
