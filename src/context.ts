import { join } from 'node:path';
import { createExecutionSummaries } from './actions/execution-summary.ts';
import { createCircuits } from './actions/circuits.ts';
import { createExecutionLog } from './actions/executions.ts';
import type { Intervals } from './base.ts';
import type { Config } from './config.ts';
import { loadCatalog } from './connectors/load-catalog.ts';
import { createCredentialMemory } from './credentials/memory.ts';
import { openCustomConnectors } from './custom/open-custom.ts';
import { createAccountChanges } from './sources/account-switch.ts';
import { createPollCommits } from './sources/polling/poll-commits.ts';
import { sweepWrites } from './sandbox/account-writes.ts';
import { createSources } from './sources/loops.ts';
import { createDeliverySummaries } from './outbox/delivery-summary.ts';
import { Dispatcher } from './outbox/dispatcher.ts';
import { createOperator, type Operator } from './outbox/operator-events.ts';
import type { Context as HttpContext } from './http/context.ts';
import { createAuditLog } from './runtime/audit-log.ts';
import { createLiveTopics } from './runtime/live-topics.ts';
import { createLimits } from './runtime/limits.ts';
import { createReadiness } from './runtime/readiness.ts';
import { createCallers } from './identity/caller.ts';
import { createKeyUses } from './identity/key-uses.ts';
import { createIssuers } from './identity/issuers.ts';
import { createOidc, type Oidc } from './identity/oidc.ts';
import { allowedHost, createAddressGuard } from './lib/addresses.ts';
import { anchorFile, readMarker, refuseLostFile } from './identity/store-marker.ts';
import { unlockStore } from './identity/unlock.ts';
import { createCloseStack, type CloseStack } from './lib/close-stack.ts';
import { SECOND, systemClock, type Clock } from './lib/clock.ts';
import { createOutbound, type Outbound } from './outbound/outbound.ts';
import { shareLookups } from './outbound/outbound-names.ts';
import type { Logger } from './log.ts';
import type { Context as McpContext } from './mcp/context.ts';
import { createStoredValues } from './runtime/stored-values.ts';
import { buildInfo } from './telemetry/metrics.ts';
import { createTelemetry } from './telemetry/telemetry.ts';
import { version } from './cli/version.ts';
import type { Listings } from './mcp/tools/tool-listings.ts';
import { CATALOG_FOLDER, packagePath } from './package.ts';
import { closeIdleListeners } from './subscriptions/idle-listeners.ts';
import { createRemoteServers } from './remote/live-remotes.ts';
import { createSignInClients } from './remote/sign-in-clients.ts';
import { createLiveServers, type LiveServer } from './servers/live-servers.ts';
import { readSettings } from './servers/environment-settings.ts';
import type { Environment } from './store/environments.ts';
import { openStore } from './store/open-database.ts';
import { createPrograms } from './programs/program-pool.ts';
import { createBoundedExpressions } from './upstream/expression-limits.ts';
import { createRemoteSessions } from './upstream/remote/remote-sessions.ts';
import { createThrottle } from './upstream/throttle.ts';
import { createRuns } from './workflows/runner.ts';

/** A running Gatehouse with its lifetime. The code that opens it must close it. */
export interface OpenContext extends Omit<HttpContext, 'callTool'>, McpContext {
  readonly catalog: HttpContext['catalog'];
  readonly operator: Operator;
  readonly dispatcher: Dispatcher;
  publicUrl: string;
  stopping: boolean;
  serving: boolean;
  /** Flushes buffers and closes everything, in reverse order of creation. */
  close(): Promise<void>;
}

const INTERVALS: Intervals = { changesMs: SECOND / 2, workMs: SECOND };

interface Options {
  log: Logger;
  clock?: Clock;
  catalogFolder?: string;
  intervals?: Intervals;
  /** Programs of the processes that it starts. Default: those of the running code. */
  programs?: { expressions?: URL; builds?: URL; programs?: URL };
}

/** Sockets to one origin of a receiver. */
const RECEIVER_SOCKETS = 4000;

/** Standing streams from one origin. */
const STREAM_SOCKETS = 500;

