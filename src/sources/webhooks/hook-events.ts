import { randomUUID } from 'node:crypto';
import type { Connector } from '../../connectors/catalog.ts';
import type { EventScope } from '../../connectors/event-scopes.ts';
import type { HookTopic, Webhooks } from '../../connectors/events-format.ts';
import { sha256 } from '../../crypto/key-ring.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { partsAt, valueAt, type Json } from '../../lib/json.ts';
import { modelOf } from '../../unified/map.ts';
import { mapValue } from '../../upstream/expression.ts';
import { textAt, type HookRequest } from './verify.ts';

/** One of the events that a webhook brings. */
export interface HookEvent {
  topic: string;
  /** The same when the app sends the same event again. */
  dedupeKey: string;
  /** What sayingOf() reads of it; apps put other things beside it, such as the headers of whoever made the change. */
  body: Json;
}

/** What an event says of a scope. `record`: the record itself came; `fetch`: it is to be read; `changed`: to be polled. */
export type Saying =
  | { kind: 'record'; event: 'created' | 'updated'; remoteId: string; record: Json }
  | { kind: 'fetch'; event: 'created' | 'updated'; remoteId: string }
  | { kind: 'deleted'; remoteId: string }
  | { kind: 'changed' }
  | { kind: 'nothing' };

/** What happens again reads the same: a record that was restored is deleted once more. */
const REPEATS = new Set(['changed', 'deleted']);
/** What is told with the record. */
const READ = new Set(['created', 'updated']);
/** Events of one webhook; more are refused before anything is stored. */
const MAX_EVENTS = 1000;

/**
 * The events in a webhook: its body, or each of the list that it holds. Those of another account than `account` are
 * left out, where the app says whose they are.
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
    // One that holds no record may stand for another change than the one before, which read the same.
    const unnamed = read.look ? randomUUID() : sha256(JSON.stringify(body));
    // Two topics of one app may share the id of what happened.
    const dedupeKey = `${topic}|${named ?? unnamed}`.slice(0, 500);
    return [{ topic: topic.slice(0, 200), dedupeKey, body: partsAt(body, read.paths) }];
  });
}

/** Where sayingOf() looks in an event of a topic, and whether the event says no more than that, or where to look. */
interface PlacesRead {
  paths: readonly string[];
  look: boolean;
}

const NO_PLACES: PlacesRead = { paths: [], look: false };
/** By topic, for each connector that is loaded. */
const placesByTopic = new WeakMap<Webhooks, ReadonlyMap<string, PlacesRead>>();

function placesRead(webhooks: Webhooks, topic: string): PlacesRead {
  let places = placesByTopic.get(webhooks);
  if (!places) placesByTopic.set(webhooks, (places = placesOf(webhooks)));
  return places.get(topic) ?? NO_PLACES;
}

function placesOf(webhooks: Webhooks): Map<string, PlacesRead> {
  const topics = Object.values(webhooks.topics).flatMap((some) => some ?? []);
  const places = new Map<string, PlacesRead>();
  for (const [name, meant] of Map.groupBy(topics, ({ topic }) => topic)) {
    const ids = meant.map((topic) => idPlaceOf(webhooks, topic));
    const paths = meant.flatMap((topic, index) => [
      ...Object.keys(topic.except),
      ...(topic.event === 'changed' ? [] : [ids[index] ?? topic.record ?? webhooks.record]),
    ]);
    const look = meant.some(({ event }, index) => REPEATS.has(event) || ids[index] !== undefined);
    places.set(name, { paths, look });
  }
  return places;
}

/** Where an event holds an id alone, whose record is to be read. */
function idPlaceOf(webhooks: Webhooks, { fetchId, record }: HookTopic): string | undefined {
  return fetchId ?? (record === undefined ? webhooks.fetchId : undefined);
}

/** Topics of a scope whose events name a record that is to be read at the app. */
export function topicsToRead(webhooks: Webhooks, scope: EventScope): string[] {
  return (webhooks.topics[scope] ?? [])
    .filter((topic) => READ.has(topic.event) && idPlaceOf(webhooks, topic) !== undefined)
    .map(({ topic }) => topic);
}

/**
 * What an event means for a scope.
 * @throws GatehouseError `upstream_failed` when it names no record.
 */
export async function sayingOf(
  connector: Connector,
  webhooks: Webhooks,
  scope: EventScope,
  { topic: name, body }: Pick<HookEvent, 'topic' | 'body'>,
): Promise<Saying> {
  const topic = webhooks.topics[scope]?.find((one) => one.topic === name);
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
  const remoteId = idIn(valueAt(record, modelOf(connector, scope).remoteId));
  return event === 'deleted' ? { kind: 'deleted', remoteId } : { kind: 'record', event, remoteId, record };
}

/** A record of a webhook as the model's actions give it. */
async function asRead(connector: Connector, scope: EventScope, record: Json): Promise<Json> {
  const { action } = modelOf(connector, scope).get;
  const map = connector.actions.get(action)?.definition.response.map;
  return map === undefined ? record : mapValue(map, record);
}

function idIn(value: Json | undefined): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new GatehouseError('upstream_failed', 'The webhook names no record.');
}
