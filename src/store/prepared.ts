import {
  CompiledQuery,
  PostgresAdapter,
  sql,
  type Transaction,
  type Compilable,
  type QueryResult,
  type RawBuilder,
} from 'kysely';
import { memoByObject } from '../lib/memo.ts';
import type { Db, DbOrTx, Tables } from './schema.ts';

/**
 * Caches a value per database, such as the compiled statements of hot paths. Building a statement costs more than
 * running it (measured: 20 to 40 µs against 14). Run it with runPrepared().
 */
export function perDatabase<T extends {}>(compute: (db: Db) => T): (db: Db) => T {
  return memoByObject(compute);
}

/** Runs a compiled statement with other values, in the order of its parameters. */
export function runPrepared<R>(
  db: DbOrTx,
  statement: CompiledQuery<R>,
  values: readonly unknown[],
): Promise<QueryResult<R>> {
  return db.executeQuery<R>({ ...statement, parameters: values });
}

/** Returns an `in` list of any number of texts for compiled statements. Its value is textsFor(). */
export function inTexts(db: Db): RawBuilder<string> {
  return isPostgres(db) ? sql`(select unnest(${''}::text[]))` : sql`(select value from json_each(${''}))`;
}

export function textsFor(db: Db, texts: readonly string[]): unknown {
  return isPostgres(db) ? texts : JSON.stringify(texts);
}

export function isPostgres(db: Db): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

/**
 * Cuts items into chunks of 64, 32 and up to 16. Eighteen statement texts serve every batch, and each stays prepared.
 */
export function chunksOf<T>(items: readonly T[]): T[][] {
  const cut: T[][] = [];
  for (let at = 0; at < items.length;) {
    const left = items.length - at;
    const size = left >= 64 ? 64 : left >= 32 ? 32 : Math.min(left, 16);
    cut.push(items.slice(at, at + size));
    at += size;
  }
  return cut;
}

/** An insert, and the members of its rows in the order of its values. */
interface Statement<Returned> {
  query: CompiledQuery<Returned>;
  columns: readonly string[];
}

/**
 * Returns an insert of many rows, which all have the same members. `db` knows the dialect, `tx` runs it. The result is the
 * rows of the `returning` clause, none without one.
 */
export function manyRows<Row extends object, Returned = never>(
  build: (db: Db, rows: Row[]) => Compilable<Returned>,
): (db: Db, tx: Transaction<Tables>, rows: readonly Row[]) => Promise<Returned[]> {
  const statements = perDatabase(() => new Map<number, Statement<Returned>>());
  return async (db, tx, rows) => {
    const bySize = statements(db);
    const returned: Returned[] = [];
    for (const chunk of chunksOf(rows)) {
      let statement = bySize.get(chunk.length);
      // Stores the text alone, because the tree that it is built from has a node for each value.
      if (!statement) {
        const query: CompiledQuery<Returned> = CompiledQuery.raw(build(db, chunk).compile().sql);
        // Kysely orders the values of all rows by the members of the first one.
        bySize.set(chunk.length, (statement = { query, columns: Object.keys(chunk[0] ?? {}) }));
      }
      const values: unknown[] = [];
      for (const row of chunk) for (const column of statement.columns) values.push(Reflect.get(row, column));
      const { rows: some } = await runPrepared(tx, statement.query, values);
      for (const one of some) returned.push(one);
    }
    return returned;
  };
}
