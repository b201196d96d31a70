import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import {
  SqliteDialect,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import { memoByText } from '../lib/memo.ts';
import { storableValues } from '../lib/storable-text.ts';
import { createCheckpoints, withCheckpoints } from './checkpoint.ts';
import { createGroupSync, type Disk } from './group-sync.ts';
import { createStatistics } from './statistics.ts';
import { codeOf, sqliteFailure } from './unavailable.ts';

/** More statements than the code has; the cap only bounds the texts of dynamic lists (`in (…)`). */
const MAX_PREPARED = 500;
/** SQLite itself waits this long for another process' write, and blocks the thread while it does. */
export const BLOCKING_BUSY_TIMEOUT_MS = 20;
/** After that the driver waits without blocking, because the writer may also be in this process. */
const PATIENCE_MS = 5000;
const RETRY_EVERY_MS = 5;

type Query = Pick<CompiledQuery, 'sql' | 'parameters'>;

interface Ran<R> extends QueryResult<R> {
  wrote: boolean;
}

/**
 * Creates a driver for one SQLite connection, which callers use in turns, with shared syncs. A commit is put on the
 * disk (`disk`, the write-ahead log) together with other commits of that time. No caller gets its result before that,
 * so the connection itself need not sync (`synchronous = NORMAL`). After a failed sync every query fails; `onFailure`
 * gets the reason.
 */
export function createSqliteDriver(
  sqlite: Sqlite.Database,
  disk: Disk,
  onFailure: (failure: Error) => void = () => {},
): Driver {
  const tryRun = createRunner(sqlite);
  const { take, passOn, isFree, isWanted } = createTurns();
  const statistics = createStatistics(sqlite, isFree);
  const syncs = withCheckpoints(createGroupSync(disk, onFailure), createCheckpoints(sqlite, isFree));
  /** Ended turns to use again, because kysely stores a note for each connection object. */
  const spare: Turn[] = [];

  /**
   * One caller's use of the connection. Outside a transaction, a result is returned only when all commits before it
   * are on the disk.
   */
  class Turn implements DatabaseConnection {
    inTransaction = false;
    wrote = false;
    passedOn = false;

    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      if (this.inTransaction) {
        const ran = tryRun<R>(query);
        const result = ran instanceof Promise ? await ran : ran;
        this.wrote ||= result.wrote;
        return result;
      }
      if (this.passedOn) await this.takeAgain();
      const result = await tryRun<R>(query);
      if (result.wrote) syncs.committed();
      await this.passOnUntilDurable();
      return result;
    }

    /** Returns all rows at once; a stream of single rows would keep the connection from other callers. */
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      yield await this.executeQuery<R>(query);
    }

    /** Lets others use the connection while this caller waits for the disk. */
    async passOnUntilDurable(): Promise<void> {
      const durable = syncs.durable(isWanted());
      if (!durable) return;
      this.passedOn = true;
      passOn();
      await durable;
    }

    async takeAgain(): Promise<void> {
      await take();
      this.passedOn = false;
    }
  }
  const turnOf = (one: DatabaseConnection): Turn => {
    if (!(one instanceof Turn)) throw new Error('The connection is of another database.');
    return one;
  };
  return {
    async init() {},
    async acquireConnection() {
      await take();
      const turn = spare.pop() ?? new Turn();
      turn.passedOn = false;
      turn.inTransaction = false;
      return turn;
    },
    async beginTransaction(one) {
      const turn = turnOf(one);
      if (turn.passedOn) await turn.takeAgain();
      await tryRun(BEGIN);
      turn.inTransaction = true;
      turn.wrote = false;
    },
    async commitTransaction(one) {
      const turn = turnOf(one);
      await tryRun(COMMIT);
      turn.inTransaction = false;
      if (turn.wrote) syncs.committed();
      await turn.passOnUntilDurable();
    },
    async rollbackTransaction(one) {
      const turn = turnOf(one);
      // After some faults (a full disk) SQLite has already rolled back. A committed transaction stays.
      if (!turn.inTransaction || !sqlite.inTransaction) return;
      turn.inTransaction = false;
      await tryRun(ROLLBACK);
    },
    async releaseConnection(one) {
      const turn = turnOf(one);
      if (!turn.passedOn) passOn();
      spare.push(turn);
    },
    async destroy() {
      statistics.close();
      await syncs.close().finally(() => sqlite.close());
    },
  };
}

/** Hands the one connection from caller to caller, in the order of their calls. */
function createTurns() {
  const queue: (() => void)[] = [];
  let taken = false;
  return {
    async take(): Promise<void> {
      if (taken) await new Promise<void>((resolve) => queue.push(resolve));
      taken = true;
    },
    passOn(): void {
      const next = queue.shift();
      if (next) next();
      else taken = false;
    },
    isFree: () => !taken,
    /** Returns whether other callers wait. */
    isWanted: () => queue.length > 0,
  };
}

/** Returns Kysely's SQLite dialect over our own driver. */
export function sqliteDialect(sqlite: Sqlite.Database, driver: Driver): Dialect {
  const dialect = new SqliteDialect({ database: sqlite });
  return {
    // The driver itself hands out the turns.
    createAdapter: () =>
      Object.defineProperty(dialect.createAdapter(), 'supportsMultipleConnections', { value: true }),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => driver,
  };
}

/** Runs a query, and retries while other processes write. */
type Runner = <R>(query: Query) => Ran<R> | Promise<Ran<R>>;

function createRunner(sqlite: Sqlite.Database): Runner {
  const statements = preparedStatements(sqlite);
  const run = <R>({ sql, parameters }: Query): Ran<R> => {
    const { statement, changesRows } = statements(sql);
    if (statement.reader) {
      const rows = statement.all(...storableValues(parameters)) as R[];
      return { rows, wrote: !statement.readonly && rows.length > 0 };
    }
    const { changes, lastInsertRowid } = statement.run(...storableValues(parameters));
    return {
      insertId: BigInt(lastInsertRowid),
      numAffectedRows: BigInt(changes),
      rows: [],
      wrote: !statement.readonly && (changes > 0 || !changesRows),
    };
  };
  const retry = async <R>(query: Query): Promise<Ran<R>> => {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      await sleep(RETRY_EVERY_MS);
      try {
        return run<R>(query);
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw sqliteFailure(error);
      }
    }
  };
  return (query) => {
    try {
      return run(query);
    } catch (error) {
      if (isBusy(error)) return retry(query);
      throw sqliteFailure(error);
    }
  };
}

/**
 * All transactions write. A deferred one that becomes a writer fails with SQLITE_BUSY at once instead of waiting its
 * turn.
 */
const BEGIN = { sql: 'begin immediate', parameters: [] };
const COMMIT = { sql: 'commit', parameters: [] };
const ROLLBACK = { sql: 'rollback', parameters: [] };

interface Prepared {
  statement: Sqlite.Statement;
  /** Whether the statement only changes rows; when it changed none, nothing was written. */
  changesRows: boolean;
}

/**
 * Caches statements by their text, because preparing one costs more than running it (measured: 66 to 75 µs against
 * 14).
 */
function preparedStatements(sqlite: Sqlite.Database): (text: string) => Prepared {
  return memoByText(MAX_PREPARED, (text) => ({
    statement: sqlite.prepare(text),
    changesRows: /^(insert|update|delete)\b/.test(text),
  }));
}

function isBusy(error: unknown): boolean {
  return ['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT'].includes(codeOf(error));
}
