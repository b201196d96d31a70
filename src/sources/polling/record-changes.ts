import type { Selectable } from 'kysely';
import { DAY, MINUTE, SECOND } from '../../lib/clock.ts';
import { inTexts, manyRows, perDatabase, runPrepared, textsFor } from '../../store/prepared.ts';
import type { Db, DbOrTx, Tables, Tx } from '../../store/schema.ts';
import type { Unified } from '../../unified/map.ts';
import { canonicalJson, type Json } from '../../lib/json.ts';
import { publish, type EventContext } from '../../outbox/publish.ts';
import type { NewEvent } from '../../outbox/event.ts';
import { pollBy, type Source } from '../source.ts';
import { sha256 } from '../../lib/sha256.ts';

/**
 * Age, against the cursor, from which an unknown record is not "created", because its key may have been pruned.
 * It is half of the retention of keys (prune.ts), so a clock that was days ahead makes no old record new.
 */
const NEW_WITHIN_MS = 15 * DAY;
/** Largest assumed difference between an app's clock and ours, while the app's clock is unknown. */
export const LARGEST_SKEW_MS = 15 * MINUTE;
const MAX_KEYS_A_STATEMENT = 200;
/** Time for which lists of some apps still show deleted records or earlier states. */
const LISTS_SETTLE_MS = MINUTE;

/** Stored keys of a source, and the transaction that reads and writes them. */
interface StoredKeys {
  db: Db;
  tx: Tx;
  sourceId: string;
}

const insertSeen = manyRows((db, rows: Selectable<Tables['seen']>[]) =>
  db
    .insertInto('seen')
    .values(rows)
    .onConflict((c) => c.columns(['source_id', 'key']).doNothing())
    .returning('key'),
);
const seenAmong = perDatabase((db) =>
  db
    .selectFrom('seen')
    .select(['key', 'state', 'seen_at'])
    .where('source_id', '=', '')
    .where('key', 'in', inTexts(db))
    .compile(),
);

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
 * both or neither. Polls and webhooks share the keys, so each change is published once.
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
    },
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
    if (isChanged && isOlder(unified, known, listedFrom)) {
      if (topic !== 'created') late.push(key.version);
      continue;
    }
    const isUpdate = isChanged && !isNew;
    // A "created" webhook of a known record carries the record's first state.
    if (isUpdate && topic === 'created' && !isNewer(unified, known)) continue;
    if (isNew || isUpdate) newest.set(unified.remoteId, { state: key.state, seenAt: now });
    if (isUpdate) changed.add(unified.remoteId);
    if (baseline && !isAfterBaseline(source, unified)) continue;
    const event = isNew
      ? (firstEvent(source, unified, { topic, knownFrom }) ?? (deletion && 'updated'))
      : isUpdate && 'updated';
    if (event) events.push({ eventScope: source.scope, event, recordId: unified.id, body: unified.body });
  }
  await storeStates(tx, source.sourceId, { remoteIds: changed, newest });
  await deleteKeys(tx, source.sourceId, late);
  // A late observation may be an earlier state or the present one. A later poll finds out which.
  if (late.length > 0 || [...deleted.values()].includes('late'))
    await pollBy(tx, source.sourceId, now + LISTS_SETTLE_MS);
  if (events.length === 0) return 0;
  return publish(tx, context, { source, events });
}

/** Stored facts of a record: its newest state, null when unknown, and when it was observed, by our clock. */
interface StoredFacts {
  state: string | null;
  seenAt: number;
}

type Newest = StoredFacts & { state: string };

/** Returns the stored facts of records by their ids at the app. Kind `c` is observed, `d` is deleted. */
async function storedFacts(
  { db, tx, sourceId }: { db: Db; tx: DbOrTx; sourceId: string },
  kind: 'c' | 'd',
  records: readonly Unified[],
): Promise<Map<string, StoredFacts>> {
  const found = new Map<string, StoredFacts>();
  for (const some of chunksOf(records)) {
    const keys = some.map(({ remoteId }) => `${kind}:${remoteId}`);
    const { rows } = await runPrepared(tx, seenAmong(db), [sourceId, textsFor(db, keys)]);
    for (const { key, state, seen_at: seenAt } of rows) found.set(key.slice(2), { state, seenAt });
  }
  return found;
}

/**
 * Returns the time of an observation. A time in the future was stored while our clock was ahead. Returns 0
 * for it.
 */
