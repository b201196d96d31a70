import type { Context } from '../context.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';

import { STALE_MS } from '../identity/caller.ts';
import type { Environment } from '../store/schema.ts';
import { findServer, findServerByToken, type McpServer } from './records.ts';
import { decide, type Decision } from './restrictions.ts';
import { readSettings } from './settings.ts';

const MAX_KEPT = 10_000;

/** A server as requests see it: the record and what its restrictions decide. */
export interface LiveServer {
  server: McpServer;
  decision: Decision;
}

/** Servers by id and by token, at most STALE_MS old: a change, a rotation or a kill switch holds within a second. */
export interface LiveServers {
  byId(environment: Environment, serverId: string): Promise<LiveServer | undefined>;
  byToken(accessToken: string): Promise<LiveServer | undefined>;
  /** Forgets what it remembers: a change made here holds at once in this process. */
  forget(): void;
}

export function createLiveServers(context: Pick<Context, 'db' | 'clock' | 'hashKey'>): LiveServers {
  const kept = createTtlCache<LiveServer | undefined>({
    ttlMs: STALE_MS,
    max: MAX_KEPT,
    clock: context.clock,
  });
  const complete = async (server: McpServer | undefined): Promise<LiveServer | undefined> => {
    if (!server) return undefined;
    if (!server.bound) return { server, decision: decide(server.restrictions) };
    const { userServerRestrictions } = await readSettings(context.db, server.environment);
    return { server, decision: decide(server.restrictions, userServerRestrictions) };
  };
  return {
    forget: () => kept.clear(),
    byId: (environment, serverId) =>
      kept.get(`${environment} ${serverId}`, async () =>
        complete(await findServer(context.db, environment, serverId)),
      ),
    byToken: (accessToken) =>
      kept.get(accessToken, async () => complete(await findServerByToken(context, accessToken))),
  };
}
