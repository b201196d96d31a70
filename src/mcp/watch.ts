import type { Context } from '../context.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Changed } from '../upstream/call.ts';
import type { EventScope } from '../connectors/events-format.ts';
import { eventScopeOf, newestOf } from './events.ts';
import type { Grant } from './grant.ts';

const LOOK_EVERY_MS = SECOND;
/** Proxies close what is silent for a minute. */
const PING_EVERY = 25;
const LISTS: readonly Changed[] = ['tools', 'resources', 'prompts'];

/** Somebody who is told what changes at a server: a session with a standing stream, or a listener of the modern form. */
export interface Watcher {
  readonly serverId: string;
  /** Addresses of resources that it wants to hear of. */
  readonly subscriptions: ReadonlySet<string>;
  /** What the server showed when last looked at; another one means that lists changed. */
  shape: string;
  /** The newest event of each scope that it subscribed to, when last looked at. */
  readonly newest: Map<EventScope, string>;
  /** The rights of its caller and user as they are now. @throws GatehouseError once they are gone. */
  rights(): Promise<Grant>;
  /** A notification; it drops those that were not asked for. */
  tell(method: string, params?: JsonObject): void;
  ping(): void;
  /** Ends its stream. */
  leave(): void;
}

export interface Watch {
  /** Tells now that lists of a server changed. */
  announce(serverId: string, lists: readonly Changed[]): void;
  close(): void;
}

/** Tells those who listen, once a second, what has changed at their server; ends those who may no longer listen. */
export function watchChanges(context: Pick<Context, 'db' | 'log'>, watchers: () => Watcher[]): Watch {
  let looking = false;
  let looks = 0;
  const look = async (): Promise<void> => {
    looks++;
    for (const watcher of watchers()) {
      if (looks % PING_EVERY === 0) watcher.ping();
      try {
        const grant = await watcher.rights();
        const { shape } = grant.live;
        if (shape !== watcher.shape) {
          watcher.shape = shape;
          for (const list of LISTS) watcher.tell(`notifications/${list}/list_changed`);
          for (const uri of watcher.subscriptions) watcher.tell('notifications/resources/updated', { uri });
        }
        await tellEvents(context, watcher, grant);
      } catch (error) {
        if (error instanceof GatehouseError && error.status < 500) watcher.leave();
        else context.log.warn({ err: error }, 'changes could not be looked for');
      }
    }
  };
  const timer = setInterval(() => {
    // A slow store must not let the rounds pile up.
    if (looking) return;
    looking = true;
    void look().finally(() => (looking = false));
  }, LOOK_EVERY_MS);
  timer.unref();

  return {
    announce(serverId, lists) {
      for (const watcher of watchers()) {
        if (watcher.serverId !== serverId) continue;
        for (const list of lists) watcher.tell(`notifications/${list}/list_changed`);
      }
    },
    close: () => clearInterval(timer),
  };
}

/** Tells of new events in the scopes that somebody subscribed to. */
async function tellEvents(context: Pick<Context, 'db'>, watcher: Watcher, grant: Grant): Promise<void> {
  const { newest, subscriptions } = watcher;
  if (subscriptions.size === 0) return;
  const uris = new Map([...subscriptions].map((uri) => [eventScopeOf(uri), uri]));
  for (const [scope, event] of await newestOf(context, grant, uris.values())) {
    const before = newest.get(scope);
    newest.set(scope, event);
    const uri = uris.get(scope);
    if (before !== undefined && before !== event && uri !== undefined)
      watcher.tell('notifications/resources/updated', { uri });
  }
}
