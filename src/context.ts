import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createExecutionLog, type ExecutionLog } from './actions/executions.ts';
import type { Config } from './config.ts';
import type { Catalog } from './connectors/catalog.ts';
import { loadCatalog } from './connectors/load.ts';
import { loadKeyRing, type KeyRing } from './crypto/key-ring.ts';
import { createAudit, type Audit } from './guard/audit.ts';
import { createListening, type Listening } from './sources/account-switch.ts';
import { createSources, type Sources } from './sources/loops.ts';
import { createDeliverer, type Deliverer } from './outbox/dispatcher.ts';
import { createOperator, type Operator } from './outbox/operator-events.ts';
import { createLimits, type Limits } from './guard/limits.ts';
import { createReadiness, type Readiness } from './guard/readiness.ts';
import { createCallers, type Callers } from './identity/caller.ts';
import { createIssuers } from './identity/issuers.ts';
import { isSealed, loadHashKey } from './identity/secrets.ts';
import type { AllowedAddress } from './lib/addresses.ts';
import { systemClock, type Clock } from './lib/clock.ts';
import { createOutbound, type Outbound } from './lib/outbound.ts';
import { shareLookups } from './lib/outbound-names.ts';
import type { Logger } from './log.ts';
import type { Listings } from './mcp/tools/listing.ts';
import { PACKAGE_FOLDER } from './package.ts';
import { closeIdleListeners } from './subscriptions/idle-listeners.ts';
import { createLiveServers, type LiveServer, type LiveServers } from './servers/live.ts';
import type { ToolListing } from './servers/tool-listing.ts';
import { migrate } from './store/migrate.ts';
import { openStore, type Store } from './store/open.ts';
import type { Db } from './store/schema.ts';
import { createBoundedExpressions, type BoundedExpressions } from './upstream/bounded.ts';
import { createThrottle, type Throttle } from './upstream/throttle.ts';
import { createRuns, type Runs } from './workflows/runner.ts';

/** What a running Gatehouse is made of. Operations take the narrow part they need: `Pick<Context, 'db' | 'clock'>`. */
export interface Context {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly store: Store;
  readonly db: Db;
  readonly keys: KeyRing;
  /** Key of all keyed hashes; see crypto/tokens.ts. */
  readonly hashKey: KeyObject;
  readonly catalog: Catalog;
  readonly outbound: Outbound;
  readonly throttle: Throttle;
  readonly callers: Callers;
  readonly servers: LiveServers;
  readonly executions: ExecutionLog;
  readonly audit: Audit;
  readonly limits: Limits;
  /** What /ready says. */
  readonly readiness: Readiness;
  /** Sends what the outbox holds, in serving processes. */
  readonly deliverer: Deliverer;
  /** Polls, webhooks that arrived, registrations; started where somebody listens. */
  readonly sources: Sources;
  /** Whom an environment tells of its credentials and subscriptions. */
  readonly operator: Operator;
  /** Hears that a connection leads to another account. */
  readonly listening: Listening;
  /** Expressions of workflows, within limits. */
  readonly expressions: BoundedExpressions;
  /** Begins runs of workflows and carries them on, in serving processes. */
  readonly runs: Runs;
  /** What a server lists to its clients. */
  toolsOf(live: LiveServer): Promise<ToolListing>;
  /** Where clients reach us, without trailing slash. */
  readonly publicUrl: string;
  /** True once a stop was asked for: /ready says so, so that a load balancer looks elsewhere. */
  readonly stopping: boolean;
  /** Whether this process listens on a port: then it serves the links that it makes. */
  readonly serving: boolean;
}

/** A context with its lifetime: whoever opens it closes it. */
export interface OpenContext extends Context {
  publicUrl: string;
  stopping: boolean;
  serving: boolean;
  /** Flushes what is buffered and closes everything, in reverse order of making. */
  close(): Promise<void>;
}

/** At one origin. */
const RECEIVER_SOCKETS = 4000;

/** Where the connectors for tests of Gatehouse itself are. */
const TEST_FOLDER = fileURLToPath(new URL('data/test-connectors', PACKAGE_FOLDER));

