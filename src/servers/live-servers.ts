import { LRUCache } from 'lru-cache';
import type { Action, Catalog } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';

import { STALE_MS } from '../identity/caller.ts';
import type { Environment } from '../store/environments.ts';
import { describeActions } from './described-actions.ts';
import { createLivePins, type Pins } from './pins.ts';
import { findServer, findServerByToken, type McpServer } from './server-records.ts';
import { countEntries, decide, type Decision, type Restrictions } from './restrictions.ts';
import { readSettings } from './environment-settings.ts';
import { sha256 } from '../lib/sha256.ts';

const MAX_CACHED = 10_000;
/** Limit of list entries whose decisions are cached; a compiled entry takes about a kilobyte. */
const MAX_CACHED_ENTRIES = 50_000;

/** A server as requests use it: the record and the decision of its restrictions. */
export interface LiveServer {
  server: McpServer;
  decision: Decision;
  /** Set when tools are pinned; `decision` also denies what they hide. */
  pins?: Pins;
  /** Actions that no account of the asking user can run. They are allowed but not listed. */
  unable?: ReadonlySet<Action>;
  /** Equal for equal restrictions, tool mode, instructions and custom connectors; the cache key of derived data. */
  shape: string;
}

/** Servers by id and by token, at most STALE_MS old: a change, a rotation or a switch-off applies within a second. */
export interface LiveServers {
  byId(environment: Environment, serverId: string): Promise<LiveServer | undefined>;
  byToken(accessToken: string): Promise<LiveServer | undefined>;
  /** Clears the cache, so that a change by this process applies at once here. */
  forget(): void;
}

export function createLiveServers(context: Pick<Base, 'db' | 'clock' | 'hashKey' | 'catalog'>): LiveServers {
  const livePins = createLivePins(context);
  const servers = createTtlCache<LiveServer | undefined>({
    ttlMs: STALE_MS,
    max: MAX_CACHED,
    clock: context.clock,
  });
  // Records are read again every STALE_MS. Their restrictions seldom change and are compiled once.
  const decisions = new LRUCache<string, Decision>({ maxSize: MAX_CACHED_ENTRIES });
  const decisionOf = (hash: string, own: Restrictions, ofEnvironment: Restrictions): Decision => {
    const cached = decisions.get(hash);
    if (cached) return cached;
    const decision = decide(own, ofEnvironment);
    decisions.set(hash, decision, { size: 1 + countEntries(own) + countEntries(ofEnvironment) });
    return decision;
  };
  const toLive = async (server: McpServer | undefined): Promise<LiveServer | undefined> => {
    if (!server) return undefined;
    const ofEnvironment = server.bound
      ? (await readSettings(context.db, server.environment)).userServerRestrictions
      : {};
    const { environment, toolMode, codeMode, customInstructions } = server;
    const rules = sha256(JSON.stringify([server.restrictions, ofEnvironment]));
    const decision = decisionOf(rules, server.restrictions, ofEnvironment);
    const pins = server.pinTools ? await livePins.of(environment) : undefined;
    const custom = customConnectors(context.catalog, environment, decision);
    const shape = sha256(
      JSON.stringify([
        environment,
        toolMode,
        codeMode,
        customInstructions,
        pins?.version ?? null,
        rules,
        ...custom,
      ]),
    );
    if (toolMode === 'direct') await describeActions(context.catalog, { environment, decision });
    if (!pins) return { server, decision, shape };
    const action: Decision['action'] = (one) =>
      decision.action(one) ?? (pins.action(one) ? undefined : 'pinTools');
    return { server, decision: { ...decision, action }, pins, shape };
  };
  // A change of the catalogue changes shapes, so it needs other entries.
  const cached = (key: string, load: () => Promise<LiveServer | undefined>) =>
    servers.get(`${context.catalog.version} ${key}`, load);
  return {
    forget() {
      servers.clear();
      livePins.forget();
    },
    byId: (environment, serverId) =>
      cached(`${environment} ${serverId}`, async () =>
        toLive(await findServer(context.db, environment, serverId)),
      ),
    byToken: (accessToken) =>
      cached(accessToken, async () => toLive(await findServerByToken(context, accessToken))),
  };
}

/** Returns the ids and fingerprints of the custom connectors that a server may show. */
function customConnectors(catalog: Catalog, environment: Environment, decision: Decision): string[] {
  return catalog
    .connectors(environment)
    .filter(({ custom, connectorId }) => custom && !decision.connector(connectorId))
    .flatMap(({ connectorId, fingerprint }) => [connectorId, fingerprint]);
}
