import { randomBytes } from 'node:crypto';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const DIGITS = 22;
let pool = Buffer.alloc(0);
let at = 0;

const TIME_DIGITS = 8;

type Kind =
  | 'srv'
  | 'usr'
  | 'cred'
  | 'con'
  | 'src'
  | 'sub'
  | 'evt'
  | 'msg'
  | 'att'
  | 'job'
  | 'inb'
  | 'map'
  | 'exe'
  | 'res'
  | 'file'
  | 'key'
  | 'per'
  | 'aud'
  | 'ach'
  | 'ech'
  | 'rep'
  | 'cir'
  | 'sea'
  | 'wf'
  | 'ins'
  | 'run'
  | 'prog'
  | 'task';

/** Returns an id of its kind: `srv_` and 22 random base62 characters (130 bits). */
export function newId(kind: Kind): string {
  return `${kind}_${randomDigits(DIGITS)}`;
}

/**
 * Returns an id as newId(), ordered by time: 8 characters hold the epoch milliseconds, 14 are random (83 bits). Use it
 * in tables that grow all day. Random keys touch a page of the index for each row, and a batch of them costs twenty
 * times its commit.
 */
export function newOrderedId(kind: Kind, now: number): string {
  let time = '';
  for (let left = now; time.length < TIME_DIGITS; left = Math.floor(left / BASE62.length))
    time = BASE62.charAt(left % BASE62.length) + time;
  return `${kind}_${time}${randomDigits(DIGITS - TIME_DIGITS)}`;
}

function randomDigits(count: number): string {
  let text = '';
  while (text.length < count) {
    if (at === pool.length) {
      pool = randomBytes(4096);
      at = 0;
    }
    // Six random bits. 62 and 63 are skipped, so that every digit is equally likely.
    text += BASE62.charAt((pool[at++] ?? 0) & 63);
  }
  return text;
}

/** Returns `bytes`, read as one big-endian number, in base62, padded with zeros to `digits`. */
export function base62(bytes: Uint8Array, digits: number): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  while (value > 0n) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text.padStart(digits, '0');
}
