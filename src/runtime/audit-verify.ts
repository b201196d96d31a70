import type { DbOrTx, Tables } from '../store/schema.ts';
import { hashOfEntry, signatureOf, type ChainedEntry } from './audit-chain.ts';
import { chainLinks } from './chain-links.ts';
import { isAnchored, type Anchor } from './audit-anchor.ts';
import { headsOf } from './audit-checkpoints.ts';
import { isExpired, verifyExecutions, type VerifyContext } from './execution-verify.ts';

/** The outcome of checking the whole audit log, and the executions. */
export interface Verification {
  entries: number;
  chains: number;
  checkpoints: number;
  /** Executions in chains, and the batches in which they were written. */
  executions: number;
  batches: number;
  /** The checkpoint that a file of the home names; null where no file does. */
  anchor: Anchor | null;
  /** The first broken row with the reason, or null when the log is whole. */
  broken: { row: string; reason: string } | null;
}

const PAGE = 1000;

/** Checkpoints that were stored outside of the database. If one of them is missing, the end of the log was removed. */
interface Outside {
  /** Signature of a checkpoint from the log of the service. */
  signature?: string | undefined;
  /** Read before the store, because a running service writes further checkpoints. */
  anchor?: Anchor | undefined;
}

/**
 * Checks all chains of entries and of executions from their first row, then all checkpoints. Stops at the first broken row.
 */
export async function verifyAudit(
  context: VerifyContext,
  { signature, anchor }: Outside = {},
): Promise<Verification> {
  const { db } = context;
  const counts = { entries: 0, chains: 0, checkpoints: 0 };
  const inAudit = (await brokenEntry(context, counts)) ?? (await insertedEntry(db));
  const { executions, batches, broken: inExecutions } = await verifyExecutions(context);
  const broken =
    inAudit ??
    inExecutions ??
    (await brokenCheckpoint(context, counts)) ??
    (anchor === undefined || (await isAnchored(db, anchor)) ? null : missing(`${anchor.sequence}`)) ??
    (signature === undefined || (await hasCheckpoint(db, signature)) ? null : missing(signature));
  return { ...counts, executions, batches, anchor: anchor ?? null, broken };
}

type Broken = NonNullable<Verification['broken']>;

async function brokenEntry(
  { db, hashKey }: Pick<VerifyContext, 'db' | 'hashKey'>,
  counts: { entries: number; chains: number },
): Promise<Broken | null> {
  let before: ChainedEntry | undefined;
  for await (const row of chainLinks(db, 'audit')) {
    const entry = inChain(row);
    const isFirst = entry.chain_id !== before?.chain_id;
    const expected = isFirst
      ? { sequence: 1, hash: '' }
      : { sequence: before!.sequence + 1, hash: before!.hash };
    if (entry.sequence !== expected.sequence)
      return { row: entry.audit_id, reason: 'an entry before it was removed' };
    if (entry.previous_hash !== expected.hash || entry.hash !== hashOfEntry(hashKey, entry))
      return { row: entry.audit_id, reason: 'it was changed or inserted' };
    counts.entries += 1;
    if (isFirst) counts.chains += 1;
    before = entry;
  }
  return null;
}

/** Returns an entry with the columns of its chain. */
function inChain(row: Tables['audit']): ChainedEntry {
  const { chain_id, sequence, previous_hash, hash } = row;
  return {
    ...row,
    chain_id: chain_id ?? '',
    sequence: sequence ?? 0,
    previous_hash: previous_hash ?? '',
    hash: hash ?? '',
  };
}

/** Finds an entry outside of the chains. */
async function insertedEntry(db: DbOrTx): Promise<Broken | null> {
  const row = await db
    .selectFrom('audit')
    .select('audit_id')
    .where('chain_id', 'is', null)
    .orderBy('at')
    .limit(1)
    .executeTakeFirst();
  return row ? { row: row.audit_id, reason: 'it was inserted, because it belongs to no chain' } : null;
}

async function brokenCheckpoint(
  { db, hashKey, clock }: VerifyContext,
  counts: { checkpoints: number },
): Promise<Broken | null> {
  let before: Tables['audit_checkpoints'] | undefined;
  for (;;) {
    const rows = await db
      .selectFrom('audit_checkpoints')
      .selectAll()
      .where('sequence', '>', before?.sequence ?? 0)
      .orderBy('sequence')
      .limit(PAGE)
      .execute();
    for (const checkpoint of rows) {
      const row = `checkpoint ${checkpoint.sequence}`;
      if (checkpoint.sequence !== (before?.sequence ?? 0) + 1)
        return { row, reason: 'a checkpoint before it was removed' };
      if (
        checkpoint.previous_signature !== (before?.signature ?? '') ||
        checkpoint.signature !== signatureOf(hashKey, checkpoint)
      )
        return { row, reason: 'it was changed or inserted' };
      const missing = await missingHead({ db, clock }, checkpoint);
      if (missing) return { row, reason: missing };
      counts.checkpoints += 1;
      before = checkpoint;
    }
    if (rows.length < PAGE) return null;
  }
}

async function missingHead(
  { db, clock }: Pick<VerifyContext, 'db' | 'clock'>,
  checkpoint: Tables['audit_checkpoints'],
): Promise<string | null> {
  for (const { chainId, sequence, hash, at } of headsOf(checkpoint)) {
    if (at !== undefined && isExpired({ clock }, at)) continue;
    const entry = await db
      .selectFrom(at === undefined ? 'audit' : 'execution_batches')
      .select('hash')
      .where('chain_id', '=', chainId)
      .where('sequence', '=', sequence)
      .executeTakeFirst();
    const what = at === undefined ? 'entry' : 'batch of executions';
    if (entry?.hash !== hash) return `${what} ${sequence} of chain ${chainId}, which it names, was removed`;
  }
  return null;
}

async function hasCheckpoint(db: DbOrTx, signature: string): Promise<boolean> {
  const row = await db
    .selectFrom('audit_checkpoints')
    .select('sequence')
    .where('signature', '=', signature)
    .executeTakeFirst();
  return row !== undefined;
}

function missing(name: string): Broken {
  return { row: `checkpoint ${name}`, reason: 'the end of the log was removed' };
}
