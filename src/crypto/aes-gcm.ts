import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Sets the length of the tag. By default Node.js also accepts shorter tags, which are easier to forge. */
const GCM = { authTagLength: TAG_BYTES };

/**
 * Encrypts with AES-256-GCM. Returns the nonce, the ciphertext and the tag. `bound` is authenticated with the text. The
 * key is a KeyObject, because Node.js needs 27 µs for a small text with a buffer as the key, and 8 µs with a KeyObject.
 */
export function encrypt(key: KeyObject, plain: Uint8Array, bound: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, GCM).setAAD(Buffer.from(bound, 'utf8'));
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts a value of encrypt(). @throws Error when the value was altered, or was encrypted with another `bound`. */
export function decrypt(key: KeyObject, bytes: Buffer, bound: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), GCM)
    .setAAD(Buffer.from(bound, 'utf8'))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
}
