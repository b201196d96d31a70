import { DAY, MINUTE, SECOND } from '../../lib/clock.ts';
import type { Tx } from '../../store/schema.ts';
import type { Unified } from '../../unified/map.ts';
import { canonicalJson, type Json } from '../../lib/json.ts';
import { publish, type EventContext } from '../../outbox/publish.ts';
import type { NewEvent } from '../../outbox/event.ts';
import { pollBy, type Source } from '../source.ts';
import { sha256 } from '../../lib/sha256.ts';
import {
  deleteKeys,
  keysOf,
  storedFacts,
  storeKeys,
  storeSilent,
  storeStates,
  versionKey,
  type StoredFacts,
  type StoredKeys,
} from './record-keys.ts';
import { owedKeys, publishOwed, type OwedEvent } from './owed-events.ts';

/**
 * Age, against the cursor, from which an unknown record is not "created", because its key may have been pruned.
 * It is half of the retention of keys (prune.ts), so a clock that was days ahead makes no old record new.
 */
const NEW_WITHIN_MS = 15 * DAY;
/** Largest assumed difference between an app's clock and ours, while the app's clock is unknown. */
export const LARGEST_SKEW_MS = 15 * MINUTE;
/** Time after `baseline_at` in which collecting began; see beganAt() of record-times.ts. */
export const BEGINNING_MS = 2 * SECOND;
/** Time for which lists of some apps still show deleted records or earlier states. */
const LISTS_SETTLE_MS = MINUTE;

/**
 * A record that a poll or a webhook delivered. `topic` is the change that a webhook reports; polls do not
 * know it.
 */
export interface Observation {
  unified: Unified;
  topic?: 'created' | 'updated';
}

/** The observed records of a source. */
interface Observed {
  source: Source;
  observations: readonly Observation[];
  /** Whether this is the first listing, which publishes no record from before collecting began. */
  baseline?: boolean;
  /** The app listed the records after this time of our clock. It is 0 for a webhook, which may be very late. */
  listedFrom?: number;
  /**
   * The first listing saw all records of this time and later. An unknown record without a time of change came into
   * being since.
   */
  knownFrom?: number;
}

/**
 * Stores the observed records and publishes their changes. A record whose key is unknown was created, and one
 * whose version is unknown was updated. Keys and events go into the caller's transaction, so a crash leaves
 * both or neither. Polls and webhooks share the keys, so each change is published once. A poll may store a
 * record without an event, because it is older than the source. A webhook about it publishes the event, because an
 * accepted webhook is delivered.
 * @returns the number of deliveries created.
 */
