import type { Connector } from '../../connectors/catalog.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { createIdleSessions } from './idle-sessions.ts';
import { createKnownVersions, type KnownVersions } from './known-versions.ts';
import { RefusedByServer, SessionGone, type Ways } from './remote-fetch.ts';
import { refuseOlderTransport } from './older-transport.ts';
import { createRedirects } from './redirects.ts';
import { createToolWatch } from './tool-watch.ts';
import type { RemoteSession, Served } from './session.ts';

/** Statuses with which servers refuse a version of MCP. */
const REFUSES_VERSION = new Set([400, 404, 405]);

/** A call that needs a session. */
export interface Wanted extends Omit<Served, 'onToolsChanged'> {
  connector: Connector;
  url: string;
  /** Calls with the same key may use a session one after the other. Undefined: only this call uses the session. */
  key: string | undefined;
  /** The connector, the address and the credential, whose changes of tools one stream reports. */
  account: string;
  /** Whether Gatehouse itself reads the tools, as every few minutes. Such a read is no use of the server. */
  isRoutine?: boolean | undefined;
}

export type RemoteEvent = 'tools' | 'refused';

/** Sessions with remote MCP servers. */
export interface RemoteSessions {
  /** Runs `work` with an idle session of the key, or else a new one. Closes the session if the work fails. */
  use<T>(wanted: Wanted, work: (session: RemoteSession) => Promise<T>): Promise<T>;
  /** Subscribes to the followed resource in a separate session, which ends when the signal of the call is aborted. */
  follow(wanted: Wanted & { followed: NonNullable<Served['followed']> }): Promise<void>;
  /** Reports connectors whose tools changed at the server, and those whose server refused an account. */
  watch(listener: (connector: Connector, event: RemoteEvent) => void): void;
  close(): Promise<void>;
}

/** Creates the sessions. `standing` has the sockets of standing streams. */
export function createRemoteSessions(
  calls: Ways['calls'],
  standing: Ways['standing'] = calls,
  clock: Clock = systemClock,
): RemoteSessions {
  let listener: ((connector: Connector, event: RemoteEvent) => void) | undefined;
  const report = (connector: Connector, event: RemoteEvent): void => listener?.(connector, event);
  const versions = createKnownVersions(clock);
  const closing = new Set<Promise<void>>();
  const end = (session: RemoteSession): void => {
    const closed = session.close();
    closing.add(closed);
    void closed.finally(() => closing.delete(closed));
  };
  const noteFailure = (wanted: Wanted, error: unknown): void => {
    if (!(error instanceof RefusedByServer)) return;
    versions.forget(wanted);
    if (error.status === 401) report(wanted.connector, 'refused');
  };
  const servedBy = (wanted: Wanted): Served => servedFor(wanted, () => report(wanted.connector, 'tools'));
  const ways = { calls, standing, redirects: createRedirects(clock) };
  const open = createOpener(ways, { versions, end });
  const idle = createIdleSessions(end);
  const toolWatch = createToolWatch<Wanted>({
    open(wanted, signal) {
      const silent = watchedBy(wanted, signal);
      return open(silent, { ...servedBy(silent), watches: true });
    },
    end,
  });
  /** Sessions for a followed resource that are being opened. close() waits for them, because each ends as soon as it is open. */
  const opening = new Set<Promise<void>>();

  const lend = async <T>(
    wanted: Wanted,
    known: RemoteSession | undefined,
    work: (session: RemoteSession) => Promise<T>,
  ): Promise<T> => {
    let session = known;
    try {
      if (session) session.serve(servedBy(wanted));
      else session = await open(wanted, servedBy(wanted));
      const result = await work(session);
      if (session.reportsTools && !wanted.isRoutine) toolWatch.used(wanted);
      idle.release(wanted.key, session);
      return result;
    } catch (error) {
      if (session) end(session);
      noteFailure(wanted, error);
      throw error;
    }
  };
  const follow = async (wanted: Parameters<RemoteSessions['follow']>[0]): Promise<void> => {
    const session = await open(wanted, servedBy(wanted));
    try {
      await session.subscribe(wanted.followed);
      wanted.signal?.throwIfAborted();
    } catch (error) {
      end(session);
      throw error;
    }
    wanted.signal?.addEventListener('abort', () => end(session), { once: true });
  };

  return {
    async use(wanted, work) {
      const known = idle.take(wanted.key);
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
      idle.close();
      await toolWatch.close();
      await Promise.allSettled(opening);
      await Promise.all(closing);
    },
  };
}

function servedFor(wanted: Wanted, onToolsChanged: () => void): Served {
  const {
    connector: _connector,
    url: _url,
    key: _key,
    account: _account,
    isRoutine: _routine,
    ...rest
  } = wanted;
  return { ...rest, onToolsChanged };
}

/** Returns what a standing stream needs of the call that uses the server: nothing that answers the call's client. */
function watchedBy(
  { connector, url, key, account, headers, timeoutMs, allowSandbox }: Wanted,
  signal: AbortSignal,
): Wanted {
  return {
    connector,
    url,
    key,
    account,
    headers,
    timeoutMs,
    signal,
    ...(allowSandbox === undefined ? {} : { allowSandbox }),
  };
}

/** Returns the function that opens a session with the version of MCP that its server speaks. */
function createOpener(
  ways: Ways,
  { versions, end }: { versions: KnownVersions; end: (session: RemoteSession) => void },
): (wanted: Wanted, served: Served) => Promise<RemoteSession> {
  const attempt = async (
    wanted: Wanted,
    served: Served,
    known: ReturnType<KnownVersions['of']>,
  ): Promise<RemoteSession> => {
    // The client of the SDK is loaded with the first session, because a start should not wait for it.
    const { RemoteSession: Session } = await import('./session.ts');
    const session = new Session(ways, wanted.url, served);
    try {
      await session.open(known);
    } catch (error) {
      end(session);
      throw error;
    }
    versions.remember(wanted, session.version);
    return session;
  };
  /** Opens a session with the version that is known, and with another one where the server refuses that. */
  const opened = async (wanted: Wanted, served: Served): Promise<RemoteSession> => {
    const known = versions.of(wanted);
    try {
      return await attempt(wanted, served, known);
    } catch (error) {
      // The server may speak another version by now. It did nothing yet.
      if (known && isRefusedVersion(error)) return attempt(wanted, served, undefined);
      throw error;
    }
  };
  return async (wanted, served) => {
    try {
      return await opened(wanted, served);
    } catch (error) {
      if (isRefusedVersion(error)) await refuseOlderTransport(ways.calls, wanted);
      throw error;
    }
  };
}

function isRefusedVersion(error: unknown): boolean {
  return error instanceof RefusedByServer && REFUSES_VERSION.has(error.status);
}