/** Where the connector files of this package are. */
export const CATALOG_FOLDER = fileURLToPath(new URL('data/connectors', PACKAGE_FOLDER));

/**
 * Opens the store, brings its schema up to date, and makes everything that a server or a command needs.
 * @throws StoreError, SchemaError, KeyError, ConnectorFileError, each with a line for the operator.
 */
export async function openContext(
  config: Config,
  {
    log,
    clock = systemClock,
    catalogFolder = CATALOG_FOLDER,
  }: { log: Logger; clock?: Clock; catalogFolder?: string },
): Promise<OpenContext> {
  const catalog = await loadCatalog({
    folder: catalogFolder,
    testFolder: config.testConnectors ? TEST_FOLDER : undefined,
    sandbox: config.sandbox,
    keepIn: join(config.home, 'cache'),
  });
  for (const fault of catalog.faults) log.error(fault, 'connector file is faulty, left out');
  const store = await openStore(config.database);
  try {
    await migrate(store, clock.now());
    const { db } = store;
    const keys = loadKeyRing(config, { isSealed: await isSealed(db) });
    const hashKey = await loadHashKey({ db, keys, clock });
    const outboundOptions = {
      allowedNetworks: config.allowedNetworks,
      allowPrivateNetwork: config.allowPrivateNetwork,
      egressProxy: config.egressProxy,
      caFile: config.caFile,
      lookup: shareLookups(),
    };
    const outbound = createOutbound(outboundOptions);
    // Receivers that hang hold sockets: they are not those of actions, and many subscribers may share an origin.
    const toReceivers = createOutbound({ ...outboundOptions, connections: RECEIVER_SOCKETS });
    // Hosts of key sets count as allowed (contract.md section 2) for these alone: nobody else may name one as an address.
    const toIssuers = createOutbound({
      ...outboundOptions,
      allowedNetworks: [
        ...config.allowedNetworks,
        ...config.jwtIssuers.map(({ jwksUrl }) => hostOf(jwksUrl)),
      ],
    });
    const executions = createExecutionLog({ db, clock, log });
    const deliverer = createDeliverer(
      { db, store, clock, keys, log },
      { outbound: toReceivers, scheduleMs: config.retrySchedule, sweeps: [closeIdleListeners] },
    );
    const limits = createLimits(config);
    let listings: Listings | undefined;
    const base = {
      config,
      log,
      clock,
      store,
      db,
      keys,
      hashKey,
      catalog,
      outbound,
      throttle: createThrottle(clock),
      executions,
      limits,
      audit: createAudit({ db, clock }),
      readiness: createReadiness({ db, clock, log }),
      servers: createLiveServers({ db, clock, hashKey, catalog }),
      issuers: createIssuers(config.jwtIssuers, { outbound: toIssuers, clock }),
      publicUrl: config.publicUrl ?? `http://${config.host}:${config.port}`,
      stopping: false,
      serving: false,
      deliverer,
      operator: createOperator({ db, clock, keys, log, deliverer }),
      listening: createListening({ clock }),
      sources: createSources(),
      expressions: createBoundedExpressions(),
      runs: createRuns(),
      async toolsOf(live: LiveServer) {
        const { createListings } = await import('./mcp/tools/listing.ts');
        listings ??= createListings(base);
        const { offeredTo } = await import('./mcp/tools/offered.ts');
        return listings.of(await offeredTo(base, live, live.server.ownerUserId ?? undefined));
      },
      async close() {
        base.readiness.close();
        await base.sources.close();
        await base.runs.close();
        await base.expressions.close();
        await deliverer.close();
        await executions.close();
        await toReceivers.close();
        await toIssuers.close();
        await outbound.close();
        await store.close();
      },
    };
    // The callers read publicUrl of this very object, which is settled when the server listens.
    return Object.assign(base, { callers: createCallers(base) });
  } catch (error) {
    await store.close();
    throw error;
  }
}

function hostOf(address: string): AllowedAddress {
  const url = new URL(address);
  return {
    kind: 'host',
    host: url.hostname,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
  };
}
