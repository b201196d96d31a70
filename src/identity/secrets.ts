import { randomBytes } from 'node:crypto';
import type { Context } from '../context.ts';
import { KeyError } from '../crypto/key-ring.ts';

const HASH_KEY = 'hash-key';

/**
 * The key of all keyed hashes, sealed in the store and made at first start. Opening it also proves that the master
 * key is the one that this store was written with.
 * @throws KeyError when no master key opens it.
 */
export async function loadHashKey({
  db,
  keys,
  clock,
}: Pick<Context, 'db' | 'keys' | 'clock'>): Promise<Buffer> {
  const find = () =>
    db.selectFrom('secrets').select('sealed').where('name', '=', HASH_KEY).executeTakeFirst();
  let row = await find();
  if (!row) {
    const sealed = keys.seal(randomBytes(32).toString('base64'), `secret|${HASH_KEY}`);
    await db
      .insertInto('secrets')
      .values({ name: HASH_KEY, sealed, created_at: clock.now() })
      .onConflict((c) => c.column('name').doNothing())
      .execute();
    row = await find();
  }
  if (!row) throw new Error('The hash key was neither found nor stored.');
  try {
    return Buffer.from(keys.open(row.sealed, `secret|${HASH_KEY}`), 'base64');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new KeyError(
      `The master key does not open this store: ${reason} Start with the key that the store was written with: ` +
        'GATEHOUSE_MASTER_KEY, or master.key in GATEHOUSE_HOME.',
      { cause: error },
    );
  }
}
