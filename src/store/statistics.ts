import type Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { HOUR, SECOND } from '../lib/clock.ts';
import type { Db } from './schema.ts';

/*
 * Statistics about tables, by which a database chooses indexes. PostgreSQL collects them on its own, except right after
 * many rows are loaded. Hot statements must find their index without them (test/store/list-plans.test.ts).
 */

/** Has SQLite check all tables, and not only those that this connection queried. */
const ALL_TABLES = 0x10002;

/** Keeps the statistics of a SQLite database current while the process runs. */
export interface Statistics {
  /** Collects what is missing a last time. */
  close(): void;
}

/** `isFree` returns whether no caller uses the connection. */
export function createStatistics(sqlite: Sqlite.Database, isFree: () => boolean): Statistics {
  let timer: NodeJS.Timeout;
  const plan = (inMs: number): void => {
    timer = setTimeout(onTime, inMs).unref();
  };
  const onTime = (): void => {
    if (!isFree()) return plan(SECOND);
    optimize(sqlite, ALL_TABLES);
    plan(HOUR);
  };
  plan(HOUR);
  return {
    close() {
      clearTimeout(timer);
      optimize(sqlite);
    },
  };
}

/** Collects statistics of tables that changed much. SQLite reads a sample of each, and waits for no other process. */
function optimize(sqlite: Sqlite.Database, mask?: number): void {
  const timeout = Number(sqlite.pragma('busy_timeout', { simple: true }));
  try {
    sqlite.pragma('busy_timeout = 0');
    sqlite.pragma(mask === undefined ? 'optimize' : `optimize = ${mask}`);
  } catch {
    // Another process writes, or the disk is full. The next time collects them.
  } finally {
    sqlite.pragma(`busy_timeout = ${timeout}`);
  }
}

/** Collects the statistics of all tables, after many rows were loaded. */
export async function analyze(db: Db): Promise<void> {
  await sql`analyze`.execute(db);
}
