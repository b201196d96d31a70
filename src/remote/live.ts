import { SECOND } from '../lib/clock.ts';
import { createLoop } from '../runtime/loop.ts';
import type { Context, RemoteServers } from './context.ts';
import { claimDue, readSooner } from './rows.ts';

/** A server that reports changes all the time is read at most once in this time. */
const CHANGES_MS = 10 * SECOND;
const MAX_READS = 8;

export function createRemoteServers(): RemoteServers {
  let served: Context | undefined;
  const loop = createLoop({
    most: MAX_READS,
    async turn({ freeSlots }) {
      const context = served;
      const works: Promise<unknown>[] = [];
      if (!context) return works;
      while (works.length < freeSlots) {
        const due = await claimDue(context);
        if (!due) break;
        const { update } = await import('./records.ts');
        works.push(update(context, due, 'service'));
      }
      return works;
    },
    onError: (error) => served?.log.warn({ err: error }, 'tools of a remote server not read'),
  });
  return {
    start(context) {
      served = context;
      loop.every(context.intervals.workMs);
    },
    changed(connector) {
      const [environment] = connector.environments;
      if (!served || environment === undefined || !connector.custom) return;
      const { clock, log } = served;
      readSooner(served, { environment, connectorId: connector.connectorId }, clock.now() + CHANGES_MS).catch(
        (error: unknown) => log.warn({ err: error }, 'change of tools not noted'),
      );
    },
    close: () => loop.close(),
  };
}
