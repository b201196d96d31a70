import { StoreUnavailable, thrownMessage } from '../lib/errors.ts';

/** Prefixes of codes that mean: the disk is full or gone, or another process holds the database for too long. */
const SQLITE = [
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_NOMEM',
  'SQLITE_BUSY',
];
/**
 * Classes and codes of SQLSTATE (PostgreSQL, appendix A): connection, resources (disk full), shutdown and crash, and a
 * server that became a standby.
 */
const POSTGRES = ['08', '53', '57P', '25006'];

/** Returns the failure for the caller of SQLite: StoreUnavailable where the statement may work later. */
export function sqliteFailure(error: unknown): unknown {
  const code = codeOf(error);
  return SQLITE.some((name) => code.startsWith(name)) ? unavailable(error) : error;
}

/** Returns the failure for the caller of PostgreSQL. An error without a severity is a connection failure. */
export function postgresFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError) return error;
  const isServers = 'severity' in error;
  const code = codeOf(error);
  return !isServers || POSTGRES.some((name) => code.startsWith(name)) ? unavailable(error) : error;
}

function unavailable(cause: unknown): StoreUnavailable {
  const message = thrownMessage(cause);
  return new StoreUnavailable(message, { cause });
}

/** Returns the database's code of an error: an SQLSTATE, or SQLite's name; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
