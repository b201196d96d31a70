import { CompiledQuery, type Compilable } from 'kysely';
import type { Db, DbOrTx } from './schema.ts';

/**
 * What is made once per database: compiled statements of hot paths. Building one costs more than running it (measured:
 * 20 to 40 µs against 14). Run it with its own values: `tx.executeQuery(withValues(statement, [...]))`.
 */
export function perDatabase<T>(make: (db: Db) => T): (db: Db) => T {
  const made = new WeakMap<Db, { value: T }>();
  return (db) => {
    let kept = made.get(db);
    if (!kept) made.set(db, (kept = { value: make(db) }));
    return kept.value;
  };
}

/** A compiled statement with other values, in the order in which they stand in its text. */
export function withValues<R>(statement: CompiledQuery<R>, values: readonly unknown[]): CompiledQuery<R> {
  return { ...statement, parameters: values };
}

/** Cut into 64, 32 and what is left up to 16: eighteen statement texts serve every batch, and each stays prepared. */
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

/** An insert of many rows, which all have the same members in the same order. `db` knows the dialect, `tx` runs it. */
export function manyRows<Row extends object>(
  build: (db: Db, rows: Row[]) => Compilable,
): (db: Db, tx: DbOrTx, rows: readonly Row[]) => Promise<void> {
  const texts = perDatabase(() => new Map<number, string>());
  return async (db, tx, rows) => {
    const bySize = texts(db);
    for (const chunk of chunksOf(rows)) {
      let text = bySize.get(chunk.length);
      if (text === undefined) bySize.set(chunk.length, (text = build(db, chunk).compile().sql));
      await tx.executeQuery(
        CompiledQuery.raw(
          text,
          chunk.flatMap((row) => Object.values(row)),
        ),
      );
    }
  };
}
