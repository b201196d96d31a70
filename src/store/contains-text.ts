import { sql, type RawBuilder } from 'kysely';

/** Returns the condition that a column contains a text, in any case. SQLite ignores the case of ASCII letters alone. */
export function containsText(column: string, text: string): RawBuilder<boolean> {
  const pattern = `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`;
  return sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape ${sql.lit('\\')}`;
}
