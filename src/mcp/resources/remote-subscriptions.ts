import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import type { Tables } from '../../store/schema.ts';
import { FollowedResource, type FollowContext } from './followed-resource.ts';
import type { Grant } from '../scope/grant.ts';
import { isRemoteUri, remoteResource } from './remote-context.ts';
import type { ToolScope } from '../scope/tool.ts';
import type { Visibility } from '../scope/visible-types.ts';

/*
 * Subscriptions to resources of remote MCP servers. All clients of a user at one MCP server of Gatehouse share the
 * subscription to a resource.
 */

/** Limits of subscriptions: of one user, and of this process. */
const MAX_OF_ONE_USER = 20;
const MAX_OPEN = 500;
/**
 * How long a subscription without subscribers stays open, because its client may reconnect. The client
 * then gets the notes of this time, which watch.ts reads again (OVERLAP_MS).
 */
const GRACE_MS = 5 * SECOND;
/** How long a subscription must be unused before a new one may replace it. Polls find subscribers sooner than this. */
const UNUSED_MS = SECOND;

/** A client that may have subscribed. */
export interface Subscriber {
  readonly environment: Grant['environment'];
  readonly serverId: string;
  readonly userId: string | undefined;
  /** The account that its client named. */
  readonly credentialHeader: string | undefined;
  /** Addresses of resources that it subscribed to. */
  readonly subscriptions: ReadonlySet<string>;
  readonly live: LiveServer;
  /** Returns the current rights of its caller and user. @throws GatehouseError after they were revoked or expired. */
  rights(): Promise<Grant>;
  /** Sends a notification. Drops notifications that the client did not ask for. */
  notify(method: string, params?: JsonObject): void;
}

type Note = Pick<Tables['changes'], 'environment' | 'kind' | 'subject'>;
type Whose = Pick<Subscriber, 'environment' | 'serverId' | 'userId' | 'credentialHeader'>;

/** An address with the clients that subscribed to it. */
interface Used {
  uri: string;
  subscribers: Subscriber[];
}

export interface RemoteSubscriptions {
  /**
   * Subscribes to a resource of a remote server, for the user of a request.
   * @throws GatehouseError as runAction(); `upstream_rejected` when the server reports no changes; `limit_reached`
   */
  follow(scope: ToolScope, uri: string): Promise<void>;
  /** Ends the subscription of a client, unless other clients share it. */
  unfollow(grant: Grant, uri: string): void;
  /** Notifies subscribers of changes, opens broken subscriptions again, and ends those without subscriber or right. */
  attend(subscribers: readonly Subscriber[], notes: readonly Note[]): void;
  close(): void;
}

export function createRemoteSubscriptions(
  context: FollowContext,
  visibility: Visibility,
): RemoteSubscriptions {
  const { clock } = context;
  const all = new Map<string, FollowedResource>();

  const remove = (one: FollowedResource): void => {
    all.delete(one.key);
    one.remove();
  };
  /** Returns a new subscription; undefined when there are too many in use. It may replace an unused one. */
  const add = (whose: Whose, uri: string): FollowedResource | undefined => {
    const owner = ownerOf(whose);
    const own = [...all.values()].filter((one) => one.owner === owner);
    const isFull = own.length >= MAX_OF_ONE_USER;
    if (isFull || all.size >= MAX_OPEN) {
      const unused = (isFull ? own : [...all.values()]).find(
        ({ unusedSince = Infinity }) => clock.now() - unusedSince >= UNUSED_MS,
      );
      if (!unused) return undefined;
      remove(unused);
    }
    const one = new FollowedResource(context, { key: keyOf(whose, uri), owner, uri });
    all.set(one.key, one);
    return one;
  };
  const attendUnused = (one: FollowedResource): void => {
    one.subscribers = 0;
    if (one.waiting > 0) return;
    one.unusedSince ??= clock.now();
    if (clock.now() - one.unusedSince >= GRACE_MS) remove(one);
  };
  const attendUsed = (key: string, { uri, subscribers }: Used, notes: readonly Note[]): void => {
    const [first] = subscribers;
    const known = all.get(key);
    const found = first && remoteResource(visibility.of(first.live), uri);
    if (!found) {
      if (known) remove(known);
      return;
    }
    const one = known ?? add(first, uri);
    if (!one) return;
    one.subscribers = subscribers.length;
    one.unusedSince = undefined;
    const isStale = notes.some((note) => isOfAccounts(note, first));
    one.attend(first, { fingerprint: found.connector.fingerprint, isStale });
    if (!one.takeChange()) return;
    for (const subscriber of subscribers) subscriber.notify('notifications/resources/updated', { uri });
  };

  return {
    async follow({ grant, requestId }, uri) {
      const whose = whoseOf(grant);
      const known = all.get(keyOf(whose, uri));
      const one = known ?? add(whose, uri);
      if (!one)
        throw new GatehouseError(
          'limit_reached',
          `A user subscribes to at most ${MAX_OF_ONE_USER} resources of remote MCP servers. Unsubscribe from some.`,
          { details: { limit: MAX_OF_ONE_USER } },
        );
      try {
        await one.follow({ grant, requestId });
      } catch (error) {
        if (!known && all.get(one.key) === one) remove(one);
        throw error;
      }
    },
    unfollow(grant, uri) {
      const one = all.get(keyOf(whoseOf(grant), uri));
      if (one && one.subscribers <= 1) remove(one);
    },
    attend(subscribers, notes) {
      const used = usedBy(subscribers);
      for (const one of all.values()) if (!used.has(one.key)) attendUnused(one);
      for (const [key, one] of used) attendUsed(key, one, notes);
    },
    close() {
      for (const one of all.values()) remove(one);
    },
  };
}

/** Returns the remote resources that clients subscribed to, by key. */
function usedBy(subscribers: readonly Subscriber[]): Map<string, Used> {
  const used = new Map<string, Used>();
  for (const subscriber of subscribers) {
    for (const uri of subscriber.subscriptions) {
      if (!isRemoteUri(uri)) continue;
      const key = keyOf(subscriber, uri);
      const found = used.get(key);
      if (found) found.subscribers.push(subscriber);
      else used.set(key, { uri, subscribers: [subscriber] });
    }
  }
  return used;
}

function whoseOf(grant: Grant): Whose {
  return { ...grant, serverId: grant.live.server.serverId };
}

function keyOf({ environment, serverId, userId, credentialHeader }: Whose, uri: string): string {
  return JSON.stringify([environment, serverId, userId ?? null, credentialHeader ?? null, uri]);
}

/** Returns the owner for the limit of subscriptions: the user, or the server for a client without a user. */
function ownerOf({ environment, serverId, userId }: Whose): string {
  return `${environment} ${userId ?? serverId}`;
}

function isOfAccounts({ environment, kind, subject }: Note, whose: Whose): boolean {
  return kind === 'accounts' && environment === whose.environment && subject === whose.userId;
}
