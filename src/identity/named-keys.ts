import type { Base } from '../base.ts';
import { hashToken, newApiKey } from '../crypto/tokens.ts';
import { DAY, isoTime } from '../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { noteChange } from '../store/change-notes.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import { orExists } from '../store/open-database.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { insertKey, nameKey } from './api-keys.ts';
import { isScope, KEY_SCOPES, type Scope } from './scopes.ts';

type KeyContext = Pick<Base, 'db' | 'clock' | 'hashKey'>;

/** Keys that an environment may have next to its own, expired ones included. */
const MAX_KEYS = 100;

/** The rights of the caller that creates or rotates a key. */
export interface KeyMaker {
  scopes: 'all' | ReadonlySet<Scope>;
  /** When the rights end, epoch ms; undefined for never. */
  endsAt?: number;
}

/** A key without its secret. Times are epoch milliseconds. */
export type KeyRecord = ReturnType<typeof toRecord>;

/** A key with its new secret, which is not stored. */
export type KeyWithSecret = KeyRecord & { key: string };

const ORDER: ListOrder = { columns: { created_at: 'whole', key_id: 'id' }, direction: 'asc' };

/** Returns a page of the keys that are not revoked, oldest first. */
export async function listKeys(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  environment: Environment,
  page: PageRequest,
): Promise<PageEnd & { keys: KeyRecord[] }> {
  const query = db
    .selectFrom('api_keys')
    .selectAll()
    .where('environment', '=', environment)
    .where('revoked_at', 'is', null);
  const { rows, ...end } = await readPage(query, ORDER, page);
  const now = clock.now();
  return { keys: rows.map((row) => toRecord(row, now)), ...end };
}

/** Returns the name of a key; undefined for the key of an environment. */
export async function findKeyName(db: DbOrTx, keyId: string): Promise<string | undefined> {
  const row = await db.selectFrom('api_keys').select('name').where('key_id', '=', keyId).executeTakeFirst();
  return row?.name ?? undefined;
}

/**
 * Creates a named key. It never outlives the rights of its maker.
 * @throws GatehouseError `forbidden` for a scope that the maker lacks, `key_exists`, `limit_reached`,
 * `invalid_request` for the name of an environment.
 */
export async function createNamedKey(
  context: KeyContext,
  maker: KeyMaker,
  wanted: {
    environment: Environment;
    name: string;
    scopes: readonly Scope[];
    expiresInDays?: number | undefined;
  },
): Promise<KeyWithSecret> {
  const { environment, name } = wanted;
  if (ENVIRONMENTS.some((one) => one === nameKey(name)))
    throw invalidRequest([{ field: 'name', rule: `must not be ${ENVIRONMENTS.join(' or ')}` }], 'The body');
  const scopes = KEY_SCOPES.filter((scope) => wanted.scopes.includes(scope));
  assertHolds(maker, scopes);
  const now = context.clock.now();
  const endsAt = Math.min(
    wanted.expiresInDays === undefined ? Infinity : now + wanted.expiresInDays * DAY,
    maker.endsAt ?? Infinity,
  );
  const key = newApiKey(environment);
  const expiresAt = endsAt === Infinity ? null : endsAt;
  const row = await context.db.transaction().execute(async (tx) => {
    await assertRoom(tx, environment);
    return orExists(
      insertKey(tx, context, { keyId: newId('key'), environment, key, scopes, name, expiresAt }),
      'key_exists',
      `The name "${name}" is taken by another API key of this environment.`,
    );
  });
  return { ...toRecord(row, now), key };
}

/**
 * Gives a named key a new secret. The earlier one stays valid for `overlapMs`. A key has two secrets at most: another
 * rotation would end the secret that a concurrent one has just returned.
 * @throws GatehouseError `key_not_found`, `environment_key`, `forbidden` for a key with more rights than its maker,
 * `key_rotating` when an earlier secret is still valid or another rotation came first.
 */
export async function rotateNamedKey(
  context: KeyContext,
  maker: KeyMaker,
  { environment, keyId, overlapMs }: { environment: Environment; keyId: string; overlapMs: number },
): Promise<KeyWithSecret> {
  const { db, clock, hashKey } = context;
  const now = clock.now();
  const before = await requireNamed(db, environment, keyId);
  const { scopes, expiresAt, previousExpiresAt } = toRecord(before, now);
  assertHolds(maker, scopes);
  if ((maker.endsAt ?? Infinity) < (expiresAt ?? Infinity))
    throw new GatehouseError('forbidden', 'This key is valid for longer than the key of the request.');
  if (overlapMs > 0 && previousExpiresAt !== null) throw isRotating(previousExpiresAt);
  const key = newApiKey(environment);
  const row = await changeSecrets(db, before, {
    now,
    set: {
      hash: hashToken(hashKey, key),
      last_four: key.slice(-4),
      previous_hash: before.hash,
      previous_expires_at: now + overlapMs,
    },
  });
  return { ...toRecord(row, now), key };
}

