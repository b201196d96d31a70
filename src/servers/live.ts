import type { Context } from '../context.ts';
import { sha256 } from '../crypto/key-ring.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';

import { STALE_MS } from '../identity/caller.ts';
import type { Environment } from '../store/schema.ts';
import { createLivePins, type Pins } from './pins.ts';
import { findServer, findServerByToken, type McpServer } from './records.ts';
import { decide, type Decision } from './restrictions.ts';
import { readSettings } from './settings.ts';

const MAX_KEPT = 10_000;

/** A server as requests see it: the record and what its restrictions decide. */
export interface LiveServer {
  server: McpServer;
  decision: Decision;
  /** Set where tools are pinned; what they hold back, `decision` denies too. */
  pins?: Pins;
  /** Equal for equal restrictions, tool mode and instructions: what is derived from them is kept under this. */
  shape: string;
}

/** Servers by id and by token, at most STALE_MS old: a change, a rotation or a kill switch holds within a second. */
export interface LiveServers {
  byId(environment: Environment, serverId: string): Promise<LiveServer | undefined>;
  byToken(accessToken: string): Promise<LiveServer | undefined>;
  /** Forgets what it remembers: a change made here holds at once in this process. */
  forget(): void;
}

export function createLiveServers(
  context: Pick<Context, 'db' | 'clock' | 'hashKey' | 'catalog'>,
): LiveServers {
  const livePins = createLivePins(context);
  const kept = createTtlCache<LiveServer | undefined>({
    ttlMs: STALE_MS,
    max: MAX_KEPT,
    clock: context.clock,
  });
  const complete = async (server: McpServer | undefined): Promise<LiveServer | undefined> => {
    if (!server) return undefined;
    const ofEnvironment = server.bound
      ? (await readSettings(context.db, server.environment)).userServerRestrictions
      : {};
    const { environment, toolMode, customInstructions } = server;
    const decision = decide(server.restrictions, ofEnvironment);
    const pins = server.pinTools ? await livePins.of(environment) : undefined;
    const shape = sha256(
      JSON.stringify([
        environment,
        toolMode,
        customInstructions,
        pins?.version ?? null,
        server.restrictions,
        ofEnvironment,
      ]),
    );
    if (!pins) return { server, decision, shape };
    const action: Decision['action'] = (one) =>
      decision.action(one) ?? (pins.action(one) ? undefined : 'pinTools');
    return { server, decision: { ...decision, action }, pins, shape };
  };
  return {
    forget() {
      kept.clear();
      livePins.forget();
    },
    byId: (environment, serverId) =>
      kept.get(`${environment} ${serverId}`, async () =>
        complete(await findServer(context.db, environment, serverId)),
      ),
    byToken: (accessToken) =>
      kept.get(accessToken, async () => complete(await findServerByToken(context, accessToken))),
  };
}
