import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE, SECOND } from '../../lib/clock.ts';
import { ChangesNotReported } from './remote-fetch.ts';
import type { RemoteSession } from './session.ts';

/** How long a stream of changes stays open after the last use of the server. */
const IDLE_MS = 15 * MINUTE;
/** Delay before the stream is opened, so that a process that makes one call opens none. */
const DELAY_MS = SECOND / 4;
const FIRST_PAUSE_MS = SECOND;
const LONGEST_PAUSE_MS = MINUTE;
/** Streams of this process. Servers beyond this number are read every few minutes. */
const MAX_WATCHES = 200;

/** Streams on which servers report that their tools changed: one for each connector and account in use. */
interface ToolWatch<W> {
  /** Notes that a call used a server that reports such changes. */
  used(wanted: W): void;
  close(): Promise<void>;
}

/** Opens a session whose standing stream stays open. */
interface Openings<W> {
  open(wanted: W, signal: AbortSignal): Promise<RemoteSession>;
  end(session: RemoteSession): void;
}

interface Watch<W> {
  wanted: W;
  usedAt: number;
}

/** The server and account of a call. */
interface Account {
  /** Names the connector in its environment, the address and the credential. */
  account: string;
}

export function createToolWatch<W extends Account>({ open, end }: Openings<W>): ToolWatch<W> {
  const watches = new Map<string, Watch<W>>();
  const running = new Set<Promise<void>>();
  const closing = new AbortController();
  const isInUse = ({ usedAt }: Watch<W>) => performance.now() - usedAt < IDLE_MS;
  /** Keeps the stream open until it ends. Returns whether another one may be opened. */
  const listen = async (watch: Watch<W>): Promise<boolean> => {
    const idle = new AbortController();
    const timer = setInterval(() => isInUse(watch) || idle.abort(), MINUTE);
    timer.unref();
    const signal = AbortSignal.any([closing.signal, idle.signal]);
    let session: RemoteSession | undefined;
    try {
      session = await open(watch.wanted, signal);
      await session.watchTools(signal);
      return true;
    } catch (error) {
      return !(error instanceof ChangesNotReported);
    } finally {
      clearInterval(timer);
      if (session) end(session);
    }
  };
  const keep = async (account: string, watch: Watch<W>): Promise<void> => {
    const pause = (ms: number) => sleep(ms, undefined, { signal: closing.signal, ref: false });
    try {
      let pauseMs = FIRST_PAUSE_MS;
      await pause(DELAY_MS);
      while (isInUse(watch)) {
        const openedAt = performance.now();
        // A server without such a stream is asked again with its first use after a while.
        if (!(await listen(watch))) return await pause(IDLE_MS);
        if (performance.now() - openedAt > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
        await pause(pauseMs);
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      }
    } catch (error) {
      if (!closing.signal.aborted) throw error;
    } finally {
      watches.delete(account);
    }
  };
  return {
    used(wanted) {
      const { account } = wanted;
      const known = watches.get(account);
      // The newest headers count, because tokens are renewed.
      if (known) Object.assign(known, { wanted, usedAt: performance.now() });
      if (known || watches.size >= MAX_WATCHES || closing.signal.aborted) return;
      const watch = { wanted, usedAt: performance.now() };
      watches.set(account, watch);
      const kept = keep(account, watch);
      running.add(kept);
      void kept.finally(() => running.delete(kept));
    },
    async close() {
      closing.abort();
      await Promise.allSettled(running);
    },
  };
}
