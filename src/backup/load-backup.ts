import { CompiledQuery, sql } from 'kysely';
import { isPostgres } from '../store/prepared.ts';
import { tablesOf } from '../store/table-shapes.ts';
import type { DbOrTx } from '../store/schema.ts';
import { thrownMessage } from '../lib/errors.ts';
import { StoreUnavailable } from '../lib/errors.ts';
import { BackupError, BROKEN, type Progress, type TableLine } from './backup-format.ts';
import type { Dump, Item } from './read-dump.ts';

const MAX_ROWS = 200;
const MAX_CHARS = 1024 * 1024;

type Row = Extract<Item, { values: unknown }>['values'];

/**
 * Inserts the rows of a dump into a store of its schema version, and returns their numbers. Rows that the migrations
 * created are replaced.
 * @throws BackupError when the dump is not whole, or does not fit the schema.
 */
export async function load(
  db: DbOrTx,
  { header, items }: Dump,
  onTable: Progress,
): Promise<Record<string, number>> {
  const shapes = new Map((await tablesOf(header.schemaVersion)).map((shape) => [shape.name, shape]));
  const counts: Record<string, number> = {};
  let current: TableLine | undefined;
  let batch: Row[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    if (current && batch.length > 0) await insert(db, current, batch);
    batch = [];
    chars = 0;
  };
  const finish = async (): Promise<void> => {
    await flush();
    if (current) onTable(current.table, counts[current.table] ?? 0);
  };
  for await (const item of items) {
    if ('table' in item) {
      await finish();
      const shape = shapes.get(item.table.table);
      if (!shape || item.table.columns.some((column) => !shape.columns.includes(column)))
        throw new BackupError(BROKEN);
      current = item.table;
      counts[current.table] = 0;
      await sql`delete from ${sql.table(current.table)}`.execute(db);
    } else if (current) {
      counts[current.table] = (counts[current.table] ?? 0) + 1;
      batch.push(item.values);
      for (const value of item.values)
        if (typeof value === 'string' || Buffer.isBuffer(value)) chars += value.length;
      if (batch.length >= MAX_ROWS || chars >= MAX_CHARS) await flush();
    }
  }
  await finish();
  return counts;
}

async function insert(db: DbOrTx, { table, columns }: TableLine, rows: Row[]): Promise<void> {
  const postgres = isPostgres(db);
  let at = 0;
  const marks = rows.map(() => `(${columns.map(() => (postgres ? `$${++at}` : '?')).join(', ')})`);
  const names = columns.map((column) => `"${column}"`).join(', ');
  const text = `insert into "${table}" (${names}) values ${marks.join(', ')}`;
  try {
    await db.executeQuery(CompiledQuery.raw(text, rows.flat()));
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    throw new BackupError(`The database refused rows of the table ${table}: ${thrownMessage(error)}`, {
      cause: error,
    });
  }
}
