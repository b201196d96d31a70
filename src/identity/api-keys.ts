import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { apiKeyEnvironment, hashToken, newApiKey } from '../crypto/tokens.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { noteChange } from '../store/change-notes.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import { isScope, type Scope } from './scopes.ts';

/** An arbitrary number that no other program should use for a PostgreSQL advisory lock. */
const FIRST_KEYS_LOCK = 0x6b657973;

type KeyContext = Pick<Base, 'db' | 'clock' | 'hashKey'>;

export interface ApiKey {
  keyId: string;
  environment: Environment;
  scopes: 'all' | ReadonlySet<Scope>;
  /** When this secret of the key expires, epoch ms; undefined for never. */
  endsAt: number | undefined;
  /** Why the secret is no longer accepted; undefined while it is. */
  ended: 'revoked' | 'expired' | undefined;
}

/** Newly created keys, to be shown once. */
export type NewKeys = Partial<Record<Environment, string>>;

/**
 * Creates the two environment keys when the store has none: from `preset` where given, else random ones.
 * Returns the random ones. Only one of two concurrent first starts creates them.
 * Calls `save` before the commit: a process that is killed afterwards leaves no key in the store that is not saved
 * elsewhere.
 * @throws GatehouseError `invalid_request` when a preset key has a wrong format or checksum, and every error of
 * `save`.
 */
export async function ensureKeys(
  context: KeyContext & Pick<Base, 'store'>,
  preset: Partial<Record<Environment, string | undefined>>,
  save: (made: NewKeys) => void = () => {},
): Promise<NewKeys> {
  for (const environment of ENVIRONMENTS) {
    const key = preset[environment];
    if (key !== undefined && apiKeyEnvironment(key) !== environment) {
      const variable =
        environment === 'development' ? 'GATEHOUSE_DEVELOPMENT_KEY' : 'GATEHOUSE_PRODUCTION_KEY';
      const prefix = environment === 'development' ? 'gh_dev_' : 'gh_prod_';
      throw new GatehouseError(
        'invalid_request',
        `${variable}: must be ${prefix}, 43 characters of 0-9A-Za-z and their checksum of 6. Leave it unset to have one created.`,
      );
    }
  }
  return context.db.transaction().execute(async (tx) => {
    if (context.store.kind === 'postgres')
      await sql`select pg_advisory_xact_lock(${FIRST_KEYS_LOCK})`.execute(tx);
    const existing = await tx.selectFrom('api_keys').select('key_id').limit(1).executeTakeFirst();
    if (existing) return {};
    const made: NewKeys = {};
    for (const environment of ENVIRONMENTS) {
      const key = preset[environment] ?? newApiKey(environment);
      if (preset[environment] === undefined) made[environment] = key;
      await insertKey(tx, context, { keyId: `key_${environment}`, environment, key });
    }
    if (Object.keys(made).length > 0) save(made);
    return made;
  });
}

/** Adds a key, limited to `scopes` if given. Returns the key itself, which is not stored. */
export async function createApiKey(
  context: KeyContext,
  { environment, scopes }: { environment: Environment; scopes?: Scope[] },
): Promise<string> {
  const key = newApiKey(environment);
  await insertKey(context.db, context, {
    keyId: newId('key'),
    environment,
    key,
    ...(scopes ? { scopes } : {}),
  });
  return key;
}

/** Revokes every full key of an environment and creates a new one, in one transaction. */
export async function rotateApiKey(context: KeyContext, environment: Environment): Promise<string> {
  const key = newApiKey(environment);
  await context.db.transaction().execute(async (tx) => {
    await tx
      .updateTable('api_keys')
      .set({ revoked_at: context.clock.now() })
      .where('environment', '=', environment)
      .where('scopes', 'is', null)
      .where('revoked_at', 'is', null)
      .execute();
    await insertKey(tx, context, { keyId: newId('key'), environment, key });
    await noteChange(tx, context.clock.now(), { environment, kind: 'environment', subject: 'keys' });
  });
  return key;
}

/** A secret of a key as the store has it. */
export interface KeySecret {
  environment: Environment;
  hash: string;
}

/** Returns the stored form of a well-formed key, else undefined. */
export function secretOf({ hashKey }: Pick<Base, 'hashKey'>, text: string): KeySecret | undefined {
  const environment = apiKeyEnvironment(text);
  return environment && { environment, hash: hashToken(hashKey, text) };
}

/**
 * Returns the key with this secret, also one that ended, or undefined. Reads the store; callers cache the result for
 * less than a second.
 */
export async function findApiKey(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { environment, hash }: KeySecret,
): Promise<ApiKey | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .select(['key_id', 'hash', 'scopes', 'expires_at', 'revoked_at', 'previous_expires_at'])
    .where('environment', '=', environment)
    .where((e) => e.or([e('hash', '=', hash), e('previous_hash', '=', hash)]))
    .executeTakeFirst();
  if (!row) return undefined;
  const endsAt = Math.min(
    row.expires_at ?? Infinity,
    row.hash === hash ? Infinity : (row.previous_expires_at ?? -Infinity),
  );
  return {
    keyId: row.key_id,
    environment,
    scopes: row.scopes === null ? 'all' : new Set(row.scopes.split(' ').filter(isScope)),
    endsAt: endsAt === Infinity ? undefined : endsAt,
    ended: row.revoked_at !== null ? 'revoked' : endsAt <= clock.now() ? 'expired' : undefined,
  };
}

/** The values of a row of `api_keys`. */
interface NewKey {
  keyId: string;
  environment: Environment;
  key: string;
  scopes?: readonly Scope[];
  name?: string;
  expiresAt?: number | null;
}

/** Adds a row for a key, unless its id is taken. */
export async function insertKey(
  db: DbOrTx,
  { clock, hashKey }: Pick<Base, 'clock' | 'hashKey'>,
  { keyId, environment, key, scopes, name, expiresAt = null }: NewKey,
) {
  const row: Tables['api_keys'] = {
    key_id: keyId,
    environment,
    hash: hashToken(hashKey, key),
    last_four: key.slice(-4),
    scopes: scopes ? scopes.join(' ') : null,
    created_at: clock.now(),
    revoked_at: null,
    name: name ?? null,
    name_key: name === undefined ? null : nameKey(name),
    expires_at: expiresAt,
    last_used_at: null,
    previous_hash: null,
    previous_expires_at: null,
  };
  await db
    .insertInto('api_keys')
    .values(row)
    .onConflict((c) => c.column('key_id').doNothing())
    .execute();
  return row;
}

/** Returns how records name the key as their caller. */
export function labelOfKey(keyId: string): string {
  return `key:${keyId}`;
}

/** Returns the form in which names of keys are compared. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