export async function recordChanges(
  tx: Tx,
  context: EventContext,
  { source, observations, baseline = false, listedFrom = 0, knownFrom = Infinity }: Observed,
): Promise<number> {
  const now = context.clock.now();
  const stored = { db: context.db, tx, sourceId: source.sourceId };
  const keys = observations.map(({ unified }) => keysOf(unified));
  const fresh = await storeKeys(
    stored,
    keys.flatMap(({ created, version }) => [created, version]),
    {
      now,
      // For a record that occurs twice in one batch, the first state counts.
      states: new Map(keys.map(({ created, state }) => [created, state] as const).toReversed()),
      silent: baseline ? 1 : 0,
    },
  );
  const owed = await owedKeys(
    stored,
    observations.flatMap(({ topic }, index) => (topic ? [{ topic, ...keys[index] }] : [])),
    fresh,
  );
  const isNewAt = (index: number) => fresh.has(keys[index]?.created ?? '');
  const deleted = await storedDeletions(
    stored,
    observations.flatMap(({ unified }, index) => (isNewAt(index) ? [unified] : [])),
    { listedFrom, now },
  );
  const newest = await newestStates(
    stored,
    observations.flatMap(({ unified }, index) => {
      const mayDiffer = hasNoChangeTime(unified) || fresh.has(keys[index]?.version ?? '');
      return mayDiffer && !isNewAt(index) ? [unified] : [];
    }),
    now,
  );
  const changed = new Set<string>();
  const late: string[] = [];
  const events: NewEvent[] = [];
  const owedEvents: OwedEvent[] = [];
  const announced: string[] = [];
  const silent: string[] = [];
  for (const [index, { unified, topic }] of observations.entries()) {
    const key = keys[index];
    if (!key) continue;
    const isNew = fresh.has(key.created);
    const known = newest.get(unified.remoteId);
    const isChanged = fresh.has(key.version) || isReverted(unified, key.state, known);
    // A record that occurs twice in one batch counts once.
    fresh.delete(key.created);
    fresh.delete(key.version);
    const deletion = deleted.get(unified.remoteId);
    if (deletion === 'late') continue;
    const eventOf = (event: NewEvent['event']): NewEvent => toEvent(source, unified, event);
    const owedKey = topic === 'created' ? key.created : key.version;
    const owing = isNew || topic === undefined ? undefined : owed.get(owedKey);
    if (owing && topic) {
      owed.delete(owedKey);
      announced.push(key.created, key.version);
      owedEvents.push({ event: eventOf(topic), owing });
      if (!isChanged) continue;
      // The newest state was stored without an event, so a later poll publishes it.
      if (known && isOlder(unified, known, listedFrom)) late.push(versionKey(unified.remoteId, known.state));
      newest.set(unified.remoteId, { state: key.state, seenAt: now });
      changed.add(unified.remoteId);
      continue;
    }
    if (isChanged && isOlder(unified, known, listedFrom)) {
      if (topic !== 'created') late.push(key.version);
      continue;
    }
    const isUpdate = isChanged && !isNew;
    // A "created" webhook of a known record carries the record's first state.
    if (isUpdate && topic === 'created' && !isNewer(unified, known)) continue;
    if (!isNew && !isUpdate) continue;
    newest.set(unified.remoteId, { state: key.state, seenAt: now });
    if (isUpdate) changed.add(unified.remoteId);
    const event =
      baseline && !isAfterBaseline(source, unified)
        ? undefined
        : isNew
          ? (firstEvent(source, unified, { topic, knownFrom }) ?? (deletion && 'updated'))
          : 'updated';
    // A backfill sends the records of the moment in which collecting began.
    if (event && baseline && !isAfterBaseline(source, unified, BEGINNING_MS))
      owedEvents.push({ event: eventOf(event), owing: { silent: 1, seenAt: now } });
    else if (event) events.push(eventOf(event));
    if (isNew) (event === 'created' ? announced : silent).push(key.created);
    (event ? announced : silent).push(key.version);
  }
  await storeStates(tx, source.sourceId, { remoteIds: changed, newest });
  await deleteKeys(tx, source.sourceId, late);
  // The keys of the first listing were inserted as silent ones.
  if (baseline || owedEvents.length > 0)
    await storeSilent(tx, source.sourceId, { keys: announced, silent: 0 });
  if (!baseline) await storeSilent(tx, source.sourceId, { keys: silent, silent: 2 });
  // A late observation may be an earlier state or the present one. A later poll finds out which.
  if (late.length > 0 || [...deleted.values()].includes('late'))
    await pollBy(tx, source.sourceId, now + LISTS_SETTLE_MS);
  const deliveries = await publishOwed(tx, context, { source, owedEvents });
  return deliveries + (await publish(tx, context, { source, events }));
}

function toEvent({ scope }: Source, { id, body }: Unified, event: NewEvent['event']): NewEvent {
  return { eventScope: scope, event, recordId: id, body };
}

/** Newest state of a record, and when it was observed, by our clock. */
interface Newest {
  state: string;
  seenAt: number;
}

/**
 * Returns the time of an observation. A time in the future was stored while our clock was ahead. Returns 0
 * for it.
 */
function observedAt({ seenAt }: Pick<StoredFacts, 'seenAt'>, now: number): number {
  return seenAt > now + LARGEST_SKEW_MS ? 0 : seenAt;
}

async function newestStates(
  stored: StoredKeys,
  records: readonly Unified[],
  now: number,
): Promise<Map<string, Newest>> {
  const found = new Map<string, Newest>();
  for (const [remoteId, one] of await storedFacts(stored, 'c', records))
    if (one.state !== null) found.set(remoteId, { state: one.state, seenAt: observedAt(one, now) });
  return found;
}

/**
 * Returns true for an earlier state of a record. A list that the app gave well after the newest state counts
 * as present, even with an earlier time.
 */
function isOlder({ updatedAt }: Unified, newest: Newest | undefined, listedFrom: number): boolean {
  if (!newest || updatedAt === undefined || listedFrom >= newest.seenAt + LISTS_SETTLE_MS) return false;
  return updatedAt < Number.parseInt(newest.state, 10);
}

/** Returns true when the record has a later time of change than the stored state. */
function isNewer(record: Unified, newest: Newest | undefined): boolean {
  if (!newest || record.updatedAt === undefined || hasNoChangeTime(record)) return false;
  return record.updatedAt > Number.parseInt(newest.state, 10);
}

function hasNoChangeTime({ createdAt, updatedAt }: Unified): boolean {
  return updatedAt === createdAt;
}