/** The folder of the connectors for Gatehouse's own tests. */
const TEST_FOLDER = packagePath('data/test-connectors');

/**
 * Opens the store, migrates its schema, and creates everything that a server or a command needs.
 * @throws StoreError, SchemaError, KeyError, ConnectorFileError, each with a line for the operator.
 */
export async function openContext(
  config: Config,
  { log, clock = systemClock, catalogFolder = CATALOG_FOLDER, intervals = INTERVALS, programs }: Options,
): Promise<OpenContext> {
  const catalog = await loadCatalog({
    folder: catalogFolder,
    testFolder: config.testConnectors ? TEST_FOLDER : undefined,
    sandbox: config.sandbox,
    cacheFolder: join(config.home, 'cache'),
  });
  for (const fault of catalog.faults) log.error(fault, 'connector file is faulty, left out');
  refuseLostFile(config, readMarker(config));
  const opened = createCloseStack();
  try {
    const store = opened.use(await openStore(config.database));
    const { keys, hashKey } = await unlockStore(config, { store, clock, log });
    const known = { config, log, clock, intervals, catalog, store, db: store.db, keys, hashKey };
    return await createContext(known, { opened, programs });
  } catch (error) {
    await opened.close();
    throw error;
  }
}

type Known = Pick<
  OpenContext,
  'config' | 'log' | 'clock' | 'intervals' | 'catalog' | 'store' | 'db' | 'keys' | 'hashKey'
>;

/** Creates the parts. Each is closed before those that it needs. */
async function createContext(
  known: Known,
  { opened, programs }: Pick<Options, 'programs'> & { opened: CloseStack },
): Promise<OpenContext> {
  const { config, log, clock, intervals, catalog, store, db, keys, hashKey } = known;
  const { telemetry, metricsPage } = opened.use(await openTelemetry(config, { db, clock, log }));
  const { outbound, toStreams, toIssuers, toReceivers } = createOutbounds(config, opened);
  const remoteSessions = opened.use(createRemoteSessions(outbound, toStreams, clock));
  const audit = opened.use(
    createAuditLog({ db, clock, log, hashKey, anchorFile: anchorFile(config, hashKey) }),
  );
  const keyUses = opened.use(createKeyUses({ db, clock, log, intervals, audit }));
  const executions = opened.use(createExecutionLog({ db, clock, log, keys, hashKey, audit }));
  const dispatcher = opened.use(
    new Dispatcher(
      { db, store, clock, keys, log, telemetry, intervals },
      { outbound: toReceivers, scheduleMs: config.retrySchedule, sweeps: [closeIdleListeners, sweepWrites] },
    ),
  );
  const expressions = opened.use(createBoundedExpressions({ program: programs?.expressions }));
  const programPool = opened.use(createPrograms({ program: programs?.programs }));
  const runs = opened.use(createRuns());
  const sources = opened.use(createSources());
  const remoteServers = opened.use(createRemoteServers(clock));
  const { customConnectors, builds } = await openCustomConnectors(
    { db, config, log, catalog, intervals, mapBounded: expressions.map },
    { opened, buildProgram: programs?.builds },
  );
  let listings: Listings | undefined;
  const base = {
    ...known,
    telemetry,
    metricsPage,
    customConnectors,
    builds,
    outbound,
    throttle: createThrottle(clock),
    remoteSessions,
    remoteServers,
    signInClients: createSignInClients(clock),
    executions,
    circuits: createCircuits({ db, clock, log, telemetry }),
    executionSummaries: createExecutionSummaries({ db, clock }),
    deliverySummaries: createDeliverySummaries({ db, clock }),
    limits: createLimits(config, telemetry),
    audit,
    keyUses,
    liveTopics: opened.use(createLiveTopics({ db, clock, log, intervals })),
    readiness: opened.use(createReadiness({ db, clock, log })),
    servers: createLiveServers({ db, clock, hashKey, catalog }),
    issuers: createIssuers(config.jwtIssuers, { outbound: toIssuers, clock }),
    publicUrl: config.publicUrl ?? `http://${config.host}:${config.port}`,
    stopping: false,
    serving: false,
    dispatcher,
    operator: createOperator({ db, clock, keys, log, dispatcher }),
    accountChanges: createAccountChanges({ clock }),
    credentialMemory: createCredentialMemory({ clock }),
    sources,
    pollCommits: createPollCommits({ store, dispatcher }),
    expressions,
    programs: programPool,
    runs,
    originsOf: async (environment: Environment) => (await readSettings(db, environment)).origins,
    async toolsOf(live: LiveServer, userId: string | undefined) {
      const { createListings } = await import('./mcp/tools/tool-listings.ts');
      listings ??= createListings(base);
      const { offeredTo } = await import('./mcp/scope/offered.ts');
      return listings.of(await offeredTo(base, live, userId), userId);
    },
    close: opened.close,
  };
  // The callers read publicUrl of this same object, because it is final only when the server listens.
  remoteSessions.watch((connector, event) => remoteServers.noticed(connector, event));
  base.signInClients.use(base);
  const withOidc = Object.assign(base, { oidc: oidcOf(config, base, toIssuers) });
  return Object.assign(withOidc, { callers: createCallers(withOidc) });
}