/**
 * Changes the secrets of a key that has not been rotated since it was read. Otherwise a second rotation would end the
 * secret that the first one has just returned.
 * @throws GatehouseError when it was rotated or revoked since
 */
async function changeSecrets(
  db: Base['db'],
  { key_id: keyId, hash, environment }: Tables['api_keys'],
  { now, set }: { now: number; set: Partial<Tables['api_keys']> },
): Promise<Tables['api_keys']> {
  const row = await db
    .updateTable('api_keys')
    .set(set)
    .where('key_id', '=', keyId)
    .where('revoked_at', 'is', null)
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw isRotating(null);
  await noteChange(db, now, { environment, kind: 'environment', subject: 'keys' });
  return row;
}

/**
 * Ends the secret before the last rotation, where it still works, in all processes within a second. The current one stays.
 * @throws GatehouseError `key_not_found`, `environment_key`
 */
export async function endPreviousSecret(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  environment: Environment,
  keyId: string,
): Promise<KeyRecord> {
  const now = clock.now();
  const before = await requireNamed(db, environment, keyId);
  if ((before.previous_expires_at ?? 0) <= now) return toRecord(before, now);
  return toRecord(await changeSecrets(db, before, { now, set: { previous_expires_at: now } }), now);
}

/** Revokes a named key, in all processes within a second. @throws GatehouseError `key_not_found`, `environment_key`. */
export async function revokeNamedKey(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  environment: Environment,
  keyId: string,
): Promise<void> {
  await requireNamed(db, environment, keyId);
  const now = clock.now();
  await db
    .updateTable('api_keys')
    .set({ revoked_at: now, name_key: null })
    .where('key_id', '=', keyId)
    .where('revoked_at', 'is', null)
    .execute();
  await noteChange(db, now, { environment, kind: 'environment', subject: 'keys' });
}

/** Returns the form of a key in the API and on the command line. */
export function keyView(record: KeyRecord) {
  const { keyId, environment, kind, name, scopes, lastFour, status } = record;
  return {
    keyId,
    environment,
    kind,
    name,
    scopes,
    lastFour,
    status,
    createdAt: isoTime(record.createdAt),
    expiresAt: isoTime(record.expiresAt),
    lastUsedAt: isoTime(record.lastUsedAt),
    previousExpiresAt: isoTime(record.previousExpiresAt),
  };
}

async function requireNamed(
  db: DbOrTx,
  environment: Environment,
  keyId: string,
): Promise<Tables['api_keys']> {
  const row = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('key_id', '=', keyId)
    .where('environment', '=', environment)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw keyNotFound(keyId);
  if (row.scopes !== null) return row;
  throw new GatehouseError(
    'environment_key',
    'This is the key of the environment. It cannot be revoked, and POST /api/keys/rotate rotates it.',
  );
}

export function keyNotFound(keyId: string): GatehouseError {
  return new GatehouseError('key_not_found', `There is no API key "${keyId}" in this environment.`);
}

function isRotating(until: number | null): GatehouseError {
  const reason =
    until === null
      ? 'Another rotation of this key came first.'
      : `The secret before the last rotation is valid until ${isoTime(until)}.`;
  return new GatehouseError('key_rotating', `${reason} Rotate with overlapSeconds 0 to end it now.`);
}

async function assertRoom(tx: DbOrTx, environment: Environment): Promise<void> {
  const { count } = await tx
    .selectFrom('api_keys')
    .select((e) => e.fn.countAll<number | string>().as('count'))
    .where('environment', '=', environment)
    .where('name_key', 'is not', null)
    .executeTakeFirstOrThrow();
  if (Number(count) < MAX_KEYS) return;
  throw new GatehouseError(
    'limit_reached',
    `An environment may have ${MAX_KEYS} named API keys. Revoke those that are not used.`,
    { details: { limit: MAX_KEYS } },
  );
}

/** @throws GatehouseError `forbidden` that lists the scopes which the maker lacks. */
function assertHolds({ scopes: held }: KeyMaker, scopes: readonly Scope[]): void {
  if (held === 'all') return;
  const lacking = scopes.filter((scope) => !held.has(scope));
  if (lacking.length === 0) return;
  throw new GatehouseError(
    'forbidden',
    `A key gives only scopes that it has. The key of this request lacks: ${lacking.join(', ')}.`,
    { details: { scopes: lacking } },
  );
}

function toRecord(row: Tables['api_keys'], now: number) {
  const isNamed = row.scopes !== null;
  return {
    keyId: row.key_id,
    environment: row.environment,
    kind: isNamed ? ('named' as const) : ('environment' as const),
    name: row.name ?? row.environment,
    scopes: row.scopes === null ? KEY_SCOPES : row.scopes.split(' ').filter(isScope),
    lastFour: row.last_four,
    status: (row.expires_at ?? Infinity) <= now ? ('expired' as const) : ('active' as const),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    /** Expiry of the secret before the last rotation; null when it is over. */
    previousExpiresAt: (row.previous_expires_at ?? 0) > now ? row.previous_expires_at : null,
  };
}
