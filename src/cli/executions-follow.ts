import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../lib/json.ts';
import { EXECUTIONS, recordsOf, type Filters } from './record-kinds.ts';
import { withNames } from './record-names.ts';
import type { Service } from './service.ts';
import { linesOf, textOf } from './table.ts';

const INTERVAL_MS = 1000;
/** Reads are recorded up to a second after they ran, so a later look finds them behind newer ones. */
const LATE_MS = 10_000;
const MOST = 1000;

/** Runs `gatehouse executions list --follow`: prints new executions until a signal ends it. */
export async function followExecutions(
  service: Service,
  { filters, json }: { filters: Filters; json: boolean },
): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const seen = new Map<string, number>();
  const lines = linesOf(EXECUTIONS.columns);
  const look = async () => {
    // Times are those of the service, whose clock may differ from ours.
    const newest = Math.max(0, ...seen.values());
    const from = newest === 0 ? undefined : new Date(newest - LATE_MS).toISOString();
    const limit = newest === 0 ? 50 : MOST;
    const { records } = await recordsOf(service, EXECUTIONS, { filters: { ...filters, from }, limit });
    const fresh = records.filter((one) => !seen.has(idIn(one))).toReversed();
    for (const one of fresh) seen.set(idIn(one), timeIn(one));
    for (const [id, at] of seen) if (at < newest - 2 * LATE_MS) seen.delete(id);
    return fresh;
  };
  await look();
  process.stderr.write('Waiting for executions. Stop: Ctrl+C\n');
  while (!stop.signal.aborted) {
    const fresh = await look();
    if (json) for (const one of fresh) process.stdout.write(`${JSON.stringify(one)}\n`);
    else process.stdout.write(lines(await withNames(service, fresh, EXECUTIONS.named)));
    await sleep(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
  }
  return 0;
}

function idIn(execution: JsonObject): string {
  return textOf(execution['executionId']);
}

function timeIn(execution: JsonObject): number {
  return Date.parse(textOf(execution['at']));
}