/**
 * Returns true when a record without a time of change went back to an earlier state. That is a change as
 * well.
 */
function isReverted(record: Unified, state: string, newest: Newest | undefined): boolean {
  if (!newest || newest.state === state || !hasNoChangeTime(record)) return false;
  return newest.state.startsWith(`${record.updatedAt ?? ''}:`);
}

/**
 * Finds the new records that have a stored deletion. `late`: an observation that may precede the deletion;
 * its keys are deleted again. `returned`: the record changed after its deletion, or the app listed it later. It
 * exists again and can be deleted again.
 */
async function storedDeletions(
  stored: StoredKeys,
  records: readonly Unified[],
  { listedFrom, now }: { listedFrom: number; now: number },
): Promise<Map<string, 'late' | 'returned'>> {
  const found = new Map<string, 'late' | 'returned'>();
  const deletions = await storedFacts(stored, 'd', records);
  for (const { remoteId, updatedAt } of records) {
    const deletion = deletions.get(remoteId);
    if (!deletion) continue;
    const at = observedAt(deletion, now);
    // The deletion's time is by our clock, and the time of change by the app's.
    const isLate = listedFrom <= at && updatedAt !== undefined && updatedAt <= at + LARGEST_SKEW_MS;
    if (!isLate || !found.has(remoteId)) found.set(remoteId, isLate ? 'late' : 'returned');
  }
  const staleKeys = records.flatMap((record) => {
    const { created, version } = keysOf(record);
    const deletion = found.get(record.remoteId);
    return deletion === 'late' ? [created, version] : deletion ? [`d:${record.remoteId}`] : [];
  });
  await deleteKeys(stored.tx, stored.sourceId, staleKeys);
  return found;
}

/** Stores records that cannot be published. Returns the number of those that were unknown. */
export async function recordUnreadable(
  { db, clock }: Pick<EventContext, 'db' | 'clock'>,
  sourceId: string,
  records: readonly Json[],
): Promise<number> {
  const keys = records.map((record) => `x:${sha256(canonicalJson(record)).slice(0, 24)}`);
  const fresh = await db
    .transaction()
    .execute((tx) => storeKeys({ db, tx, sourceId }, keys, { now: clock.now() }));
  return fresh.size;
}

/** Publishes the deletion of a record, once. */
export async function recordDeletion(
  tx: Tx,
  context: EventContext,
  { source, record: { id, remoteId } }: { source: Source; record: { id: string; remoteId: string } },
): Promise<number> {
  const now = context.clock.now();
  const stored = { db: context.db, tx, sourceId: source.sourceId };
  const fresh = await storeKeys(stored, [`d:${remoteId}`], { now });
  if (fresh.size === 0) return 0;
  // A record that returns under its id counts as new.
  await deleteKeys(tx, source.sourceId, [`c:${remoteId}`, `p:${remoteId}`]);
  const body = { id, remoteId, deletedAt: new Date(now).toISOString() };
  return publish(tx, context, {
    source,
    events: [{ eventScope: source.scope, event: 'deleted', recordId: id, body }],
  });
}

/**
 * Returns the event of an unknown record; undefined for a record that is older than the source and became visible
 * late. A "created" webhook counts for a record of any age, because a completed checkout becomes an order. So does an
 * "updated" webhook.
 */
function firstEvent(
  source: Source,
  unified: Unified,
  { topic, knownFrom }: { topic: Observation['topic']; knownFrom: number },
): 'created' | 'updated' | undefined {
  const { createdAt, updatedAt } = unified;
  if (topic === 'created' || createdAt === undefined) return 'created';
  const began = beganAt(source);
  const newFrom = Math.max(began, (source.cursorUntil ?? 0) - NEW_WITHIN_MS);
  if (createdAt >= Math.min(knownFrom, newFrom)) return 'created';
  return topic === 'updated' || (updatedAt ?? createdAt) >= began ? 'updated' : undefined;
}

/** Returns true when a record was created or changed after collecting began, as far as the first listing knows. */
function isAfterBaseline(source: Source, { createdAt, updatedAt }: Unified, byMs = 0): boolean {
  return (updatedAt ?? createdAt ?? 0) >= beganAt(source) + byMs;
}

/**
 * Returns when collecting began. Before the first poll, our clock less LARGEST_SKEW_MS stands for the app's.
 * An old record may then count as new, but no new record is left out.
 */
function beganAt({ baselineAt, createdAt }: Source): number {
  return baselineAt ?? createdAt - LARGEST_SKEW_MS;
}
