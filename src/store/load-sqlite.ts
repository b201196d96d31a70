import Sqlite from 'better-sqlite3';

/** Loads the native code of SQLite, which a process with PostgreSQL would read at its first search. */
export function loadSqlite(): void {
  new Sqlite(':memory:').close();
}
