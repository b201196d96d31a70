import type { EventScope } from '../connectors/event-scopes.ts';
import type { Context } from '../context.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { LiveServer } from '../servers/live.ts';
import { changesSince } from '../store/changes.ts';
import { ENVIRONMENTS, type Environment, type Tables } from '../store/schema.ts';
import type { Changed } from '../upstream/call.ts';
import { eventScopeOf, newestOf, readSources } from './events.ts';
import type { Grant } from './grant.ts';

const LOOK_EVERY_MS = SECOND / 2;
/** Proxies close what is silent for a minute. Rights are looked at then, too, in case a note was lost. */
const PING_EVERY = 50;
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

/**
 * Tells those who listen, within a second, what has changed at their server; ends those who may no longer listen. One
 * look at the notes of the store serves them all: whom no note concerns costs nothing.
 */
export function watchChanges(context: WatchContext, watchers: () => Iterable<Watcher>): Watch {
  const notes = noteReader(context);
  /** The look that met them as they began: what is done from time to time is not done for all at once. */
  const met = new WeakMap<Watcher, { look: number; since: number }>();
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
    for (const watcher of all) {
      // Its lists may have changed between its request and this look.
      const { since } = watcher;
      const before = met.get(watcher);
      const first = before?.since !== since;
      if (first) met.set(watcher, { look: looks, since });
      const round = !first && (looks - before.look) % PING_EVERY === 0;
      const over = watcher.endsAt <= context.clock.now();
      if (!first && !round && !over && fresh.length === 0 && watcher.subscriptions.size === 0) continue;
      if (round) watcher.ping();
      const own = fresh.filter((note) => concerns(note, watcher));
      try {
        if (first || round || over || own.length > 0) {
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
      }
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
