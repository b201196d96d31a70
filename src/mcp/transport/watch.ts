import { setTimeout as sleep } from 'node:timers/promises';
import type { EventScope } from '../../connectors/event-scopes.ts';
import type { Context } from '../../context.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { LiveServer } from '../../servers/live.ts';
import { changesSince } from '../../store/changes.ts';
import { ENVIRONMENTS, type Environment, type Tables } from '../../store/schema.ts';
import type { Changed } from '../../upstream/call.ts';
import { eventScopeOf, newestOf, readSources } from '../tools/events.ts';
import type { Grant } from '../tools/grant.ts';

const LOOK_EVERY_MS = SECOND / 2;
/** Proxies close what is silent for a minute. Rights are looked at then, too, in case a note was lost. */
const PING_EVERY = 50;
/** So many are looked at beside each other: all at once would have every turn of the store. */
const LOOKED_AT_ONCE = 100;
/** Who takes longer keeps nobody waiting: the keys of a JWT come from its issuer, which may be slow. */
const PATIENCE_MS = 50;
/** A note may be committed late, and the clocks of processes differ: this far back is looked at again. */
const OVERLAP_MS = 5 * SECOND;
const LISTS: readonly Changed[] = ['tools', 'resources', 'prompts'];
/** Whether an account is connected is told by tools and resources. */
const LISTS_OF_ACCOUNTS: readonly Changed[] = ['tools', 'resources'];

/** Somebody who is told what changes at a server: a session with a standing stream, or a listener of the modern form. */
export interface Watcher {
  readonly environment: Environment;
  readonly serverId: string;
  readonly userId: string | undefined;
  /** Since when it listens, epoch milliseconds: accounts that changed before are no news to it. */
  readonly since: number;
  /** Addresses of resources that it wants to hear of. */
  readonly subscriptions: ReadonlySet<string>;
  /** The server when last looked at: another shape means that lists changed, and what it denies is not told of. */
  live: LiveServer;
  /** The newest event of each scope that it subscribed to, when last looked at. */
  readonly newest: Map<EventScope, string>;
  /** When its rights end by the time alone, as far as is known: then they are looked at anew. Epoch milliseconds. */
  endsAt: number;
  /** The rights of its caller and user as they are now. @throws GatehouseError once they are gone. */
  rights(): Promise<Grant>;
  /** A notification; it drops those that were not asked for. */
  tell(method: string, params?: JsonObject): void;
  ping(): void;
  /** Ends its stream, for the reason that its rights are gone. */
  leave(why: GatehouseError): void;
}

export interface Watch {
  /** Tells now that lists of a server changed. */
  announce(serverId: string, lists: readonly Changed[]): void;
  close(): void;
}

type WatchContext = Pick<Context, 'db' | 'clock' | 'log' | 'catalog' | 'servers' | 'callers'>;
type Note = Pick<Tables['changes'], 'environment' | 'kind' | 'subject' | 'at'>;

/** How it stands with a watcher. */
interface Met {
  /** The look that met it as it began: what is done from time to time is not done for all at once. */
  readonly look: number;
  readonly since: number;
  /** Notes that concern it, and were not looked at with it yet. */
  owed: Note[];
  /** An earlier look is not done with it. */
  busy: boolean;
}

/**
 * Tells those who listen, within a second, what has changed at their server; ends those who may no longer listen. One
 * look at the notes of the store serves them all: whom no note concerns costs nothing.
 */
