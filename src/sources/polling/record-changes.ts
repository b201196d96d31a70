import type { Selectable, Transaction } from 'kysely';
import { DAY, MINUTE, SECOND } from '../../lib/clock.ts';
import { inTexts, manyRows, perDatabase, runKept, textsFor } from '../../store/kept.ts';
import type { Db, DbOrTx, Tables } from '../../store/schema.ts';
import { contentOf, type Unified } from '../../unified/map.ts';
import { sha256 } from '../../crypto/key-ring.ts';
import { canonicalJson, type Json } from '../../lib/json.ts';
import { publish, type NewEvent, type EventContext } from '../../outbox/publish.ts';
import { pollBy, type Source } from '../source.ts';

/**
 * A record that is older against the cursor and was never seen is not "created": it may have been seen and forgotten.
 * Half of what is remembered (prune.ts), so that a clock that was ahead for days makes no old record a new one.
 */
const NEW_WITHIN_MS = 15 * DAY;
/** Where an app's clock is not known, as before its first answer, it may be behind ours or ahead of it by so much. */
export const LARGEST_SKEW_MS = 15 * MINUTE;
const MAX_KEYS_A_STATEMENT = 200;
/** Lists of some apps show what was deleted, or how it was, for some seconds more. */
const LISTS_SETTLE_MS = MINUTE;

