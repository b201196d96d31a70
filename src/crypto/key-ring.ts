import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  type KeyObject,
} from 'node:crypto';
import { existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ZodType } from 'zod';
import type { Config } from '../config.ts';
import { makeFolder } from '../lib/folders.ts';
import { masterKeyRule, MASTER_KEY_BYTES as KEY_BYTES, readMasterKey } from '../lib/master-key-text.ts';
import { thrownMessage } from '../lib/errors.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Without it Node.js also accepts shorter tags, which are easier to forge. */
const GCM = { authTagLength: TAG_BYTES };

/** An error of a master key that cannot be used, in words for the operator. */
export class KeyError extends Error {
  override readonly name = 'KeyError';
}

/**
 * The master keys; the first one seals. Each record is sealed with its own data key, and that key with a master key.
 * Both are bound to `bound` (additional authenticated data): a box that was moved to another row or altered does not
 * open. The form of a box is `v1.<keyId>.<wrapped data key>.<ciphertext>`, base64url.
 */
export interface KeyRing {
  /** The short public name of the sealing key. A box names its key by it; it reveals nothing about the key. */
  readonly keyId: string;
  seal(plain: string, bound: string): string;
  /** @throws KeyError when no key of the ring opens the box for `bound`. */
  open(box: string, bound: string): string;
  /** Seals a value as JSON. */
  sealJson(value: unknown, bound: string): string;
  /** Opens a box of sealJson(). @throws KeyError like open(), ZodError when the value has another shape. */
  openJson<T>(shape: ZodType<T>, box: string, bound: string): T;
}

/** Builds a ring from base64 keys. @throws KeyError naming which key breaks which rule. */
export function createKeyRing(base64Keys: string[]): KeyRing {
  const keys = base64Keys.map((text, position) => {
    const key = readMasterKey(text);
    if (!key) throw new KeyError(`Master ${masterKeyRule(position + 1)}`);
    return { keyId: keyIdOf(key), key: createSecretKey(key) };
  });
  const [writer] = keys;
  if (!writer) throw new KeyError('There is no master key.');

  const ring: KeyRing = {
    keyId: writer.keyId,
    seal(plain, bound) {
      const dataKey = randomBytes(KEY_BYTES);
      const wrapped = encrypt(writer.key, dataKey, `key|${bound}`);
      return [
        'v1',
        writer.keyId,
        wrapped,
        encrypt(createSecretKey(dataKey), Buffer.from(plain, 'utf8'), `body|${bound}`),
      ].join('.');
    },
    open(box, bound) {
      const [version, keyId, wrapped, body, ...rest] = box.split('.');
      if (version !== 'v1' || !keyId || !wrapped || !body || rest.length > 0) {
        throw new KeyError(
          'A sealed record is not in the form v1.<key>.<wrapped key>.<body>; it was altered.',
        );
      }
      const master = keys.find((candidate) => candidate.keyId === keyId);
      if (!master) {
        throw new KeyError(
          `A sealed record needs master key ${keyId}, which is not among GATEHOUSE_MASTER_KEY.`,
        );
      }
      try {
        const dataKey = createSecretKey(decrypt(master.key, wrapped, `key|${bound}`));
        return decrypt(dataKey, body, `body|${bound}`).toString('utf8');
      } catch (error) {
        throw new KeyError('A sealed record does not open: it was altered, or moved from another row.', {
          cause: error,
        });
      }
    },
    sealJson: (value, bound) => ring.seal(JSON.stringify(value), bound),
    openJson: (shape, box, bound) => shape.parse(JSON.parse(ring.open(box, bound))),
  };
  return ring;
}

/**
 * Loads the keys of GATEHOUSE_MASTER_KEY, of the file GATEHOUSE_MASTER_KEY_FILE, or of `<home>/master.key`. A missing
 * `<home>/master.key` is created with mode 0600, exclusively: of two concurrent first starts one writes and the other
 * reads. If the store `isSealed`, no key is created, because a new one would not open its rows.
 * @throws KeyError when a key or its file cannot be used.
 */
export function loadKeyRing(
  config: Pick<Config, 'masterKeys' | 'masterKeyFile' | 'home'>,
  { isSealed = false } = {},
): KeyRing {
  if (config.masterKeys) return createKeyRing(config.masterKeys);
  const path = config.masterKeyFile ?? join(config.home, 'master.key');
  if (!config.masterKeyFile) {
    if (isSealed && !existsSync(path)) {
      throw new KeyError(
        `The store holds sealed data, and its master key ${path} is missing. Put the key back from a backup, or set ` +
          'GATEHOUSE_MASTER_KEY. No new key was made, because it would open nothing.',
      );
    }
    createKeyFile(path);
  }
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new KeyError(`Cannot read the master key file ${path}: ${thrownMessage(error)}`, { cause: error });
  }
  const ring = createKeyRing(text.split(/[\s,]+/).filter((part) => part !== ''));
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new KeyError(`The master key file ${path} can be read by others. Run: chmod 600 ${path}`);
  }
  return ring;
}

function createKeyFile(path: string): void {
  try {
    makeFolder(dirname(path));
    if (existsSync(path)) return;
    // The file is written under another name and then linked. Otherwise a concurrent first start could read half a key.
    const draft = `${path}.${randomBytes(6).toString('hex')}`;
    writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    try {
      linkSync(draft, path);
    } catch (error) {
      // A concurrent first start was faster; its key is used.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    } finally {
      unlinkSync(draft);
    }
  } catch (error) {
    throw new KeyError(
      `Cannot write the master key file ${path}: ${thrownMessage(error)}. Set GATEHOUSE_HOME to a folder that this user may write.`,
      { cause: error },
    );
  }
}

function keyIdOf(key: Buffer): string {
  return createHmac('sha256', key).update('gatehouse master key id').digest('hex').slice(0, 8);
}

/** Takes a key object: with a buffer as the key Node.js needs 27 µs for a small text instead of 8 (measured). */
function encrypt(key: KeyObject, plain: Buffer, bound: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, GCM).setAAD(Buffer.from(bound, 'utf8'));
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

function decrypt(key: KeyObject, text: string, bound: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  // Base64 ignores spare bits of its last character; otherwise a changed character would go unnoticed.
  if (bytes.toString('base64url') !== text) throw new Error('not canonical base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), GCM)
    .setAAD(Buffer.from(bound, 'utf8'))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
}
