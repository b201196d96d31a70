import type { Selectable } from 'kysely';
import { canonicalJson } from '../../lib/json.ts';
import { sha256 } from '../../lib/sha256.ts';
import { inTexts, manyRows, perDatabase, runPrepared, textsFor } from '../../store/prepared.ts';
import type { Db, DbOrTx, Tables, Tx } from '../../store/schema.ts';
import type { Unified } from '../../unified/map.ts';

/* The stored keys of observed records: `c:` a record, `v:` a version of it, `d:` its deletion. */

const MAX_KEYS_A_STATEMENT = 200;

/** Stored keys of a source, and the transaction that reads and writes them. */
export interface StoredKeys {
  db: Db;
  tx: Tx;
  sourceId: string;
}

/** Stored facts of a key. */
export interface StoredFacts {
  /** Newest state of a record; null when unknown. */
  state: string | null;
  /** Time of the observation, by our clock. */
  seenAt: number;
  silent: Silent;
}

/** See `seen.silent` in schema-events.ts. */
export type Silent = Selectable<Tables['seen']>['silent'];

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
    .select(['key', 'state', 'seen_at', 'silent'])
    .where('source_id', '=', '')
    .where('key', 'in', inTexts(db))
    .compile(),
);

export function keysOf(unified: Unified): { created: string; version: string; state: string } {
  const { remoteId } = unified;
  const state = versionOf(unified);
  return { created: `c:${remoteId}`, version: versionKey(remoteId, state), state };
}

export function versionKey(remoteId: string, state: string): string {
  return `v:${remoteId}:${state}`;
}

/**
 * Returns the version of a record: its time of change, and a hash of its state. The time alone is
 * too coarse in some apps.
 */
function versionOf({ updatedAt, state }: Unified): string {
  return `${updatedAt ?? ''}:${sha256(canonicalJson(state)).slice(0, 16)}`;
}

/** Inserts keys, and the states of some. Returns the keys that were unknown. */
export async function storeKeys(
  { db, tx, sourceId }: StoredKeys,
  keys: readonly string[],
  {
    now,
    states = new Map(),
    silent = 0,
  }: { now: number; states?: ReadonlyMap<string, string> | undefined; silent?: Silent },
): Promise<Set<string>> {
  // Keys are inserted in sorted order. Otherwise two transactions could deadlock.
  const rows = [...new Set(keys)].toSorted().map((key) => ({
    source_id: sourceId,
    key,
    seen_at: now,
    state: states.get(key) ?? null,
    silent,
  }));
  const inserted = await insertSeen(db, tx, rows);
  return new Set(inserted.map(({ key }) => key));
}

export async function deleteKeys(tx: Tx, sourceId: string, keys: readonly string[]): Promise<void> {
  for (const some of chunksOf(keys))
    await tx.deleteFrom('seen').where('source_id', '=', sourceId).where('key', 'in', some).execute();
}

/** Stores whether events of keys were published. */
export async function storeSilent(
  tx: Tx,
  sourceId: string,
  { keys, silent }: { keys: readonly string[]; silent: Silent },
): Promise<void> {
  for (const some of chunksOf(keys))
    await tx
      .updateTable('seen')
      .set({ silent })
      .where('source_id', '=', sourceId)
      .where('key', 'in', some)
      .execute();
}

/** Stores the newest states of records. */
export async function storeStates(
  tx: Tx,
  sourceId: string,
  {
    remoteIds,
    newest,
  }: { remoteIds: Iterable<string>; newest: ReadonlyMap<string, { state: string; seenAt: number }> },
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

/** Returns the stored facts of keys. */
export async function factsOf(
  { db, tx, sourceId }: { db: Db; tx: DbOrTx; sourceId: string },
  keys: readonly string[],
): Promise<Map<string, StoredFacts>> {
  const found = new Map<string, StoredFacts>();
  for (const some of chunksOf(keys)) {
    const { rows } = await runPrepared(tx, seenAmong(db), [sourceId, textsFor(db, some)]);
    for (const { key, state, seen_at: seenAt, silent } of rows) found.set(key, { state, seenAt, silent });
  }
  return found;
}

/** Returns the stored facts of records by their ids at the app. Kind `c` is observed, `d` is deleted. */
export async function storedFacts(
  stored: { db: Db; tx: DbOrTx; sourceId: string },
  kind: 'c' | 'd',
  records: readonly Unified[],
): Promise<Map<string, StoredFacts>> {
  const facts = await factsOf(
    stored,
    records.map(({ remoteId }) => `${kind}:${remoteId}`),
  );
  return new Map([...facts].map(([key, one]) => [key.slice(2), one]));
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

function* chunksOf<T>(items: readonly T[]): Generator<T[]> {
  for (let at = 0; at < items.length; at += MAX_KEYS_A_STATEMENT)
    yield items.slice(at, at + MAX_KEYS_A_STATEMENT);
}
