import { sql, type CreateTableBuilder } from 'kysely';
import type { Tables, Tx } from '../schema.ts';

/** Adds the columns `created_at` and `updated_at`. */
export function stamped<T extends string, C extends string>(
  table: CreateTableBuilder<T, C>,
): CreateTableBuilder<T, C | 'created_at' | 'updated_at'> {
  return table
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull());
}

/** Creates an index named after its table and columns. */
export async function index(tx: Tx, table: keyof Tables, columns: string[]): Promise<void> {
  const name = `${table}_by_${columns.join('_')}`;
  await sql`create index ${sql.id(name)} on ${sql.table(table)} (${sql.join(columns.map((c) => sql.id(c)))})`.execute(
    tx,
  );
}
