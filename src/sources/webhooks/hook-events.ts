import { randomUUID } from 'node:crypto';
import { ownAction, type Connector } from '../../connectors/catalog.ts';
import type { SourceScope } from '../../connectors/event-scopes.ts';
import type { HookTopic, Webhooks } from '../../connectors/format/events-format.ts';
import { topicsOf } from '../../connectors/webhook-topics.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { partsAt, valueAt, type Json } from '../../lib/json.ts';
import { remoteIdIn } from '../../unified/map.ts';
import { sourceModelOf } from '../../connectors/source-model.ts';
import { mapValue } from '../../upstream/expression.ts';
import { textAt, type HookRequest } from './hook-request.ts';
import { memoByObject } from '../../lib/memo.ts';
import { sha256 } from '../../lib/sha256.ts';

/** One of the events that a webhook brings. */
export interface HookEvent {
  topic: string;
  /** Key that is the same when the app repeats the event. */
  dedupeKey: string;
  /**
   * Parts of the event that interpretEvent() reads. Apps add other data, such as headers of the request that made
   * the change.
   */
  body: Json;
}

/**
 * Interpretation of an event for a scope. `record`: the event holds the record. `fetch`: the record must be
 * read at the app. `changed`: the source must be polled.
 */
export type EventInterpretation =
  | { kind: 'record'; event: 'created' | 'updated'; remoteId: string; record: Json }
  | { kind: 'fetch'; event: 'created' | 'updated'; remoteId: string }
  | { kind: 'deleted'; remoteId: string }
  | { kind: 'changed' }
  | { kind: 'nothing' };

/** Changes whose repetition has the same body. A restored record, for example, can be deleted again. */
const REPEATS = new Set(['changed', 'deleted']);
/** Changes that are published with the record. */
const READ = new Set(['created', 'updated']);
/** Limit of events in one webhook. A webhook with more is rejected before anything is stored. */
const MAX_EVENTS = 1000;

/**
 * Returns the events in a webhook: its body, or each item of the list in it. Events of another account than
 * `account` are left out, where the app names the account.
 * @throws GatehouseError `invalid_request` for more than a thousand.
 */
export function eventsIn(webhooks: Webhooks, request: HookRequest, account?: string): HookEvent[] {
  const listed = webhooks.events === undefined ? [request.body] : valueAt(request.body, webhooks.events);
  const bodies: Json[] = Array.isArray(listed) ? listed : [];
  if (bodies.length > MAX_EVENTS)
    throw new GatehouseError('invalid_request', `A webhook may hold at most ${MAX_EVENTS} events.`);
  return bodies.flatMap((body) => {
    const event = { header: request.header, query: request.query, body };
    const at = (place: string) => textAt(event, place) ?? textAt(request, place);
    if (webhooks.account !== undefined && at(webhooks.account) !== account) return [];
    const topic = at(webhooks.topic) ?? '';
    const read = placesRead(webhooks, topic);
    const named = webhooks.eventId === undefined ? undefined : textAt(event, webhooks.eventId);
    // An event without a record may report another change than an earlier one with the same body.
    const unnamed = read.look ? randomUUID() : sha256(JSON.stringify(body));
    // Two topics of one app may share an event id.
    const dedupeKey = `${topic}|${named ?? unnamed}`.slice(0, 500);
    return [{ topic: topic.slice(0, 200), dedupeKey, body: partsAt(body, read.paths) }];
  });
}

/**
 * Paths that interpretEvent() reads in an event of a topic. `look` is true when equal events can report different
 * changes.
 */
interface PlacesRead {
  paths: readonly string[];
  look: boolean;
}

const NO_PLACES: PlacesRead = { paths: [], look: false };
function placesRead(webhooks: Webhooks, topic: string): PlacesRead {
  return placesOf(webhooks).get(topic) ?? NO_PLACES;
}

/** Returns the paths by topic. */
const placesOf = memoByObject((webhooks: Webhooks) => {
  const topics = Object.values(webhooks.topics).flat();
  const places = new Map<string, PlacesRead>();
  for (const [name, meant] of Map.groupBy(topics, ({ topic }) => topic)) {
    const ids = meant.map((topic) => idPlaceOf(webhooks, topic));
    const paths = meant.flatMap((topic, index) => [
      ...Object.keys(topic.where),
      ...Object.keys(topic.except),
      ...(topic.event === 'changed' ? [] : [ids[index] ?? topic.record ?? webhooks.record]),
    ]);
    const look = meant.some(({ event }, index) => REPEATS.has(event) || ids[index] !== undefined);
    places.set(name, { paths, look });
  }
  return places;
});

/** Returns whether a connector file reads the bodies of webhooks. Some have their topic in a header, and nothing else. */
export function readsBody(webhooks: Webhooks): boolean {
  const { events, account, topic, eventId } = webhooks;
  const isInBody = (place: string | undefined) => place?.startsWith('body:') ?? false;
  return (
    events !== undefined ||
    [account, topic, eventId].some(isInBody) ||
    [...placesOf(webhooks).values()].some(({ paths }) => paths.length > 0)
  );
}

/** Returns the path of the id in an event that holds no record; undefined when it holds one. */
function idPlaceOf(webhooks: Webhooks, { fetchId, record }: HookTopic): string | undefined {
  return fetchId ?? (record === undefined ? webhooks.fetchId : undefined);
}

/** Returns the topics of a scope whose events name a record that must be read at the app. */
export function topicsToRead(webhooks: Webhooks, scope: SourceScope): string[] {
  return topicsOf(webhooks, scope)
    .filter((topic) => READ.has(topic.event) && idPlaceOf(webhooks, topic) !== undefined)
    .map(({ topic }) => topic);
}

/**
 * Interprets an event for a scope.
 * @throws GatehouseError `upstream_failed` when it names no record.
 */
export async function interpretEvent(
  connector: Connector,
  webhooks: Webhooks,
  { scope, topic: name, body }: Pick<HookEvent, 'topic' | 'body'> & { scope: SourceScope },
): Promise<EventInterpretation> {
  const topic = topicsOf(webhooks, scope).find(
    (one) =>
      one.topic === name && Object.entries(one.where).every(([path, value]) => valueAt(body, path) === value),
  );
  if (!topic) return { kind: 'nothing' };
  const { event } = topic;
  const except = Object.entries(topic.except);
  if (except.some(([path, value]) => valueAt(body, path) === value)) return { kind: 'nothing' };
  if (event === 'changed') return { kind: 'changed' };
  const fetchId = idPlaceOf(webhooks, topic);
  if (fetchId !== undefined) {
    const remoteId = idIn(valueAt(body, fetchId));
    return event === 'deleted' ? { kind: 'deleted', remoteId } : { kind: 'fetch', event, remoteId };
  }
  const record = await asRead(connector, scope, valueAt(body, topic.record ?? webhooks.record) ?? null);
  const remoteId = idIn(remoteIdIn(record, sourceModelOf(connector, scope)));
  return event === 'deleted' ? { kind: 'deleted', remoteId } : { kind: 'record', event, remoteId, record };
}

/** Returns a record of a webhook in the form that the model's actions return. */
async function asRead(connector: Connector, scope: SourceScope, record: Json): Promise<Json> {
  const { get } = sourceModelOf(connector, scope);
  const map = get && ownAction(connector, get.action)?.definition.response.map;
  return map === undefined ? record : mapValue(map, record, { author: connector });
}

function idIn(value: Json | undefined): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new GatehouseError('upstream_failed', 'The webhook names no record.');
}
