import { randomBytes } from 'node:crypto';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** An id of its kind: `srv_` and 22 base62 characters (128 random bits). */
export function newId(kind: 'srv' | 'usr' | 'cred' | 'exe' | 'res' | 'key' | 'aud'): string {
  return `${kind}_${base62(randomBytes(16), 22)}`;
}

/** `bytes`, read as one big-endian number, in base62, padded with zeros to `digits`. */
export function base62(bytes: Uint8Array, digits: number): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  while (value > 0n) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text.padStart(digits, '0');
}
