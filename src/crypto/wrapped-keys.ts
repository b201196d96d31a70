import type { DbOrTx } from '../store/schema.ts';
import { createKeyRing, KeyError, newMasterKey } from './key-ring.ts';
import type { Vault } from './vault.ts';

/** A wrapped master key, as it is stored. */
export interface WrappedKey {
  /** The public name of the key (KeyRing.keyId). */
  key_id: string;
  wrapped: string;
}

/** Returns the wrapped master keys of the store, the sealing one first. */
export function readWrappedKeys(db: DbOrTx): Promise<WrappedKey[]> {
  return db.selectFrom('wrapped_keys').select(['key_id', 'wrapped']).orderBy('position').execute();
}

/** Wraps master keys, for storeWrappedKeys(). */
export function wrapKeys(vault: Vault, keys: readonly string[]): Promise<WrappedKey[]> {
  return Promise.all(
    keys.map(async (key) => ({ key_id: createKeyRing([key]).keyId, wrapped: await vault.wrap(key) })),
  );
}

/** Stores wrapped keys. Does not replace keys that another process stored before. */
export async function storeWrappedKeys(db: DbOrTx, keys: readonly WrappedKey[], now: number): Promise<void> {
  await db
    .insertInto('wrapped_keys')
    .values(keys.map((key, index) => ({ position: index + 1, ...key, created_at: now })))
    .onConflict((c) => c.column('position').doNothing())
    .execute();
}

/** Replaces all wrapped keys of a store that no process uses yet. */
export async function replaceWrappedKeys(
  db: DbOrTx,
  keys: readonly WrappedKey[],
  now: number,
): Promise<void> {
  await db.deleteFrom('wrapped_keys').execute();
  await storeWrappedKeys(db, keys, now);
}

/**
 * Returns the master keys of the store in base64, unwrapped. A store without sealed data gets a new key: of two first
 * starts one stores its key, and both use that one.
 * @throws KeyError when Vault does not unwrap them, or the store is sealed with keys from elsewhere.
 */
export async function loadWrappedKeys(
  db: DbOrTx,
  vault: Vault,
  { isSealed, now }: { isSealed: boolean; now: number },
): Promise<string[]> {
  let rows = await readWrappedKeys(db);
  if (rows.length === 0) {
    if (isSealed)
      throw new KeyError(
        'The store is sealed with a master key that Vault has not wrapped. Run: gatehouse master-key move --from <key file>',
      );
    await storeWrappedKeys(db, await wrapKeys(vault, [newMasterKey()]), now);
    rows = await readWrappedKeys(db);
  }
  return unwrapKeys(vault, rows);
}

/** Returns master keys in base64. @throws KeyError when Vault does not unwrap one, or returns another key. */
export function unwrapKeys(vault: Vault, rows: readonly WrappedKey[]): Promise<string[]> {
  return Promise.all(
    rows.map(async ({ key_id: keyId, wrapped }) => {
      const key = await vault.unwrap(wrapped);
      if (createKeyRing([key]).keyId === keyId) return key;
      throw new KeyError(`Vault unwrapped another key than ${keyId}: the row of wrapped_keys was altered.`);
    }),
  );
}

/** Wraps the keys again with the newest version of Vault's key. Returns their number. */
export async function rewrapKeys(db: DbOrTx, vault: Vault): Promise<number> {
  const rows = await readWrappedKeys(db);
  for (const { key_id: keyId, wrapped } of rows) {
    const renewed = await vault.rewrap(wrapped);
    await db
      .updateTable('wrapped_keys')
      .set({ wrapped: renewed })
      .where('key_id', '=', keyId)
      .where('wrapped', '=', wrapped)
      .execute();
  }
  return rows.length;
}

/** Deletes all keys but one. Returns the number of deleted ones. */
export async function dropEarlierKeys(db: DbOrTx, keyId: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('wrapped_keys')
    .where('key_id', '!=', keyId)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
