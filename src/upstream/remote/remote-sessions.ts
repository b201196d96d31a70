import type { Connector } from '../../connectors/catalog.ts';
import { MINUTE } from '../../lib/clock.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { SessionGone } from './remote-fetch.ts';
import type { RemoteSession, Served, Ways } from './session.ts';

/** How long an unused session stays open. */
const IDLE_MS = MINUTE;
/** Unused sessions of this process. Beyond this number, the least recently used one is closed. */
const MAX_IDLE = 500;

/** A call that needs a session. */
export interface Wanted extends Omit<Served, 'onToolsChanged'> {
  connector: Connector;
  url: string;
  /** Calls with the same key may use a session one after the other. Undefined: only this call uses the session. */
  key: string | undefined;
}

/** Sessions with remote MCP servers. */
export interface RemoteSessions {
  /** Runs `work` with an idle session of the key, or else a new one. Closes the session if the work fails. */
  use<T>(wanted: Wanted, work: (session: RemoteSession) => Promise<T>): Promise<T>;
  /** Subscribes to the followed resource in a separate session, which ends when the signal of the call is aborted. */
  follow(wanted: Wanted & { followed: NonNullable<Served['followed']> }): Promise<void>;
  /** Reports the connectors whose server said that its tools changed. */
  watch(listener: (connector: Connector) => void): void;
  close(): Promise<void>;
}

interface Idle {
  key: string;
  session: RemoteSession;
  timer: NodeJS.Timeout;
}

/** Creates the sessions. `standing` has the sockets of standing streams. */
export function createRemoteSessions(
  calls: Pick<Outbound, 'stream'>,
  standing: Ways['standing'] = calls,
): RemoteSessions {
  let idle: Idle[] = [];
  let listener: ((connector: Connector) => void) | undefined;
  const closing = new Set<Promise<void>>();
  /** Sessions for a followed resource that are being opened. close() waits for them, because each ends as soon as it is open. */
  const opening = new Set<Promise<void>>();

  const end = (session: RemoteSession): void => {
    const closed = session.close();
    closing.add(closed);
    void closed.finally(() => closing.delete(closed));
  };
  const remove = (one: Idle): RemoteSession => {
    clearTimeout(one.timer);
    idle = idle.filter((other) => other !== one);
    return one.session;
  };
  const take = (key: string | undefined): RemoteSession | undefined => {
    const found = key === undefined ? undefined : idle.findLast((one) => one.key === key);
    return found && remove(found);
  };
  const release = (key: string | undefined, session: RemoteSession): void => {
    if (key === undefined) return end(session);
    const one: Idle = { key, session, timer: setTimeout(() => end(remove(one)), IDLE_MS) };
    one.timer.unref();
    idle.push(one);
    const [oldest] = idle;
    if (idle.length > MAX_IDLE && oldest) end(remove(oldest));
  };
  /** The client of the SDK is loaded with the first session, because a start should not wait for it. */
  const begin = async (url: string, served: Served): Promise<RemoteSession> => {
    const { RemoteSession: Session } = await import('./session.ts');
    return new Session({ calls, standing }, url, served);
  };
  const lend = async <T>(
    { key, url, connector, ...rest }: Wanted,
    known: RemoteSession | undefined,
    work: (session: RemoteSession) => Promise<T>,
  ): Promise<T> => {
    const served: Served = { ...rest, onToolsChanged: () => listener?.(connector) };
    const session = known ?? (await begin(url, served));
    try {
      if (known) session.serve(served);
      else await session.open();
      const result = await work(session);
      release(key, session);
      return result;
    } catch (error) {
      end(session);
      throw error;
    }
  };

  const follow: RemoteSessions['follow'] = async ({ connector, url, ...rest }) => {
    const session = await begin(url, { ...rest, onToolsChanged: () => listener?.(connector) });
    try {
      await session.open();
      await session.subscribe(rest.followed);
      rest.signal?.throwIfAborted();
    } catch (error) {
      end(session);
      throw error;
    }
    rest.signal?.addEventListener('abort', () => end(session), { once: true });
  };

  return {
    async use(wanted, work) {
      const known = take(wanted.key);
      try {
        return await lend(wanted, known, work);
      } catch (error) {
        // The server ended the idle session earlier, and did not process the request.
        if (known && error instanceof SessionGone) return lend(wanted, undefined, work);
        throw error;
      }
    },
    async follow(wanted) {
      const opened = follow(wanted);
      opening.add(opened);
      try {
        await opened;
      } finally {
        opening.delete(opened);
      }
    },
    watch: (given) => void (listener = given),
    async close() {
      for (const one of idle) end(remove(one));
      await Promise.allSettled(opening);
      await Promise.all(closing);
    },
  };
}