/** The keys of a source that are remembered, and the transaction that reads and writes them. */
interface Memory {
  db: Db;
  tx: Transaction<Tables>;
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

/** A record that a poll or a webhook brought. `topic`: what a webhook said of it; polls do not know. */
export interface Sighting {
  unified: Unified;
  topic?: 'created' | 'updated';
}

/**
 * Tells apart what is new: a record whose key was never seen was created, one whose version was never seen was
 * updated. Keys and events go into the caller's transaction, so that a crash leaves both or neither. Polls and webhooks
 * use the same keys and merge. `baseline`: of the first reading, what is from before listening began is only remembered.
 * `listedFrom`: the records were listed by the app after that moment of ours; a webhook may have been under way for long.
 * `knownFrom`: the first reading would have seen what was there of that time and later; a record without a time of change
 * that it did not see came into being since.
 * Answers with the number of deliveries made.
 */
export async function notice(
  tx: Transaction<Tables>,
  context: EventContext,
  source: Source,
  sightings: readonly Sighting[],
  {
    baseline = false,
    listedFrom = 0,
    knownFrom = Infinity,
  }: { baseline?: boolean; listedFrom?: number; knownFrom?: number } = {},
): Promise<number> {
  const now = context.clock.now();
  const memory = { db: context.db, tx, sourceId: source.sourceId };
  const keys = sightings.map(({ unified }) => keysOf(unified));
  const fresh = await remember(
    memory,
    keys.flatMap(({ created, version }) => [created, version]),
    now,
    // Of a record twice in one batch the first one's.
    new Map(keys.map(({ created, state }) => [created, state] as const).toReversed()),
  );
  const isNewAt = (index: number) => fresh.has(keys[index]?.created ?? '');
  const deleted = await deletedBefore(
    memory,
    sightings.flatMap(({ unified }, index) => (isNewAt(index) ? [unified] : [])),
    { listedFrom, now },
  );
  const newest = await newestStates(
    memory,
    sightings.flatMap(({ unified }, index) => {
      const mayDiffer = tellsNoTime(unified) || fresh.has(keys[index]?.version ?? '');
      return mayDiffer && !isNewAt(index) ? [unified] : [];
    }),
    now,
  );
  const changed = new Set<string>();
  const late: string[] = [];
  const events: NewEvent[] = [];
  for (const [index, { unified, topic }] of sightings.entries()) {
    const key = keys[index];
    if (!key) continue;
    const isNew = fresh.has(key.created);
    const known = newest.get(unified.remoteId);
    const isChanged = fresh.has(key.version) || isBack(unified, key.state, known);
    // A record twice in one batch counts once.
    fresh.delete(key.created);
    fresh.delete(key.version);
    const since = deleted.get(unified.remoteId);
    if (since === 'late') continue;
    if (isChanged && isOlder(unified, known, listedFrom)) {
      if (topic !== 'created') late.push(key.version);
      continue;
    }
    const isUpdate = isChanged && !isNew;
    // Of a known record, "created" tells how it was at first.
    if (isUpdate && topic === 'created' && !isNewer(unified, known)) continue;
    if (isNew || isUpdate) newest.set(unified.remoteId, { state: key.state, seenAt: now });
    if (isUpdate) changed.add(unified.remoteId);
    if (baseline && !isAfterBaseline(source, unified)) continue;
    const event = isNew
      ? (firstSight(source, unified, { topic, knownFrom }) ?? (since && 'updated'))
      : isUpdate && 'updated';
    if (event) events.push({ eventScope: source.scope, event, recordId: unified.id, body: unified.body });
  }
  await rememberStates(tx, source.sourceId, changed, newest);
  await forgetKeys(tx, source.sourceId, late);
  // The app alone knows whether what looks late is a word of before, or the record is so now.
  if (late.length > 0 || [...deleted.values()].includes('late'))
    await pollBy(tx, source.sourceId, now + LISTS_SETTLE_MS);
  if (events.length === 0) return 0;
  return publish(tx, context, source, events);
}

/** What is remembered of a record: its newest state, where that is known, and when it was seen, by our clock. */
interface Remembered {
  state: string | null;
  seenAt: number;
}

type Newest = Remembered & { state: string };

/** What is remembered of some records, as seen (`c`) or as deleted (`d`), by their ids at the app. */
async function rememberedOf(
  { db, tx, sourceId }: { db: Db; tx: DbOrTx; sourceId: string },
  kind: 'c' | 'd',
  records: readonly Unified[],
): Promise<Map<string, Remembered>> {
  const found = new Map<string, Remembered>();
  for (const some of chunksOf(records)) {
    const keys = some.map(({ remoteId }) => `${kind}:${remoteId}`);
    const { rows } = await runKept(tx, seenAmong(db), [sourceId, textsFor(db, keys)]);
    for (const { key, state, seen_at: seenAt } of rows) found.set(key.slice(2), { state, seenAt });
  }
  return found;
}

/** What was seen in a time to come was seen while our clock was ahead: long ago, for all that is known. */
function momentOf({ seenAt }: Remembered, now: number): number {
  return seenAt > now + LARGEST_SKEW_MS ? 0 : seenAt;
}

async function newestStates(
  memory: Memory,
  records: readonly Unified[],
  now: number,
): Promise<Map<string, Newest>> {
  const found = new Map<string, Newest>();
  for (const [remoteId, one] of await rememberedOf(memory, 'c', records))
    if (one.state !== null) found.set(remoteId, { state: one.state, seenAt: momentOf(one, now) });
  return found;
}

/** Whether it is how a record was before, unless the app lists it so although it had told a newer state. */
function isOlder({ updatedAt }: Unified, newest: Newest | undefined, listedFrom: number): boolean {
  if (!newest || updatedAt === undefined || listedFrom >= newest.seenAt + LISTS_SETTLE_MS) return false;
  return updatedAt < Number.parseInt(newest.state, 10);
}

/** Whether it tells a later time of change than was known. */
function isNewer(record: Unified, newest: Newest | undefined): boolean {
  if (!newest || record.updatedAt === undefined || tellsNoTime(record)) return false;
  return record.updatedAt > Number.parseInt(newest.state, 10);
}

function tellsNoTime({ createdAt, updatedAt }: Unified): boolean {
  return updatedAt === createdAt;
}

/** Where records tell no time of change, one that goes back to an earlier state has changed as well. */
function isBack(record: Unified, state: string, newest: Newest | undefined): boolean {
  if (!newest || newest.state === state || !tellsNoTime(record)) return false;
  return newest.state.startsWith(`${record.updatedAt ?? ''}:`);
}

async function rememberStates(
  tx: Transaction<Tables>,
  sourceId: string,
  remoteIds: Iterable<string>,
  newest: ReadonlyMap<string, Newest>,
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
 * Those of new records that are known as deleted. `late`: what may be a word of before, which is forgotten again. `back`:
 * one that was changed after its deletion, or is listed after it, is there again, and can be deleted once more.
 */
async function deletedBefore(
  memory: Memory,
  records: readonly Unified[],
  { listedFrom, now }: { listedFrom: number; now: number },
): Promise<Map<string, 'late' | 'back'>> {
  const found = new Map<string, 'late' | 'back'>();
  const deletions = await rememberedOf(memory, 'd', records);
  for (const { remoteId, updatedAt } of records) {
    const deletion = deletions.get(remoteId);
    if (!deletion) continue;
    const at = momentOf(deletion, now);
    // The deletion's time is ours, the change's the app's.
    const isLate = listedFrom <= at && updatedAt !== undefined && updatedAt <= at + LARGEST_SKEW_MS;
    if (!isLate || !found.has(remoteId)) found.set(remoteId, isLate ? 'late' : 'back');
  }
  const forgotten = records.flatMap((record) => {
    const { created, version } = keysOf(record);
    const since = found.get(record.remoteId);
    return since === 'late' ? [created, version] : since ? [`d:${record.remoteId}`] : [];
  });
  await forgetKeys(memory.tx, memory.sourceId, forgotten);
  return found;
}

async function forgetKeys(tx: Transaction<Tables>, sourceId: string, keys: readonly string[]): Promise<void> {
  for (const some of chunksOf(keys))
    await tx.deleteFrom('seen').where('source_id', '=', sourceId).where('key', 'in', some).execute();
}

/** Whether a poll brought a record, or a state of one, that was never seen. */
export async function hasNews(db: DbOrTx, sourceId: string, records: readonly Unified[]): Promise<boolean> {
  const each = new Set(records.map((record) => keysOf(record).version));
  for (const keys of chunksOf([...each])) {
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

/** The ids at the app of those records that were seen in any state. */
export async function knownAmong(
  db: Db,
  sourceId: string,
  records: readonly Unified[],
): Promise<Set<string>> {
  return new Set((await rememberedOf({ db, tx: db, sourceId }, 'c', records)).keys());
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

/** Remembers records that cannot be told. Answers with the number of those that were not known yet. */
export async function noticeUnreadable(
  { db, clock }: Pick<EventContext, 'db' | 'clock'>,
  sourceId: string,
  records: readonly Json[],
): Promise<number> {
  const keys = records.map((record) => `x:${sha256(canonicalJson(record)).slice(0, 24)}`);
  const fresh = await db.transaction().execute((tx) => remember({ db, tx, sourceId }, keys, clock.now()));
  return fresh.size;
}

/** Tells that a record is gone, once. */
export async function noticeDeleted(
  tx: Transaction<Tables>,
  context: EventContext,
  source: Source,
  { id, remoteId }: { id: string; remoteId: string },
): Promise<number> {
  const now = context.clock.now();
  const memory = { db: context.db, tx, sourceId: source.sourceId };
  const fresh = await remember(memory, [`d:${remoteId}`], now);
  if (fresh.size === 0) return 0;
  // A record that comes back under its id is a new one.
  await forgetKeys(tx, source.sourceId, [`c:${remoteId}`, `p:${remoteId}`]);
  const body = { id, remoteId, deletedAt: new Date(now).toISOString() };
  return publish(tx, context, source, [{ eventScope: source.scope, event: 'deleted', recordId: id, body }]);
}

/**
 * What a record that was never seen tells: nothing when it only came to light late and is from before we listened. An
 * app that says itself that it was made is right, however old it is: a checkout is an order once it is done. So is one
 * that says that it changed, where the record does not tell when.
 */
function firstSight(
  source: Source,
  unified: Unified,
  { topic, knownFrom }: { topic: Sighting['topic']; knownFrom: number },
): 'created' | 'updated' | undefined {
  const { createdAt, updatedAt } = unified;
  if (topic === 'created' || createdAt === undefined) return 'created';
  const began = beganAt(source);
  const newFrom = Math.max(began, (source.cursorUntil ?? 0) - NEW_WITHIN_MS);
  if (createdAt >= Math.min(knownFrom, newFrom)) return 'created';
  const isSaid = topic === 'updated' && tellsNoTime(unified);
  return isSaid || (updatedAt ?? createdAt) >= began ? 'updated' : undefined;
}

/** Whether a record was made or changed while the first reading went on. Date headers tell whole seconds. */
function isAfterBaseline(source: Source, { createdAt, updatedAt }: Unified): boolean {
  return (updatedAt ?? createdAt ?? 0) >= beganAt(source) + SECOND;
}

/** Until the first poll tells the app's time, ours stands for it: rather is an old record called new than a new one left out. */
function beganAt({ baselineAt, createdAt }: Source): number {
  return baselineAt ?? createdAt - LARGEST_SKEW_MS;
}

/** What tells two states of a record apart: its time of change and, for apps whose times are coarse, what is unified of it. */
function versionOf({ updatedAt, body }: Unified): string {
  return `${updatedAt ?? ''}:${sha256(canonicalJson(contentOf(body))).slice(0, 16)}`;
}

/** Inserts keys, and the states of some; answers with those that were not there. */
async function remember(
  { db, tx, sourceId }: Memory,
  keys: readonly string[],
  now: number,
  states: ReadonlyMap<string, string> = new Map(),
): Promise<Set<string>> {
  // In one order everywhere: two transactions would wait for each other.
  const rows = [...new Set(keys)].toSorted().map((key) => ({
    source_id: sourceId,
    key,
    seen_at: now,
    state: states.get(key) ?? null,
  }));
  const inserted = await insertSeen(db, tx, rows);
  return new Set(inserted.map(({ key }) => key));
}
