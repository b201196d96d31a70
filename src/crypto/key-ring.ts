import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import type { ZodType } from 'zod';
import { masterKeyRule, MASTER_KEY_BYTES as KEY_BYTES, readMasterKey } from '../lib/master-key-text.ts';
import { decrypt, encrypt } from './aes-gcm.ts';

/** An error of a master key that cannot be used. Its message is written for the operator. */
export class KeyError extends Error {
  override readonly name = 'KeyError';
}

/**
 * The master keys; the first one seals. Each record is sealed with its own data key, and the data key is sealed with a
 * master key. The result is a box: `v1.<keyId>.<wrapped data key>.<ciphertext>`, base64url. Both parts are bound to
 * `bound` (additional authenticated data), so a box that was altered, or moved to another row, does not open.
 */
export interface KeyRing {
  /** The short public name of the sealing key. A box names its key by it; it reveals nothing about the key. */
  readonly keyId: string;
  /** The names of all keys, the sealing one first. */
  readonly keyIds: readonly string[];
  seal(plain: string, bound: string): string;
  /** @throws KeyError when no key of the ring opens the box for `bound`. */
  open(box: string, bound: string): string;
  /** Seals a value as JSON. */
  sealJson(value: unknown, bound: string): string;
  /** Opens a box of sealJson(). @throws KeyError like open(), ZodError when the value has another shape. */
  openJson<T>(shape: ZodType<T>, box: string, bound: string): T;
  /**
   * Returns the box with its data key sealed by the first master key; undefined when it already is. It opens the whole box
   * first, so that the new box surely opens.
   * @throws KeyError like open().
   */
  rewrap(box: string, bound: string): string | undefined;
}

/** A source of keys that may change while the process runs. */
export interface ChangingKeys {
  /** Returns the keys in base64 if they changed since the last call, undefined otherwise. */
  changed(): string[] | undefined;
}

interface MasterKey {
  keyId: string;
  key: KeyObject;
}

/** Builds a ring from base64 keys. @throws KeyError naming which key breaks which rule. */
export function createKeyRing(base64Keys: string[], source?: ChangingKeys): KeyRing {
  let keys = masterKeysOf(base64Keys);

  /** Returns the keys as they are now. */
  const current = (): MasterKey[] => {
    const changed = source?.changed();
    if (changed) keys = masterKeysOf(changed);
    return keys;
  };
  const wrap = (dataKey: Buffer, body: string, bound: string): string => {
    const { keyId, key } = writerOf(current());
    return ['v1', keyId, encryptText(key, dataKey, `key|${bound}`), body].join('.');
  };
  const unwrap = (
    box: string,
    bound: string,
  ): { keyId: string; dataKey: Buffer; body: string; plain: string } => {
    const [version, keyId, wrapped, body, ...rest] = box.split('.');
    if (version !== 'v1' || !keyId || !wrapped || !body || rest.length > 0) {
      throw new KeyError('A sealed record is not in the form v1.<key>.<wrapped key>.<body>; it was altered.');
    }
    const isOurs = (one: MasterKey): boolean => one.keyId === keyId;
    const master = keys.find(isOurs) ?? current().find(isOurs);
    if (!master) {
      throw new KeyError(
        `A sealed record needs master key ${keyId}, which is not among the configured master keys.`,
      );
    }
    try {
      const dataKey = decryptText(master.key, wrapped, `key|${bound}`);
      const plain = decryptText(createSecretKey(dataKey), body, `body|${bound}`).toString('utf8');
      return { keyId, dataKey, body, plain };
    } catch (error) {
      throw new KeyError('A sealed record does not open: it was altered, or moved from another row.', {
        cause: error,
      });
    }
  };

  const ring: KeyRing = {
    get keyId() {
      return writerOf(current()).keyId;
    },
    get keyIds() {
      return current().map(({ keyId }) => keyId);
    },
    seal(plain, bound) {
      const dataKey = randomBytes(KEY_BYTES);
      const body = encryptText(createSecretKey(dataKey), Buffer.from(plain, 'utf8'), `body|${bound}`);
      return wrap(dataKey, body, bound);
    },
    open: (box, bound) => unwrap(box, bound).plain,
    sealJson: (value, bound) => ring.seal(JSON.stringify(value), bound),
    openJson: (shape, box, bound) => shape.parse(JSON.parse(ring.open(box, bound))),
    rewrap(box, bound) {
      const { keyId, dataKey, body } = unwrap(box, bound);
      return keyId === ring.keyId ? undefined : wrap(dataKey, body, bound);
    },
  };
  return ring;
}

/** Returns a new master key in base64. */
export function newMasterKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

function masterKeysOf(base64Keys: readonly string[]): MasterKey[] {
  const keys = base64Keys.map((text, position) => {
    const key = readMasterKey(text);
    if (!key) throw new KeyError(`Master ${masterKeyRule(position + 1)}`);
    return { keyId: keyIdOf(key), key: createSecretKey(key) };
  });
  writerOf(keys);
  return keys;
}

function writerOf([writer]: readonly MasterKey[]): MasterKey {
  if (!writer) throw new KeyError('There is no master key.');
  return writer;
}

function keyIdOf(key: Buffer): string {
  return createHmac('sha256', key).update('gatehouse master key id').digest('hex').slice(0, 8);
}

function encryptText(key: KeyObject, plain: Buffer, bound: string): string {
  return encrypt(key, plain, bound).toString('base64url');
}

function decryptText(key: KeyObject, text: string, bound: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  // Base64 ignores spare bits of its last character; otherwise a changed character would go unnoticed.
  if (bytes.toString('base64url') !== text) throw new Error('not canonical base64url');
  return decrypt(key, bytes, bound);
}
