import { sql, type Selectable } from 'kysely';
import { DAY, type Clock } from '../lib/clock.ts';
import { isPostgres } from '../store/prepared.ts';
import type { Db, DbOrTx, Tables, Tx } from '../store/schema.ts';

/* The rows of the sandbox's writes. A row is the new state of a record; without a body it is a deletion. */

/** Retention of writes. Registrations of webhooks stay until they are deleted. */
export const WRITES_KEPT_MS = DAY;
const SWEPT_AT_ONCE = 500;

export type WriteRow = Selectable<Tables['sandbox_writes']>;
export type Change = Pick<WriteRow, 'kind' | 'record_id' | 'body'>;

/** Locks an account until the transaction ends. A transaction of SQLite is the only one anyway. */
export async function lockAccount(tx: Tx, accountId: string): Promise<void> {
  if (isPostgres(tx))
    await sql`select pg_advisory_xact_lock(hashtextextended(${`sandbox ${accountId}`}, 0))`.execute(tx);
}

/** Returns the writes of an account after a position that have not expired, in order. */
export function readWrites(
  db: DbOrTx,
  accountId: string,
  { after, now }: { after: number; now: number },
): Promise<WriteRow[]> {
  return db
    .selectFrom('sandbox_writes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('position', '>', after)
    .where((e) => e.or([e('written_at', '>', now - WRITES_KEPT_MS), e('kind', '=', 'webhook')]))
    .orderBy('position')
    .execute();
}

/** Inserts the writes of a transaction that holds the lock of the account. */
export async function insertWrites(
  tx: Tx,
  accountId: string,
  { changes, now }: { changes: readonly Change[]; now: number },
): Promise<void> {
  const last = await tx
    .selectFrom('sandbox_writes')
    .select((e) => e.fn.max('position').as('position'))
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  // Positions rise with the time, so that those of deleted rows are not given again.
  let position = Math.max(Number(last?.position ?? 0), now);
  for (const change of changes) {
    // A deleted registration must not return once the row of its deletion has expired.
    if (change.kind === 'webhook' && change.body === null)
      await tx
        .deleteFrom('sandbox_writes')
        .where('account_id', '=', accountId)
        .where('kind', '=', 'webhook')
        .where('record_id', '=', change.record_id)
        .execute();
    const row = { account_id: accountId, position: ++position, ...change, written_at: now };
    await tx.insertInto('sandbox_writes').values(row).execute();
  }
}

/** Deletes expired writes, some at a time. */
export async function sweepWrites({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  for (;;) {
    const old = await db
      .selectFrom('sandbox_writes')
      .select(['account_id', 'position'])
      .where('written_at', '<=', clock.now() - WRITES_KEPT_MS)
      .where((e) => e.or([e('kind', '!=', 'webhook'), e('body', 'is', null)]))
      .limit(SWEPT_AT_ONCE)
      .execute();
    if (old.length === 0) return;
    await db.transaction().execute(async (tx) => {
      for (const { account_id: accountId, position } of old)
        await tx
          .deleteFrom('sandbox_writes')
          .where('account_id', '=', accountId)
          .where('position', '=', position)
          .execute();
    });
  }
}
