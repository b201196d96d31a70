import Sqlite from 'better-sqlite3';

/* Loaded before a process (`--import`): each database that it opens refuses new pages, as on a full disk. */
const { exec, prepare } = Sqlite.prototype;

Reflect.set(Sqlite.prototype, 'prepare', function full(this: Sqlite.Database, text: string) {
  if (text.startsWith('insert')) exec.call(this, 'pragma max_page_count = 1');
  return prepare.call(this, text);
});
