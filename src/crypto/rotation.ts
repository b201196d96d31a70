import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../store/schema.ts';
import { boundText, SEALED_COLUMNS, type SealedColumn } from '../store/sealed-columns.ts';
import { KeyError, type KeyRing } from './key-ring.ts';

/** Rows of one transaction. A transaction occupies the only writer of SQLite for about 5 ms. */
const BATCH = 50;

/** How many rows of a column each master key sealed. */
export interface KeyUse {
  /** `<table>.<column>`. */
  column: string;
  keyId: string;
  rows: number;
}

/** A row whose sealed value no key opens. */
export interface LostRow {
  column: string;
  /** The values of its primary key. */
  row: string;
  reason: string;
}

export interface Resealed {
  rows: number;
  lost: LostRow[];
}

/** Counts the rows of each sealed column by the key that sealed them. It reads every sealed row. */
export async function keyUses(db: Db): Promise<KeyUse[]> {
  const uses: KeyUse[] = [];
  for (const [name, { table, column }] of Object.entries(SEALED_COLUMNS)) {
    // The name of the key has eight characters, after "v1.".
    const { rows } = await sql<{ keyId: string; rows: number | string }>`
      select substr(${sql.ref(column)}, 4, 8) as "keyId", count(*) as "rows"
      from ${sql.table(table)} where ${sql.ref(column)} is not null group by 1`.execute(db);
    uses.push(...rows.map((row) => ({ column: name, keyId: row.keyId, rows: Number(row.rows) })));
  }
  return uses;
}

/** Returns how many rows each key sealed, by the key's name. */
export function rowsByKey(uses: readonly KeyUse[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { keyId, rows } of uses) sums.set(keyId, (sums.get(keyId) ?? 0) + rows);
  return sums;
}

/**
 * Seals rows of other master keys with the first one. Other requests may run at the same time. A row that a request
 * changes at the same time is left out, and the next call reseals it. `progress` gets the number of rows after each batch.
 */
export async function resealAll(
  db: Db,
  keys: KeyRing,
  progress: (rows: number) => void = () => {},
): Promise<Resealed> {
  const done: Resealed = { rows: 0, lost: [] };
  for (const [name, column] of Object.entries<SealedColumn>(SEALED_COLUMNS)) {
    for (let after: Row | undefined; ;) {
      const rows = await oldRows(db, column, { keyId: keys.keyId, after });
      await resealBatch(db, keys, { name, column, rows, done });
      progress(done.rows);
      after = rows.at(-1);
      if (rows.length < BATCH) break;
    }
  }
  return done;
}

type Row = Record<string, unknown>;

/** Returns the next rows that another key sealed, with their key, the columns of their binding, and `box`. */
async function oldRows(
  db: Db,
  { table, column, key, bound, parent }: SealedColumn,
  { keyId, after }: { keyId: string; after: Row | undefined },
): Promise<Row[]> {
  const own = (name: string) => sql.ref(`${table}.${name}`);
  const join = parent
    ? sql`inner join ${sql.table(parent.table)} on ${sql.ref(`${parent.table}.${parent.key}`)} = ${own(parent.key)}`
    : sql``;
  // Columns that are not in the key are read from the parent, where there is one.
  const of = (name: string): RawBuilder<unknown> =>
    parent && !key.includes(name) ? sql.ref(`${parent.table}.${name}`) : own(name);
  const names = new Set([...key, ...[...bound.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)]);
  const keyColumns = sql.join(key.map(own));
  const from = after ? sql`and (${keyColumns}) > (${sql.join(key.map((name) => after[name]))})` : sql``;
  const { rows } = await sql<Row>`
    select ${sql.join([...names].map((name) => sql`${of(name)} as ${sql.ref(name)}`))}, ${own(column)} as box
    from ${sql.table(table)} ${join}
    where ${own(column)} is not null and ${own(column)} not like ${`v1.${keyId}.%`} ${from}
    order by ${keyColumns} limit ${BATCH}`.execute(db);
  return rows;
}

async function resealBatch(
  db: Db,
  keys: KeyRing,
  batch: { name: string; column: SealedColumn; rows: readonly Row[]; done: Resealed },
): Promise<void> {
  const { name, column, rows, done } = batch;
  const changed: { row: Row; box: string }[] = [];
  for (const row of rows) {
    try {
      const box = keys.rewrap(String(row['box']), boundText(column.bound, row));
      if (box !== undefined) changed.push({ row, box });
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      done.lost.push({
        column: name,
        row: column.key.map((part) => String(row[part])).join(', '),
        reason: error.message,
      });
    }
  }
  if (changed.length === 0) return;
  await db.transaction().execute(async (tx) => {
    for (const { row, box } of changed) {
      const place = column.key.map((part) => sql`${sql.ref(part)} = ${row[part]}`);
      const { numAffectedRows = 0n } = await sql`
        update ${sql.table(column.table)} set ${sql.ref(column.column)} = ${box}
        where ${sql.join([...place, sql`${sql.ref(column.column)} = ${row['box']}`], sql` and `)}`.execute(
        tx,
      );
      done.rows += Number(numAffectedRows);
    }
  });
}