export function watchChanges(context: WatchContext, watchers: () => Iterable<Watcher>): Watch {
  const notes = noteReader(context);
  const met = new WeakMap<Watcher, Met>();
  let looking = false;
  let looks = 0;

  const look = async (): Promise<void> => {
    const all = [...watchers()];
    if (all.length === 0) return notes.rest();
    const fresh = await notes.fresh();
    // What this process remembers may be from before the change.
    if (fresh.length > 0) {
      context.servers.forget();
      context.callers.forget();
    }
    looks++;
    const read = readSources(context);
    const due: (() => Promise<void>)[] = [];
    for (const watcher of all) {
      const { since } = watcher;
      const before = met.get(watcher);
      // Its lists may have changed between its request and this look.
      const first = before?.since !== since;
      const one = first ? { look: looks, since, owed: [], busy: false } : before;
      if (first) met.set(watcher, one);
      const round = !first && (looks - one.look) % PING_EVERY === 0;
      if (round) watcher.ping();
      for (const note of fresh) if (concerns(note, watcher)) one.owed.push(note);
      if (one.busy) continue;
      const asks = first || round || one.owed.length > 0 || watcher.endsAt <= context.clock.now();
      if (asks || watcher.subscriptions.size > 0) due.push(() => lookAt(watcher, one, { asks, read }));
    }
    for (let at = 0; at < due.length; at += LOOKED_AT_ONCE) {
      const some = due.slice(at, at + LOOKED_AT_ONCE).map((begin) => begin());
      await Promise.race([Promise.all(some), sleep(PATIENCE_MS, undefined, { ref: false })]);
    }
  };

  /** Never rejects. */
  const lookAt = async (
    watcher: Watcher,
    one: Met,
    { asks, read }: { asks: boolean; read: ReturnType<typeof readSources> },
  ): Promise<void> => {
    const own = one.owed;
    one.owed = [];
    one.busy = true;
    try {
      if (asks) {
        const rights = await watcher.rights();
        watcher.endsAt = rights.endsAt;
        const told = tellShape(watcher, rights);
        const accounts = own.some(({ kind, at }) => kind === 'accounts' && at >= watcher.since);
        if (accounts && !told) tellLists(watcher, LISTS_OF_ACCOUNTS);
      }
      await tellEvents(context, watcher, read);
    } catch (error) {
      if (error instanceof GatehouseError && error.status < 500) watcher.leave(error);
      else context.log.warn({ err: error }, 'changes could not be looked for');
    } finally {
      one.busy = false;
    }
  };

  const timer = setInterval(() => {
    // A slow store must not let the rounds pile up.
    if (looking) return;
    looking = true;
    look()
      .catch((error: unknown) => context.log.warn({ err: error }, 'changes could not be looked for'))
      .finally(() => (looking = false));
  }, LOOK_EVERY_MS);
  timer.unref();

  return {
    announce(serverId, lists) {
      for (const watcher of watchers()) if (watcher.serverId === serverId) tellLists(watcher, lists);
    },
    close: () => clearInterval(timer),
  };
}

/** Reads each note of the store once, and makes one where the catalogue of this process has changed. */
function noteReader({ db, clock, catalog }: Pick<Context, 'db' | 'clock' | 'catalog'>) {
  const seen = new Map<string, number>();
  let since: number | undefined;
  let { version } = catalog;
  return {
    /** Nobody listens: what is noted meanwhile is news to nobody. */
    rest() {
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

/** Tells that all lists changed where the server shows something else by now. */
function tellShape(watcher: Watcher, { live }: Grant): boolean {
  const { shape } = watcher.live;
  watcher.live = live;
  if (shape === live.shape) return false;
  tellLists(watcher, LISTS);
  for (const uri of watcher.subscriptions) watcher.tell('notifications/resources/updated', { uri });
  return true;
}

function tellLists(watcher: Watcher, lists: readonly Changed[]): void {
  for (const list of lists) watcher.tell(`notifications/${list}/list_changed`);
}

/** Tells of new events in the scopes that somebody subscribed to. */
async function tellEvents(
  context: Pick<Context, 'db' | 'catalog'>,
  watcher: Watcher,
  read: ReturnType<typeof readSources>,
): Promise<void> {
  const { newest, subscriptions } = watcher;
  if (subscriptions.size === 0) return;
  const uris = new Map([...subscriptions].map((uri) => [eventScopeOf(uri), uri]));
  for (const [scope, event] of await newestOf(context, watcher, uris.values(), read)) {
    const before = newest.get(scope);
    newest.set(scope, event);
    const uri = uris.get(scope);
    if (before !== undefined && before !== event && uri !== undefined)
      watcher.tell('notifications/resources/updated', { uri });
  }
}
