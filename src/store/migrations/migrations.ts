import type { Tx } from '../schema.ts';
import { firstRelease } from './001/first-release.ts';

/** One change of the schema. The name is stored when it has run. */
export interface Migration {
  readonly name: string;
  up(tx: Tx): Promise<void>;
}

/**
 * All migrations in order. The version of a database is how many it has. Never edit a released migration: append one.
 * The name of the first one marks a store of a release.
 */
export const MIGRATIONS: readonly [Migration, ...Migration[]] = [{ name: 'first release', up: firstRelease }];
