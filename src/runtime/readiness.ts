import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { probeWrite } from '../store/write-probe.ts';

const CHECK_INTERVAL_MS = 250;
const BLOCKED_MS = SECOND;
/** How long the process counts as not ready after its event loop was blocked. */
const BLOCKED_TTL_MS = 5 * SECOND;
/** Shorter than the timeouts of most load balancers. */
const TIMEOUT_MS = 2 * SECOND;
/** How long a write test is cached, because the readiness endpoint is public. */
const CACHE_MS = SECOND;

/** Checks of whether this process can do its work. */
export interface Readiness {
  /** Watches the event loop from now on. */
  watch(): void;
  /** Returns a sentence for each fault; empty when the service can do its work. */
  missing(): Promise<string[]>;
  close(): void;
}

/** Returns a sentence for each reason why this process should get no requests. */
export async function notReady({
  readiness,
  stopping,
}: {
  readiness: Pick<Readiness, 'missing'>;
  stopping: boolean;
}): Promise<string[]> {
  return [...(stopping ? ['the process is stopping'] : []), ...(await readiness.missing())];
}

export function createReadiness(context: Pick<Base, 'db' | 'clock' | 'log'>): Readiness {
  const loop = watchLoop();
  let cached: { at: number; faults: Promise<string[]> } | undefined;
  const storeFaults = (): Promise<string[]> => {
    const now = performance.now();
    if (!cached || now - cached.at > CACHE_MS) cached = { at: now, faults: faultsOfStore(context) };
    return cached.faults;
  };
  return {
    watch: loop.start,
    async missing() {
      const blocked = loop.blockedMs();
      const loopFaults =
        blocked === 0 ? [] : [`the event loop was blocked for ${(blocked / SECOND).toFixed(1)} s`];
      return [...(await storeFaults()), ...loopFaults];
    },
    close: loop.stop,
  };
}

async function faultsOfStore({ db, clock, log }: Pick<Base, 'db' | 'clock' | 'log'>): Promise<string[]> {
  try {
    const key = await withTimeout(
      db.selectFrom('api_keys').select('key_id').limit(1).executeTakeFirst(),
      TIMEOUT_MS,
    );
    if (!key) return ['the first API keys are not stored yet'];
  } catch (error) {
    log.warn({ err: error }, 'not ready: the database does not answer');
    return ['the database does not answer'];
  }
  try {
    await withTimeout(probeWrite(db, clock.now()), TIMEOUT_MS);
    return [];
  } catch (error) {
    log.warn({ err: error }, 'not ready: the database takes no writes');
    return ['the database takes no writes; its disk may be full'];
  }
}

/** Watches the event loop by a timer. Its delay is the time in which nothing else could run. */
function watchLoop(): { start(): void; stop(): void; blockedMs(): number } {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = 0;
  let blocked = { ms: 0, endedAt: -Infinity };
  const check = (): void => {
    const now = performance.now();
    if (now - dueAt > BLOCKED_MS) blocked = { ms: now - dueAt, endedAt: now };
    dueAt = now + CHECK_INTERVAL_MS;
  };
  return {
    start() {
      dueAt = performance.now() + CHECK_INTERVAL_MS;
      timer ??= setInterval(check, CHECK_INTERVAL_MS).unref();
    },
    stop: () => clearInterval(timer),
    blockedMs: () => (performance.now() - blocked.endedAt < BLOCKED_TTL_MS ? blocked.ms : 0),
  };
}
