import type { KeyObject } from 'node:crypto';
import type { Config } from './config.ts';
import type { Catalog } from './connectors/catalog.ts';
import type { KeyRing } from './crypto/key-ring.ts';
import type { Clock } from './lib/clock.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { Logger } from './log.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import type { Store } from './store/open-database.ts';
import type { Db } from './store/schema.ts';

/** Intervals at which a process polls the store, in ms. */
export interface Intervals {
  /** For changes by other processes. */
  readonly changesMs: number;
  /** For work that other processes stored or that became due. */
  readonly workMs: number;
}

/** The parts that every room may use. Functions take the narrow part that they need: `Pick<Base, 'db' | 'clock'>`. */
export interface Base {
  readonly config: Config;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly store: Store;
  readonly db: Db;
  readonly keys: KeyRing;
  /** Key of all keyed hashes; see crypto/tokens.ts. */
  readonly hashKey: KeyObject;
  readonly catalog: Catalog;
  readonly outbound: Outbound;
  readonly intervals: Intervals;
  /** The address at which clients reach Gatehouse, without trailing slash. */
  readonly publicUrl: string;
}
