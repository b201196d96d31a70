import type { KeyObject } from 'node:crypto';
import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { signatureOf, type ChainHead } from './audit-chain.ts';

/** Time before the last checkpoint whose entries are read again, because clocks of machines differ. */
const OVERLAP_MS = 10 * MINUTE;
const TRIES = 5;

/**
 * Stores a checkpoint: the heads of all chains that grew since the last one, signed together with it. Chains of ended
 * processes are included. Returns undefined when no chain grew.
 */
export async function writeCheckpoint({
  db,
  clock,
  hashKey,
}: Pick<Base, 'db' | 'clock'> & { hashKey: KeyObject }): Promise<Tables['audit_checkpoints'] | undefined> {
  for (let tries = 1; ; tries += 1) {
    const last = await lastCheckpoint(db);
    const heads = await grownHeads(db, last);
    if (heads.length === 0) return undefined;
    const unsigned = {
      sequence: (last?.sequence ?? 0) + 1,
      at: clock.now(),
      heads: JSON.stringify(heads),
      previous_signature: last?.signature ?? '',
    };
    const row = { ...unsigned, signature: signatureOf(hashKey, unsigned) };
    // Two processes may use the same number. The slower one reads again, because the other checkpoint may cover its heads.
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('audit_checkpoints')
      .values(row)
      .onConflict((c) => c.column('sequence').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 1n) return row;
    if (tries === TRIES) return undefined;
  }
}

export function headsOf(checkpoint: Pick<Tables['audit_checkpoints'], 'heads'>): ChainHead[] {
  return JSON.parse(checkpoint.heads);
}

function lastCheckpoint(db: DbOrTx): Promise<Tables['audit_checkpoints'] | undefined> {
  return db
    .selectFrom('audit_checkpoints')
    .selectAll()
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
}

async function grownHeads(db: DbOrTx, last: Tables['audit_checkpoints'] | undefined): Promise<ChainHead[]> {
  const since = last ? last.at - OVERLAP_MS : 0;
  const heads = [...(await headsIn(db, 'audit', since)), ...(await headsIn(db, 'execution_batches', since))];
  const covered = new Set<string>();
  for (const { heads: text } of await recentCheckpoints(db, since))
    for (const { chainId, sequence } of headsOf({ heads: text })) covered.add(`${chainId} ${sequence}`);
  return heads.filter(({ chainId, sequence }) => !covered.has(`${chainId} ${sequence}`));
}

/** Returns the heads of the chains in a table that grew since a time. */
async function headsIn(
  db: DbOrTx,
  table: 'audit' | 'execution_batches',
  since: number,
): Promise<ChainHead[]> {
  const { rows } = await sql<{ chain_id: string; sequence: number; hash: string; at: number }>`
    select link.chain_id, link.sequence, link.hash, link.at from ${sql.table(table)} link join (
      select chain_id, max(sequence) as newest from ${sql.table(table)}
      where chain_id is not null and at >= ${since} group by chain_id
    ) heads on heads.chain_id = link.chain_id and heads.newest = link.sequence
    order by link.chain_id`.execute(db);
  return rows.map(({ chain_id: chainId, sequence, hash, at }) => ({
    chainId,
    sequence,
    hash,
    ...(table === 'audit' ? {} : { at }),
  }));
}

function recentCheckpoints(db: DbOrTx, since: number): Promise<Pick<Tables['audit_checkpoints'], 'heads'>[]> {
  return db.selectFrom('audit_checkpoints').select('heads').where('at', '>=', since).execute();
}
