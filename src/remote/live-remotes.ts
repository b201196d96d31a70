import { MINUTE, SECOND, type Clock } from '../lib/clock.ts';
import { createExpiring } from '../lib/ttl-cache.ts';
import { createLoop } from '../runtime/loop.ts';
import type { Context, RemoteServers } from './context.ts';
import { claimDue, readSooner, type Remote } from './remote-rows.ts';

/** Delay of a read after a server reported changed tools, so that a server with many reports is read once in this time. */
const CHANGES_MS = 10 * SECOND;
/** How soon a server is read that refused an account. It may have moved to another OAuth server. */
const REFUSED_MS = SECOND;
/** How often the sign-in of a server without a working account is looked up. */
const LOOK_MS = MINUTE;
const MAX_LOOKS = 1000;
const MAX_READS = 8;

export function createRemoteServers(clock: Clock): RemoteServers {
  let served: Context | undefined;
  const looked = createExpiring<true>({ ttlMs: LOOK_MS, max: MAX_LOOKS, clock });
  const mayLook = ({ key: { environment, connectorId } }: Remote): boolean => {
    const name = `${environment} ${connectorId}`;
    const may = !looked.has(name);
    if (may) looked.set(name, true);
    return may;
  };
  const loop = createLoop({
    most: MAX_READS,
    async turn({ freeSlots }) {
      const context = served;
      if (!context) return;
      const due: Remote[] = [];
      while (due.length < freeSlots) {
        const one = await claimDue(context);
        if (!one) break;
        due.push(one);
      }
      if (due.length === 0) return;
      const { update } = await import('./remote-records.ts');
      // Reads begin after the last claim. A read that fails during a claim would be an unhandled rejection, which ends
      // the process.
      return due.map((one) => update(context, one, { caller: 'service', mayLook: () => mayLook(one) }));
    },
    onError: (error) => served?.log.warn({ err: error }, 'tools of a remote server not read'),
  });
  return {
    start(context) {
      served = context;
      loop.every(context.intervals.workMs);
    },
    noticed(connector, event) {
      const [environment] = connector.environments;
      if (!served || environment === undefined || !connector.custom) return;
      const { connectorId, definition } = connector;
      if (event === 'refused' && !definition.authentication.some(({ type }) => type === 'oauth2')) return;
      const { log } = served;
      const at = clock.now() + (event === 'refused' ? REFUSED_MS : CHANGES_MS);
      readSooner(served, { environment, connectorId }, at).catch((error: unknown) =>
        log.warn({ err: error }, 'news of a remote server not noted'),
      );
    },
    close: () => loop.close(),
  };
}
