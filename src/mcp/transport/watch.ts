import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceScope } from '../../connectors/event-scopes.ts';
import type { Context } from '../context.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import { changesSince } from '../../store/change-notes.ts';
import type { Tables } from '../../store/schema.ts';
import { ENVIRONMENTS } from '../../store/environments.ts';
import type { Changed } from '../../upstream/upstream-call.ts';
import { eventScopeOf, newestOf, readSources } from '../answers/events.ts';
import type { Grant } from '../scope/grant.ts';
import { notifyOfTasks, type WatchedTasks } from './watched-tasks.ts';
import type { RemoteSubscriptions, Subscriber } from '../resources/remote-subscriptions.ts';

/**
 * Polls between pings. Proxies close connections that are silent for a minute. A ping also checks the rights.
 */
const PING_EVERY = 50;
/** Checks that run at the same time; more would block other users of the store. */
const MAX_CHECKS = 100;
/** Longest wait of the next checks for a slow one. A JWT's keys come from its issuer, which may be slow. */
const MAX_WAIT_MS = 50;
/** Changes this old are read again, because a change may be committed late and the clocks of processes differ. */
const OVERLAP_MS = 5 * SECOND;
const LISTS: readonly Changed[] = ['tools', 'resources', 'prompts'];
/** The tools and resources of a server show whether an account is connected. */
const LISTS_OF_ACCOUNTS: readonly Changed[] = ['tools', 'resources'];

/** A receiver of change notifications: a session with a standing stream, or a listener of MCP 2026-07-28. */
export interface Watcher extends Subscriber {
  /** Start of listening, epoch ms. Earlier changes of accounts are not reported. */
  readonly since: number;
  /**
   * The server at the last check. A different shape means that lists changed. Resources that it denies are not reported.
   */
  live: LiveServer;
  /** The newest event of each subscribed scope at the last check. */
  readonly newest: Map<SourceScope, string>;
  /** Tasks that it follows; undefined without any. */
  readonly tasks?: WatchedTasks;
  /** Expiry of the caller's rights as far as known, epoch ms. The rights are checked again then. */
  endsAt: number;
  ping(): void;
  /** Ends its stream because its rights ended. */
  onRightsEnded(reason: GatehouseError): void;
}

export interface Watch {
  /** Notifies watchers at once that lists of a server changed. */
  announce(serverId: string, lists: readonly Changed[]): void;
  close(): void;
}

type WatchContext = Pick<
  Context,
  'db' | 'clock' | 'keys' | 'log' | 'catalog' | 'servers' | 'callers' | 'credentialMemory' | 'intervals'
>;
type Note = Pick<Tables['changes'], 'environment' | 'kind' | 'subject' | 'at'>;

/** State of one watcher between checks. */
interface WatcherState {
  /** Number of the watcher's first poll. It spreads the periodic checks of all watchers over time. */
  readonly firstPoll: number;
  readonly since: number;
  /** Changes that concern the watcher and were not yet checked. */
  pendingNotes: Note[];
  /** An earlier check of the watcher is still running. */
  busy: boolean;
}

/**
 * Notifies watchers of changes at their server within a second. Ends the streams of watchers without rights. One poll
 * of the stored changes serves all watchers. A change starts checks only of the watchers that it concerns.
 */