function observedAt({ seenAt }: StoredFacts, now: number): number {
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

async function storeStates(
  tx: Tx,
  sourceId: string,
  { remoteIds, newest }: { remoteIds: Iterable<string>; newest: ReadonlyMap<string, Newest> },
): Promise<void> {
  const rows = [...remoteIds].toSorted().flatMap((remoteId) => {
    const known = newest.get(remoteId);
    return known
      ? [{ source_id: sourceId, key: `c:${remoteId}`, state: known.state, seen_at: known.seenAt }]
      : [];
  });
  for (const some of chunksOf(rows)) {
    await tx
      .insertInto('seen')
      .values(some)
      .onConflict((c) =>
        c
          .columns(['source_id', 'key'])
          .doUpdateSet((e) => ({ state: e.ref('excluded.state'), seen_at: e.ref('excluded.seen_at') })),
      )
      .execute();
  }
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

async function deleteKeys(tx: Tx, sourceId: string, keys: readonly string[]): Promise<void> {
  for (const some of chunksOf(keys))
    await tx.deleteFrom('seen').where('source_id', '=', sourceId).where('key', 'in', some).execute();
}

/** Returns true when a poll delivered an unknown record or an unknown state of one. */
export async function hasUnseen(db: DbOrTx, sourceId: string, records: readonly Unified[]): Promise<boolean> {
  const versions = new Set(records.map((record) => keysOf(record).version));
  for (const keys of chunksOf([...versions])) {
    const known = await db
      .selectFrom('seen')
      .select((found) => found.fn.countAll().as('count'))
      .where('source_id', '=', sourceId)
      .where('key', 'in', keys)
      .executeTakeFirstOrThrow();
    if (Number(known.count) < keys.length) return true;
  }
  return false;
}

/** Returns the ids at the app of the records that were observed in any state. */
export async function knownAmong(
  db: Db,
  sourceId: string,
  records: readonly Unified[],
): Promise<Set<string>> {
  return new Set((await storedFacts({ db, tx: db, sourceId }, 'c', records)).keys());
}

function keysOf(unified: Unified): { created: string; version: string; state: string } {
  const { remoteId } = unified;
  const state = versionOf(unified);
  return { created: `c:${remoteId}`, version: `v:${remoteId}:${state}`, state };
}

function* chunksOf<T>(items: readonly T[]): Generator<T[]> {
  for (let at = 0; at < items.length; at += MAX_KEYS_A_STATEMENT)
    yield items.slice(at, at + MAX_KEYS_A_STATEMENT);
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
 * late. A "created" webhook counts for a record of any age, because a completed checkout becomes an order. An
 * "updated" webhook counts where the record has no time of change.
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
  const isReported = topic === 'updated' && hasNoChangeTime(unified);
  return isReported || (updatedAt ?? createdAt) >= began ? 'updated' : undefined;
}

/**
 * Returns true when a record was created or changed during the first listing. Date headers have whole
 * seconds.
 */
function isAfterBaseline(source: Source, { createdAt, updatedAt }: Unified): boolean {
  return (updatedAt ?? createdAt ?? 0) >= beganAt(source) + SECOND;
}

/**
 * Returns when collecting began. Before the first poll, our clock less LARGEST_SKEW_MS stands for the app's.
 * An old record may then count as new, but no new record is left out.
 */
function beganAt({ baselineAt, createdAt }: Source): number {
  return baselineAt ?? createdAt - LARGEST_SKEW_MS;
}

/**
 * Returns the version of a record: its time of change, and a hash of its state. The time alone is
 * too coarse in some apps.
 */
function versionOf({ updatedAt, state }: Unified): string {
  return `${updatedAt ?? ''}:${sha256(canonicalJson(state)).slice(0, 16)}`;
}

/** Inserts keys, and the states of some. Returns the keys that were unknown. */
async function storeKeys(
  { db, tx, sourceId }: StoredKeys,
  keys: readonly string[],
  { now, states = new Map() }: { now: number; states?: ReadonlyMap<string, string> | undefined },
): Promise<Set<string>> {
  // Keys are inserted in sorted order. Otherwise two transactions could deadlock.
  const rows = [...new Set(keys)].toSorted().map((key) => ({
    source_id: sourceId,
    key,
    seen_at: now,
    state: states.get(key) ?? null,
  }));
  const inserted = await insertSeen(db, tx, rows);
  return new Set(inserted.map(({ key }) => key));
}
