import { SECOND } from '../lib/clock.ts';
import { createLoop } from '../runtime/loop.ts';
import type { Context, RemoteServers } from './context.ts';
import { claimDue, readSooner, type Remote } from './remote-rows.ts';

/** Delay of a read after a server reported changed tools, so that a server with many reports is read once in this time. */
const CHANGES_MS = 10 * SECOND;
const MAX_READS = 8;

export function createRemoteServers(): RemoteServers {
  let served: Context | undefined;
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
      return due.map((one) => update(context, one, 'service'));
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
