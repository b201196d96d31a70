import type { KeyObject } from 'node:crypto';
import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { signatureOf, type ChainHead } from './audit-chain.ts';

/** Entries this much older than the last checkpoint are looked at again, because clocks of machines differ. */
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
    // Two processes may write the same number: the second one reads again, because its heads may be covered now.
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
  const newest = db
    .selectFrom('audit')
    .select((e) => ['chain_id', e.fn.max('sequence').as('newest')])
    .where('chain_id', 'is not', null)
    .where('at', '>=', since)
    .groupBy('chain_id');
  const rows = await db
    .selectFrom('audit')
    .innerJoin(newest.as('heads'), (join) =>
      join.onRef('heads.chain_id', '=', 'audit.chain_id').onRef('heads.newest', '=', 'audit.sequence'),
    )
    .select(['audit.chain_id', 'audit.sequence', 'audit.hash'])
    .orderBy('audit.chain_id')
    .execute();
  const heads = rows.map(({ chain_id, sequence, hash }) => ({
    chainId: chain_id ?? '',
    sequence: sequence ?? 0,
    hash: hash ?? '',
  }));
  const covered = new Set<string>();
  for (const { heads: text } of await recentCheckpoints(db, since))
    for (const { chainId, sequence } of headsOf({ heads: text })) covered.add(`${chainId} ${sequence}`);
  return heads.filter(({ chainId, sequence }) => !covered.has(`${chainId} ${sequence}`));
}

function recentCheckpoints(db: DbOrTx, since: number): Promise<Pick<Tables['audit_checkpoints'], 'heads'>[]> {
  return db.selectFrom('audit_checkpoints').select('heads').where('at', '>=', since).execute();
}
