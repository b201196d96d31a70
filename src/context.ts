import type { ExecutionLog } from './actions/executions.ts';
import type { Config } from './config.ts';
import type { Catalog } from './connectors/catalog.ts';
import type { KeyRing } from './crypto/key-ring.ts';
import type { Audit } from './guard/audit.ts';
import type { Limits } from './guard/limits.ts';
import type { Callers } from './identity/caller.ts';
import type { Clock } from './lib/clock.ts';
import type { Outbound } from './lib/outbound.ts';
import type { Logger } from './log.ts';
import type { LiveServers } from './servers/live.ts';
import type { Store } from './store/open.ts';
import type { Db } from './store/schema.ts';
import type { Throttle } from './upstream/throttle.ts';

/** What a running Gatehouse is made of. Operations take the narrow part they need: `Pick<Context, 'db' | 'clock'>`. */
export interface Context {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly store: Store;
  readonly db: Db;
  readonly keys: KeyRing;
  /** Key of all keyed hashes; see crypto/tokens.ts. */
  readonly hashKey: Buffer;
  readonly catalog: Catalog;
  readonly outbound: Outbound;
  readonly throttle: Throttle;
  readonly callers: Callers;
  readonly servers: LiveServers;
  readonly executions: ExecutionLog;
  readonly audit: Audit;
  readonly limits: Limits;
  /** Where clients reach us, without trailing slash. */
  readonly publicUrl: string;
  /** True once a stop was asked for: /ready says so, so that a load balancer looks elsewhere. */
  readonly stopping: boolean;
}
