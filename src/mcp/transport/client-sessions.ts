import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import { MINUTE } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Abilities } from '../protocol/abilities.ts';
import type { Grant } from '../scope/grant.ts';
import type { LogLevel } from '../../lib/log-level.ts';
import { whenClosed, writeEvent } from './reply.ts';
import type { Watcher } from './watch.ts';

const IDLE_MS = 30 * MINUTE;
const MAX_SESSIONS = 10_000;
/** Limit for one caller at one server, so that one caller cannot take all sessions. */
const MAX_OF_ONE_CALLER = 1000;
const MAX_EVENTS = 256;
const MAX_EVENT_BYTES = 1024 * 1024;
/** Name of the stream that a GET opens, next to the streams of POSTs. */
const STANDING = 'g';

interface StoredEvent {
  stream: string;
  number: number;
  text: string;
}

/**
 * A session of MCP 2024-11-05 to 2025-11-25: a record, without an SDK transport of its own, because 1,000 of those take
 * 67 MB. A session belongs to its process, its server, its caller and its user.
 */
export interface Session extends Watcher {
  readonly sessionId: string;
  readonly caller: string;
  readonly userId: string | undefined;
  readonly protocolVersion: string;
  /** Input that the client can provide (elicitation.ts). */
  readonly abilities: Abilities;
  logLevel: LogLevel | undefined;
  /** Our requests that the client has not answered yet. */
  readonly asked: Map<string, (result: JsonObject | undefined) => void>;
  /** Aborts when the session ends. */
  readonly gone: AbortSignal;
  readonly subscriptions: Set<string>;
  /** Returns the current rights of the GET that opened the standing stream. */
  rights: () => Promise<Grant>;
  /** Called when the standing stream opens and closes. */
  readonly listens: (open: boolean) => void;
  since: number;
  /** Requests under way, by the client's id. */
  readonly running: Map<string | number, AbortController>;
  lastUsed: number;
  /** Open streams by name. */
  readonly open: Map<string, ServerResponse>;
  readonly ended: Set<string>;
  events: StoredEvent[];
  eventBytes: number;
  nextEvent: number;
  nextStream: number;
}

export interface Sessions {
  create(grant: Grant, client: { protocolVersion: string; abilities: Abilities }): Session;
  /** Returns the session if this caller owns it, at this server and for this user. */
  find(sessionId: string, grant: Grant): Session | undefined;
  end(session: Session): void;
  count(): number;
  /** Sessions with a standing stream. They are notified of changes. */
  listening(): Iterable<Session>;
  /** Ends the standing streams. */
  closeStreams(): void;
  close(): void;
}

export function createSessions(clock: Clock): Sessions {
  // In order of last use; the first session is evicted first.
  const sessions = new Map<string, Session>();
  const controllers = new WeakMap<Session, AbortController>();
  // Also in order of last use.
  const owned = new Map<string, Set<Session>>();
  const listening = new Set<Session>();

  const end = (session: Session): void => {
    sessions.delete(session.sessionId);
    listening.delete(session);
    const siblings = owned.get(ownerOf(session));
    siblings?.delete(session);
    if (siblings?.size === 0) owned.delete(ownerOf(session));
    controllers.get(session)?.abort();
    for (const controller of session.running.values()) controller.abort();
    for (const res of session.open.values()) res.end();
    session.open.clear();
  };
  /**
   * Ends the least recently used session of the caller with the most sessions, so that no caller evicts others' sessions.
   */
  const evictOne = (): void => {
    let most: Set<Session> | undefined;
    for (const siblings of owned.values()) if (siblings.size > (most?.size ?? 1)) most = siblings;
    const [oldest] = most ?? sessions.values();
    if (oldest) end(oldest);
  };
  const sweep = setInterval(() => {
    for (const session of sessions.values()) {
      if (session.lastUsed > clock.now() - IDLE_MS) break;
      if (session.open.size === 0) end(session);
    }
  }, MINUTE);
  sweep.unref();

  return {
    create(grant, { protocolVersion, abilities }) {
      const { serverId } = grant.live.server;
      if (sessions.size >= MAX_SESSIONS) evictOne();
      const siblings = owned.get(ownerOf({ serverId, caller: grant.caller })) ?? new Set();
      const [oldest] = siblings;
      if (siblings.size >= MAX_OF_ONE_CALLER && oldest) end(oldest);
      const gone = new AbortController();
      const session = newSession(
        grant,
        { protocolVersion, abilities, gone: gone.signal },
        { clock, listening, end },
      );
      sessions.set(session.sessionId, session);
      owned.set(ownerOf(session), siblings.add(session));
      controllers.set(session, gone);
      return session;
    },
    find(sessionId, grant) {
      const session = sessions.get(sessionId);
      if (!session || session.serverId !== grant.live.server.serverId) return undefined;
      if (session.caller !== grant.caller || session.userId !== grant.userId) return undefined;
      session.lastUsed = clock.now();
      sessions.delete(sessionId);
      sessions.set(sessionId, session);
      const siblings = owned.get(ownerOf(session));
      siblings?.delete(session);
      siblings?.add(session);
      return session;
    },
    end,
    count: () => sessions.size,
    closeStreams() {
      for (const session of listening) endStandingStream(session);
    },
    listening: () => listening,
    close() {
      clearInterval(sweep);
      for (const session of sessions.values()) end(session);
    },
  };
}

