import { sql } from 'kysely';
import { migrateWithin } from './migrate.ts';
import { openStore } from './open-database.ts';
import type { DbOrTx } from './schema.ts';

/** A table of one schema version. */
export interface TableShape {
  name: string;
  columns: string[];
  /** The columns that hold bytes. */
  binary: string[];
}

/**
 * Returns the tables of a schema version, each after the tables that it refers to. They are read from an empty database
 * in memory, because both databases have the same tables.
 */
export async function tablesOf(version: number): Promise<TableShape[]> {
  await using store = await openStore({ kind: 'sqlite', path: ':memory:' });
  const { db } = store;
  await db.transaction().execute((tx) => migrateWithin(tx, { now: 0, upTo: version }));
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`.execute(
    db,
  );
  const shapes = new Map<string, TableShape>();
  const parents = new Map<string, string[]>();
  for (const { name } of rows) {
    shapes.set(name, await shapeOf(db, name));
    parents.set(name, await parentsOf(db, name));
  }
  const ordered = new Set<TableShape>();
  const add = (name: string): void => {
    const shape = shapes.get(name);
    if (!shape || ordered.has(shape)) return;
    for (const parent of parents.get(name) ?? []) if (parent !== name) add(parent);
    ordered.add(shape);
  };
  for (const name of shapes.keys()) add(name);
  return [...ordered];
}

async function shapeOf(db: DbOrTx, name: string): Promise<TableShape> {
  const { rows } = await sql<{ name: string; type: string }>`
    select name, type from pragma_table_info(${name}) order by cid`.execute(db);
  return {
    name,
    columns: rows.map((column) => column.name),
    binary: rows.filter(({ type }) => type.toLowerCase() === 'blob').map((column) => column.name),
  };
}

async function parentsOf(db: DbOrTx, name: string): Promise<string[]> {
  const { rows } = await sql<{ parent: string }>`
    select distinct "table" as parent from pragma_foreign_key_list(${name})`.execute(db);
  return rows.map(({ parent }) => parent);
}
