import type { ServerResponse } from 'node:http';
import { GatehouseError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { ownerOf, type Grant } from '../scope/grant.ts';
import { openingOf, SUBSCRIPTION_ID } from '../protocol/mcp-2026.ts';
import { responseText, type RpcRequest } from '../protocol/message.ts';
import { beginEvents, eventText, whenClosed, writeEvent } from './reply.ts';
import type { Watcher } from './watch.ts';

const MAX_LISTENERS = 10_000;
const MAX_FOR_ONE_CALLER = 1000;
/** Addresses, and tasks, that one listener names. */
const MAX_NAMED = 100;
const LISTS = ['tools', 'prompts', 'resources'] as const;

/** The notifications that a listener wants (MCP 2026-07-28, SubscriptionFilter). */
export interface Filter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: string[];
  /** Tasks of the caller (extension Tasks). */
  taskIds?: string[];
}

/** The sink for the messages of a listener: an open POST, or lines of standard output. */
export interface EventSink {
  send(message: string): void;
  ping(): void;
  end(): void;
  onClose(closed: () => void): void;
}

/** An admitted request to listen. */
export interface Listening {
  id: string | number;
  grant: Grant;
  filter: Filter;
  newest: Watcher['newest'];
  since: number;
  /** Returns the caller's current rights. */
  rights: () => Promise<Grant>;
}

/** The streams of `subscriptions/listen`. */
export interface Listeners {
  /** @throws GatehouseError `rate_limited` when there are too many listeners. */
  admit(grant: Grant): void;
  /** Sends a listener's messages to the sink. The first one acknowledges the filter. */
  open(sink: EventSink, listening: Listening): void;
  all(): Iterable<Watcher>;
  /** Ends all listeners, each with its result. */
  closeStreams(): void;
}

interface Listener extends Watcher {
  /** Ends the stream with its result. */
  end(): void;
}

export function createListeners(): Listeners {
  const listeners = new Set<Listener>();
  const perCaller = new Map<string, number>();

  return {
    admit(grant) {
      if (listeners.size < MAX_LISTENERS && (perCaller.get(callerKey(grant)) ?? 0) < MAX_FOR_ONE_CALLER)
        return;
      throw new GatehouseError('rate_limited', 'Too many streams are open already. Close some.', {
        retryAfterSeconds: 60,
      });
    },
    open(sink, listening) {
      const owner = callerKey(listening.grant);
      const listener = listenerOf(sink, listening);
      listeners.add(listener);
      perCaller.set(owner, (perCaller.get(owner) ?? 0) + 1);
      sink.onClose(() => {
        listeners.delete(listener);
        const left = (perCaller.get(owner) ?? 1) - 1;
        if (left > 0) perCaller.set(owner, left);
        else perCaller.delete(owner);
      });
      const notifications = { ...listening.filter };
      sink.send(tagged(listening.id, 'notifications/subscriptions/acknowledged', { notifications }));
    },
    all: () => listeners,
    closeStreams() {
      for (const listener of listeners) listener.end();
    },
  };
}

/**
 * Reads the filter of a request, without entries that this server does not send.
 * @throws GatehouseError `request_meta_invalid`
 */
export function filterOf({ params = {} }: RpcRequest): Filter {
  const wanted = params['notifications'];
  if (!isJsonObject(wanted)) throw invalid('params.notifications must be an object.');
  const filter: Filter = {};
  for (const list of LISTS) {
    const value = wanted[`${list}ListChanged`];
    if (value !== undefined && typeof value !== 'boolean')
      throw invalid(`params.notifications.${list}ListChanged must be true or false.`);
    if (value === true) filter[`${list}ListChanged`] = true;
  }
  for (const [name, what] of [
    ['resourceSubscriptions', 'addresses'],
    ['taskIds', 'ids of tasks'],
  ] as const) {
    const texts = namesIn(wanted[name]);
    if (texts) filter[name] = texts;
    else if (wanted[name] !== undefined)
      throw invalid(`params.notifications.${name} must be a list of at most ${MAX_NAMED} ${what}.`);
  }
  return filter;
}

/** Returns the different texts of a list; undefined for anything else. */
function namesIn(value: Json | undefined): string[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_NAMED) return undefined;
  const texts = value.filter((one) => typeof one === 'string');
  return texts.length === value.length ? [...new Set(texts)] : undefined;
}

function callerKey({ live, caller }: Grant): string {
  return `${live.server.serverId} ${caller}`;
}

function listenerOf(sink: EventSink, { id, grant, filter, newest, since, rights }: Listening): Listener {
  const subscriptions = new Set(filter.resourceSubscriptions);
  const wanted = new Set([
    ...LISTS.flatMap((list) => (filter[`${list}ListChanged`] ? [`notifications/${list}/list_changed`] : [])),
    ...(subscriptions.size > 0 ? ['notifications/resources/updated'] : []),
    ...(filter.taskIds ? ['notifications/tasks'] : []),
  ]);
  const end = (): void => {
    const opening = openingOf('subscriptions/listen', { [SUBSCRIPTION_ID]: id });
    sink.send(responseText(id, { opening, result: '{}', failed: false }));
    sink.end();
  };
  return {
    environment: grant.environment,
    serverId: grant.live.server.serverId,
    userId: grant.userId,
    credentialHeader: grant.credentialHeader,
    subscriptions,
    ...(filter.taskIds
      ? { tasks: { owner: ownerOf(grant), versions: new Map(filter.taskIds.map((id) => [id, 0])) } }
      : {}),
    live: grant.live,
    newest,
    since,
    endsAt: grant.endsAt,
    rights,
    notify(method, params = {}) {
      if (wanted.has(method)) sink.send(tagged(id, method, params));
    },
    ping: () => sink.ping(),
    onRightsEnded: end,
    end,
  };
}

/** Returns a notification that names its subscription. */
function tagged(id: string | number, method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params: { ...params, _meta: { [SUBSCRIPTION_ID]: id } } });
}

/** Returns a sink that writes to the response of a POST. */
export function sinkOf(res: ServerResponse, headers: Record<string, string>): EventSink {
  beginEvents(res, headers);
  return {
    send: (message) => writeEvent(res, eventText(message)),
    ping: () => writeEvent(res, ': here\n\n'),
    end: () => res.end(),
    onClose: (closed) => whenClosed(res, closed),
  };
}

function invalid(message: string): GatehouseError {
  return new GatehouseError('request_meta_invalid', message);
}