export function watchChanges(
  context: WatchContext,
  remoteSubscriptions: Pick<RemoteSubscriptions, 'attend'>,
  watchers: () => Iterable<Watcher>,
): Watch {
  const notes = noteReader(context);
  const states = new WeakMap<Watcher, WatcherState>();
  let polling = false;
  let polls = 0;

  const poll = async (): Promise<void> => {
    const all = [...watchers()];
    if (all.length === 0) {
      remoteSubscriptions.attend(all, []);
      return notes.reset();
    }
    const fresh = await notes.fresh();
    remoteSubscriptions.attend(all, fresh);
    // The caches of this process may be older than the change.
    if (fresh.length > 0) {
      context.servers.forget();
      context.callers.forget();
      context.credentialMemory.forgetChoices();
    }
    polls++;
    const read = readSources(context);
    const due: (() => Promise<void>)[] = [];
    for (const watcher of all) {
      const { since } = watcher;
      const before = states.get(watcher);
      // The lists may have changed between the watcher's request and this poll.
      const first = before?.since !== since;
      const state = first ? { firstPoll: polls, since, pendingNotes: [], busy: false } : before;
      if (first) states.set(watcher, state);
      const pings = !first && (polls - state.firstPoll) % PING_EVERY === 0;
      if (pings) watcher.ping();
      for (const note of fresh) if (concerns(note, watcher)) state.pendingNotes.push(note);
      if (state.busy) continue;
      const full = first || pings || state.pendingNotes.length > 0 || watcher.endsAt <= context.clock.now();
      if (full || watcher.subscriptions.size > 0) due.push(() => check(watcher, state, { full, read }));
    }
    for (let at = 0; at < due.length; at += MAX_CHECKS) {
      const started = due.slice(at, at + MAX_CHECKS).map((begin) => begin());
      await Promise.race([Promise.all(started), sleep(MAX_WAIT_MS, undefined, { ref: false })]);
    }
    await notifyOfTasks(context, all);
  };

  /** Checks one watcher for new events, and its rights when `full`. Never rejects. */
  const check = async (
    watcher: Watcher,
    state: WatcherState,
    { full, read }: { full: boolean; read: ReturnType<typeof readSources> },
  ): Promise<void> => {
    const pending = state.pendingNotes;
    state.pendingNotes = [];
    state.busy = true;
    try {
      if (full) {
        const rights = await watcher.rights();
        watcher.endsAt = rights.endsAt;
        const notified = notifyOfNewShape(watcher, rights);
        const accounts = pending.some(({ kind, at }) => kind === 'accounts' && at >= watcher.since);
        if (accounts && !notified) notifyOfLists(watcher, LISTS_OF_ACCOUNTS);
      }
      await notifyOfEvents(context, watcher, read);
    } catch (error) {
      if (error instanceof GatehouseError && error.status < 500) watcher.onRightsEnded(error);
      else context.log.warn({ err: error }, 'check for changes failed');
    } finally {
      state.busy = false;
    }
  };

  const timer = setInterval(() => {
    // Polls must not overlap when the store is slow.
    if (polling) return;
    polling = true;
    poll()
      .catch((error: unknown) => context.log.warn({ err: error }, 'check for changes failed'))
      .finally(() => (polling = false));
  }, context.intervals.changesMs);
  timer.unref();

  return {
    announce(serverId, lists) {
      for (const watcher of watchers()) if (watcher.serverId === serverId) notifyOfLists(watcher, lists);
    },
    close: () => clearInterval(timer),
  };
}

/** Reads each stored change once. Adds a change when the catalogue of this process changed. */
function noteReader({ db, clock, catalog }: Pick<Context, 'db' | 'clock' | 'catalog'>) {
  const seen = new Map<string, number>();
  let since: number | undefined;
  let { version } = catalog;
  return {
    /** Resets the reader while there are no watchers, because they need only later changes. */
    reset() {
      since = undefined;
      seen.clear();
    },
    async fresh(): Promise<Note[]> {
      const now = clock.now();
      const from = (since ?? now) - OVERLAP_MS;
      const rows = await changesSince(db, from);
      const fresh: Note[] = rows.filter((row) => !seen.has(row.change_id));
      for (const row of rows) seen.set(row.change_id, row.at);
      for (const [id, at] of seen) if (at < from) seen.delete(id);
      since = now;
      if (version !== catalog.version) {
        ({ version } = catalog);
        for (const environment of ENVIRONMENTS)
          fresh.push({ environment, kind: 'environment', subject: 'catalog', at: now });
      }
      return fresh;
    },
  };
}

function concerns({ environment, kind, subject }: Note, watcher: Watcher): boolean {
  if (environment !== watcher.environment) return false;
  switch (kind) {
    case 'server':
      return subject === watcher.serverId;
    case 'user':
    case 'accounts':
      return subject === watcher.userId;
    case 'environment':
      return true;
  }
}

/** Notifies a watcher that all lists changed when the server's shape changed. Returns whether it changed. */
function notifyOfNewShape(watcher: Watcher, { live }: Grant): boolean {
  const { shape } = watcher.live;
  watcher.live = live;
  if (shape === live.shape) return false;
  notifyOfLists(watcher, LISTS);
  for (const uri of watcher.subscriptions) watcher.notify('notifications/resources/updated', { uri });
  return true;
}

function notifyOfLists(watcher: Watcher, lists: readonly Changed[]): void {
  for (const list of lists) watcher.notify(`notifications/${list}/list_changed`);
}

/** Notifies a watcher of new events in its subscribed scopes. */
async function notifyOfEvents(
  context: Pick<Context, 'db' | 'catalog'>,
  watcher: Watcher,
  read: ReturnType<typeof readSources>,
): Promise<void> {
  const { newest, subscriptions } = watcher;
  if (subscriptions.size === 0) return;
  const uris = new Map([...subscriptions].map((uri) => [eventScopeOf(uri), uri]));
  for (const [scope, event] of await newestOf(context, watcher, { uris: uris.values(), read })) {
    const before = newest.get(scope);
    newest.set(scope, event);
    const uri = uris.get(scope);
    if (before !== undefined && before !== event && uri !== undefined)
      watcher.notify('notifications/resources/updated', { uri });
  }
}
