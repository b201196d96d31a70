import { MINUTE } from '../../lib/clock.ts';
import type { RemoteSession } from './session.ts';

/** How long an unused session stays open. */
const IDLE_MS = MINUTE;
/** Unused sessions of this process. Beyond this number, the least recently used one is closed. */
const MAX_IDLE = 500;

/** Sessions that are open and serve no call. */
export interface IdleSessions {
  take(key: string | undefined): RemoteSession | undefined;
  release(key: string | undefined, session: RemoteSession): void;
  close(): void;
}

interface Idle {
  key: string;
  session: RemoteSession;
  timer: NodeJS.Timeout;
}

export function createIdleSessions(end: (session: RemoteSession) => void): IdleSessions {
  let idle: Idle[] = [];
  const remove = (one: Idle): RemoteSession => {
    clearTimeout(one.timer);
    idle = idle.filter((other) => other !== one);
    return one.session;
  };
  return {
    take(key) {
      const found = key === undefined ? undefined : idle.findLast((one) => one.key === key);
      return found && remove(found);
    },
    release(key, session) {
      if (key === undefined) return end(session);
      const one: Idle = { key, session, timer: setTimeout(() => end(remove(one)), IDLE_MS) };
      one.timer.unref();
      idle.push(one);
      const [oldest] = idle;
      if (idle.length > MAX_IDLE && oldest) end(remove(oldest));
    },
    close() {
      for (const one of idle) end(remove(one));
    },
  };
}