/** Creates the OpenID Connect provider of the console. Undefined where the configuration has none. */
function oidcOf(
  config: Config,
  base: Pick<OpenContext, 'clock' | 'hashKey' | 'publicUrl'>,
  outbound: Outbound,
): Oidc | undefined {
  if (!config.console || !config.oidc) return undefined;
  const { clock, hashKey } = base;
  return createOidc(config.oidc, {
    clock,
    hashKey,
    outbound,
    // The address is final only when the server listens.
    get publicUrl() {
      return base.publicUrl;
    },
  });
}

/** Creates the counts, the traces and the page of metrics. The code that renders or sends them is loaded when it is used. */
async function openTelemetry(
  config: Config,
  context: Pick<OpenContext, 'db' | 'clock' | 'log'>,
): Promise<Pick<OpenContext, 'telemetry' | 'metricsPage'> & { close(): Promise<void> }> {
  const stored = createStoredValues(context);
  const families = async () => [buildInfo(version()), ...telemetry.families(), ...(await stored.read())];
  const guard = createAddressGuard(config.allowedNetworks, false);
  const otlp =
    config.otlp &&
    (await import('./telemetry/otlp.ts')).openOtlp(config.otlp, {
      log: context.log,
      version: version(),
      caFile: config.caFile,
      families,
      reaches(origin) {
        const { host, port } = allowedHost(origin);
        return guard.isListed(host, port);
      },
    });
  const telemetry = createTelemetry(otlp?.tracing);
  return {
    telemetry,
    async metricsPage() {
      const { renderPrometheus } = await import('./telemetry/prometheus.ts');
      return renderPrometheus(await families());
    },
    close: async () => otlp?.close(),
  };
}

/** Creates the clients for requests to apps, to receivers of webhooks, to issuers of JWTs, and for standing streams. */
function createOutbounds(
  config: Config,
  opened: CloseStack,
): Record<'outbound' | 'toReceivers' | 'toIssuers' | 'toStreams', Outbound> {
  const options = {
    allowedNetworks: config.allowedNetworks,
    allowPrivateNetwork: config.allowPrivateNetwork,
    egressProxy: config.egressProxy,
    caFile: config.caFile,
    lookup: shareLookups(),
  };
  // Hosts of issuers are allowed only for these requests; otherwise a caller could name one as an address.
  const addresses = [...config.jwtIssuers.map(({ jwksUrl }) => jwksUrl), config.oidc?.issuer ?? []].flat();
  const issuers = addresses.map(allowedHost);
  return {
    outbound: opened.use(createOutbound(options)),
    // Receivers have their own pool, because a hanging receiver holds sockets and many subscribers may share an
    // origin.
    toReceivers: opened.use(createOutbound({ ...options, connections: RECEIVER_SOCKETS })),
    // A standing stream holds a socket, and calls to its origin need theirs.
    toStreams: opened.use(createOutbound({ ...options, connections: STREAM_SOCKETS })),
    toIssuers: opened.use(
      createOutbound({ ...options, allowedNetworks: [...config.allowedNetworks, ...issuers] }),
    ),
  };
}