function newSession(
  grant: Grant,
  client: Pick<Session, 'protocolVersion' | 'abilities' | 'gone'>,
  { clock, listening, end }: { clock: Clock; listening: Set<Session>; end(session: Session): void },
): Session {
  const initialRights = async () => grant;
  const session: Session = {
    ...client,
    sessionId: randomUUID(),
    environment: grant.environment,
    serverId: grant.live.server.serverId,
    caller: grant.caller,
    userId: grant.userId,
    credentialHeader: grant.credentialHeader,
    logLevel: undefined,
    asked: new Map(),
    subscriptions: new Set(),
    newest: new Map(),
    running: new Map(),
    live: grant.live,
    lastUsed: clock.now(),
    open: new Map(),
    ended: new Set(),
    events: [],
    eventBytes: 0,
    nextEvent: 0,
    nextStream: 0,
    rights: initialRights,
    endsAt: Infinity,
    since: clock.now(),
    listens(open) {
      if (open) {
        session.since = clock.now();
        listening.add(session);
        return;
      }
      listening.delete(session);
      // The old function would hold the closed request in memory.
      session.rights = initialRights;
    },
    notify: (method, params) => notify(session, method, params),
    ping: () => ping(session),
    // A client whose token expired reconnects with a newer one, and must find its session.
    onRightsEnded: (reason) => (reason.code === 'token_expired' ? endStandingStream(session) : end(session)),
  };
  return session;
}

/** Ends the standing stream. */
function endStandingStream(session: Session): void {
  session.open.get(STANDING)?.end();
}

function ownerOf({ serverId, caller }: Pick<Session, 'serverId' | 'caller'>): string {
  return `${serverId} ${caller}`;
}

/** Opens a stream for the events of one POST. */
export function newStream(session: Session, res: ServerResponse): string {
  const stream = `p${session.nextStream++}`;
  attach(session, stream, res);
  return stream;
}

/** The last event of a stream that a client has received. */
export interface EventPosition {
  stream: string;
  number: number;
}

/** Returns the event that a Last-Event-ID names; undefined when this session never sent that id. */
export function eventPositionOf(session: Session, lastEventId: string): EventPosition | undefined {
  const [, stream, ofPost, number] = /^(g|p(\d{1,15}))_(\d{1,15})$/.exec(lastEventId) ?? [];
  if (stream === undefined || Number(number) >= session.nextEvent) return undefined;
  if (ofPost !== undefined && Number(ofPost) >= session.nextStream) return undefined;
  return { stream, number: Number(number) };
}

/**
 * Opens the standing stream, or resumes a stream after the client's last event. The standing stream lives as long as
 * its client's rights.
 */
export function openStream(
  session: Session,
  res: ServerResponse,
  { last, endsAt, rights }: { last: EventPosition | undefined } & Pick<Session, 'endsAt' | 'rights'>,
): void {
  const stream = last?.stream ?? STANDING;
  session.open.get(stream)?.end();
  if (stream === STANDING) {
    session.rights = rights;
    session.endsAt = endsAt;
  }
  attach(session, stream, res);
  if (!last) return;
  for (const event of session.events) {
    if (event.stream === stream && event.number > last.number) writeEvent(res, event.text);
  }
  if (session.ended.has(stream)) finish(session, stream);
}

/** Sends a message on a stream and stores it, so that a client that lost the connection can resume. */
export function emit(session: Session, stream: string, message: JsonObject | string): void {
  const number = session.nextEvent++;
  const data = typeof message === 'string' ? message : JSON.stringify(message);
  const text = `id: ${stream}_${number}\nevent: message\ndata: ${data}\n\n`;
  session.events.push({ stream, number, text });
  session.eventBytes += text.length;
  while (
    session.events.length > MAX_EVENTS ||
    (session.eventBytes > MAX_EVENT_BYTES && session.events.length > 1)
  ) {
    session.eventBytes -= session.events.shift()?.text.length ?? 0;
  }
  const res = session.open.get(stream);
  if (res) writeEvent(res, text);
}

/** Sends a notification on the standing stream. */
export function notify(session: Session, method: string, params?: JsonObject): void {
  emit(session, STANDING, { jsonrpc: '2.0', method, ...(params ? { params } : {}) });
}

/** Sends a comment on every open stream, because proxies close silent ones. */
function ping(session: Session): void {
  for (const res of session.open.values()) writeEvent(res, ': here\n\n');
}

/** Ends a stream after its last event. */
export function finish(session: Session, stream: string): void {
  session.ended.add(stream);
  // Drops the oldest mark. The events of that stream are dropped too, so its client cannot resume it.
  if (session.ended.size > MAX_EVENTS) session.ended.delete(session.ended.values().next().value ?? '');
  session.open.get(stream)?.end();
  session.open.delete(stream);
}

function attach(session: Session, stream: string, res: ServerResponse): void {
  session.open.set(stream, res);
  if (stream === STANDING) session.listens(true);
  whenClosed(res, () => {
    if (session.open.get(stream) !== res) return;
    session.open.delete(stream);
    if (stream === STANDING) session.listens(false);
  });
  // An event without content gives the client an id to resume from (MCP 2025-11-25).
  if (session.protocolVersion >= '2025-11-25')
    writeEvent(res, `id: ${stream}_${session.nextEvent++}\ndata: \n\n`);
}
