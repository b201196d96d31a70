import type Sqlite from 'better-sqlite3';
import type { GroupSync } from './group-sync.ts';

/**
 * Times without a write, in ms. After `quietMs` the log is copied into the database, so that a copy of its file alone is
 * whole. After `emptyMs` the log is emptied; until then the next writes use its blocks on the disk again.
 */
const TIMES = { quietMs: 1000, emptyMs: 10_000 };

/** Copies the write-ahead log into the database while the database is quiet. */
export interface Checkpoints {
  /** Notes a commit. */
  wrote(): void;
  /** Copies the log a last time. SQLite copies nothing at the close while another process has the database open. */
  close(): void;
}

/**
 * Creates the checkpoints of a connection. `isFree` returns whether no caller uses the connection. No checkpoint runs
 * while commits follow each other. Each process copies after its own writes, and copies the writes of others with them.
 */
export function createCheckpoints(
  sqlite: Sqlite.Database,
  isFree: () => boolean,
  { quietMs, emptyMs } = TIMES,
): Checkpoints {
  let wroteAt: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Whether the timer waits for `emptyMs`, which is too late after another write. */
  let isCopied = false;

  const plan = (inMs: number): void => {
    timer = setTimeout(onTime, inMs).unref();
  };
  const onTime = (): void => {
    timer = undefined;
    const silentMs = performance.now() - (wroteAt ?? 0);
    if (silentMs < quietMs) plan(quietMs - silentMs);
    // A caller of this process holds the connection, or a reader of another one an earlier state.
    else if (!isFree() || !(isCopied ||= copy(sqlite))) plan(quietMs);
    else if (silentMs < emptyMs) plan(emptyMs - silentMs);
    else empty(sqlite);
  };

  return {
    wrote() {
      wroteAt = performance.now();
      if (timer && !isCopied) return;
      clearTimeout(timer);
      isCopied = false;
      plan(quietMs);
    },
    close() {
      clearTimeout(timer);
      if (wroteAt !== undefined && !isCopied) copy(sqlite);
    },
  };
}

/** Returns the syncs of a connection with its checkpoints: each commit is noted, and the close copies the log. */
export function withCheckpoints(syncs: GroupSync, checkpoints: Checkpoints): GroupSync {
  return {
    durable: syncs.durable,
    committed() {
      syncs.committed();
      checkpoints.wrote();
    },
    async close() {
      try {
        await syncs.close();
      } finally {
        checkpoints.close();
      }
    },
  };
}

interface Row {
  busy: number;
  log: number;
  checkpointed: number;
}

/** Copies the log without waiting for others. Returns whether all of it is in the database. */
function copy(sqlite: Sqlite.Database): boolean {
  try {
    const row = sqlite.prepare<[], Row>('pragma wal_checkpoint(PASSIVE)').get();
    return row !== undefined && row.busy === 0 && row.log === row.checkpointed;
  } catch {
    // The log still has everything, for example on a full disk.
    return false;
  }
}

/** Empties the log unless another process uses it, without waiting. */
function empty(sqlite: Sqlite.Database): void {
  const timeout = Number(sqlite.pragma('busy_timeout', { simple: true }));
  try {
    sqlite.pragma('busy_timeout = 0');
    sqlite.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // The log was copied before, so it is only longer than it needs to be.
  } finally {
    sqlite.pragma(`busy_timeout = ${timeout}`);
  }
}
