import type { KeyObject } from 'node:crypto';
import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import { newId, newOrderedId } from '../lib/ids.ts';
import type { Tables } from '../store/schema.ts';
import type { AuditEntry } from './audit.ts';
import { hashOfEntry, type ChainedEntry } from './audit-chain.ts';
import { moveAnchor } from './audit-anchor.ts';
import { writeCheckpoint } from './audit-checkpoints.ts';

/** The audit log of administration, as one process writes it. */
export interface AuditLog {
  /** Stores an entry. Resolves when it is on disk. */
  record(entry: AuditEntry): Promise<void>;
  /** Plans a checkpoint. Called when the chain of executions has grown. */
  executionsGrew(): void;
  /** Stores the waiting entries, and a last checkpoint. */
  close(): Promise<void>;
}

interface Waiting {
  row: Omit<Tables['audit'], 'chain_id' | 'sequence' | 'previous_hash' | 'hash'>;
  resolve(): void;
  reject(error: unknown): void;
}

/** The end of the chain that this process writes. */
interface Chain {
  chainId: string;
  sequence: number;
  hash: string;
}

const MOST_ROWS = 100;
const CHECKPOINT_MS = MINUTE;
/** Delay of a checkpoint for executions. It is longer, because executions never pause and checkpoints stay forever. */
const EXECUTIONS_CHECKPOINT_MS = 10 * MINUTE;

/**
 * Creates the audit log of this process, whose entries form a chain of hashes. `anchorFile` gets the newest checkpoint.
 */
export function createAuditLog(
  context: Pick<Base, 'db' | 'clock' | 'log'> & { hashKey: KeyObject; anchorFile: string },
): AuditLog {
  const { db, clock, log, hashKey } = context;
  let chain = newChain();
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let dueAt = 0;
  let isAnchorWarned = false;

  /** Appends waiting entries in turn, so that each knows the hash of the one before it. */
  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MOST_ROWS);
      const { rows, head } = append(hashKey, chain, batch);
      try {
        await db.insertInto('audit').values(rows).execute();
        chain = head;
        for (const { resolve } of batch) resolve();
      } catch (error) {
        // The database may have stored the entries before the connection broke. A new chain is right either way.
        chain = newChain();
        for (const { reject } of batch) reject(error);
      }
    }
    // Cleared in the same turn of the event loop as the check above. Otherwise an entry added between them would never be written.
    writing = undefined;
  }

  async function checkpoint(level: 'info' | 'debug'): Promise<void> {
    try {
      const written = await writeCheckpoint(context);
      if (!written) return;
      // The log keeps the signature outside of the database, where a writer of the database cannot remove it.
      log[level]({ sequence: written.sequence, signature: written.signature }, 'audit checkpoint written');
      await anchor(written);
    } catch (err) {
      log.error({ err }, 'audit checkpoint failed, will retry');
      plan();
    }
  }

  async function anchor(written: Tables['audit_checkpoints']): Promise<void> {
    const { anchorFile: file } = context;
    try {
      const moved = await moveAnchor(context, file, written);
      if (moved === 'missing') log.error({ file }, 'anchored audit checkpoint is missing from the store');
    } catch (err) {
      // A home may be read-only.
      if (!isAnchorWarned) log.warn({ err, file }, 'audit anchor not written');
      isAnchorWarned = true;
    }
  }

  function plan(delayMs = CHECKPOINT_MS): void {
    const at = performance.now() + delayMs;
    if (timer !== undefined && dueAt <= at) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => {
      timer = undefined;
      void checkpoint('info');
    }, delayMs).unref();
  }

  return {
    record(entry) {
      const at = clock.now();
      const { requestId, target, ...rest } = entry;
      const row = {
        ...rest,
        audit_id: newOrderedId('aud', at),
        at,
        request_id: requestId,
        target: target ?? null,
      };
      const stored = new Promise<void>((resolve, reject) => waiting.push({ row, resolve, reject }));
      writing ??= writeAll();
      plan();
      return stored;
    },
    executionsGrew: () => plan(EXECUTIONS_CHECKPOINT_MS),
    async close() {
      await writing;
      if (timer === undefined) return;
      clearTimeout(timer);
      // Commands end here too, and people read what they print. The next checkpoint of the service covers this one.
      await checkpoint('debug');
      clearTimeout(timer);
    },
  };
}

function append(
  hashKey: KeyObject,
  chain: Chain,
  batch: readonly Waiting[],
): { rows: ChainedEntry[]; head: Chain } {
  let head = chain;
  const rows = batch.map(({ row }) => {
    const linked = {
      ...row,
      chain_id: head.chainId,
      sequence: head.sequence + 1,
      previous_hash: head.hash,
    };
    const entry = { ...linked, hash: hashOfEntry(hashKey, linked) };
    head = { chainId: entry.chain_id, sequence: entry.sequence, hash: entry.hash };
    return entry;
  });
  return { rows, head };
}

function newChain(): Chain {
  return { chainId: newId('ach'), sequence: 0, hash: '' };
}
