import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import type { Base } from '../base.ts';
import { KeyError, type KeyRing } from '../crypto/key-ring.ts';
import type { Db, DbOrTx, Tables } from '../store/schema.ts';
import { thrownMessage } from '../lib/errors.ts';
import { boundTo } from '../store/sealed-columns.ts';

type SecretContext = Pick<Base, 'db' | 'keys' | 'clock'>;

/**
 * Loads the key of all keyed hashes. It opens only with the master key that this store was written with.
 * @throws KeyError when no master key opens it.
 */
export async function loadHashKey(context: SecretContext): Promise<KeyObject> {
  try {
    return await loadSecret(context, 'hash-key');
  } catch (error) {
    if (!(error instanceof SealedSecretError)) throw error;
    throw new KeyError(
      `The master key does not open this store: ${error.message} Start with the key that the store was written with: ` +
        'GATEHOUSE_MASTER_KEY, or master.key in GATEHOUSE_HOME.',
      { cause: error.cause },
    );
  }
}

/** Returns whether the store holds data that a master key sealed, which is true after its first start. */
export async function isSealed(db: DbOrTx): Promise<boolean> {
  return (await db.selectFrom('secrets').select('name').limit(1).executeTakeFirst()) !== undefined;
}

/** A secret whose seal no master key opens. */
class SealedSecretError extends Error {
  override readonly name = 'SealedSecretError';
}

/** Loads 32 random bytes by name, sealed in the store and created at their first use. */
async function loadSecret({ db, keys, clock }: SecretContext, name: string): Promise<KeyObject> {
  const find = () => db.selectFrom('secrets').select('sealed').where('name', '=', name).executeTakeFirst();
  let row = await find();
  if (!row) {
    const sealed = keys.seal(randomBytes(32).toString('base64'), boundTo('secrets.sealed', { name }));
    await db
      .insertInto('secrets')
      .values({ name, sealed, created_at: clock.now() })
      .onConflict((c) => c.column('name').doNothing())
      .execute();
    row = await find();
  }
  if (!row) throw new Error(`The secret ${name} was neither found nor stored.`);
  try {
    return openSecret(keys, { name, sealed: row.sealed });
  } catch (cause) {
    throw new SealedSecretError(thrownMessage(cause), { cause });
  }
}

/** Opens a row of `secrets`. @throws KeyError when no key of the ring opens it. */
export function openSecret(
  keys: KeyRing,
  { name, sealed }: Pick<Tables['secrets'], 'name' | 'sealed'>,
): KeyObject {
  return createSecretKey(Buffer.from(keys.open(sealed, boundTo('secrets.sealed', { name })), 'base64'));
}

/** Returns a loader like loadSecret() that reads the secret once for each database. */
export function storedSecret(name: string): (context: SecretContext) => Promise<KeyObject> {
  const read = new WeakMap<Db, Promise<KeyObject>>();
  return (context) => {
    let secret = read.get(context.db);
    if (!secret) {
      secret = loadSecret(context, name);
      secret.catch(() => read.delete(context.db));
      read.set(context.db, secret);
    }
    return secret;
  };
}
