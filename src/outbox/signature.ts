import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';

/* Standard Webhooks 1.0.0, symmetric signatures. */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Returns a new signing secret: `whsec_` and 32 random bytes as base64. */
export function newSigningSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Returns the prepared key of a signing secret. A key given as bytes costs five times as much at each signature. */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret.slice(PREFIX.length), 'base64'));
}

/** A key that signs until a time (epoch milliseconds). */
export interface SigningKey {
  key: KeyObject;
  until: number;
}

/**
 * Adds the headers that sign one attempt. `webhook-id` is the same on every retry, and `webhook-timestamp` is the time of
 * this attempt. `webhook-signature` has one signature for each key that has not expired.
 */
export function addSignature(
  headers: Record<string, string>,
  keys: readonly SigningKey[],
  { id, body, now }: { id: string; body: string; now: number },
): void {
  const timestamp = String(Math.floor(now / 1000));
  const content = `${id}.${timestamp}.${body}`;
  let signatures = '';
  for (const { key, until } of keys) {
    if (until <= now) continue;
    const signature = createHmac('sha256', key).update(content).digest('base64');
    signatures += signatures === '' ? `v1,${signature}` : ` v1,${signature}`;
  }
  headers['webhook-id'] = id;
  headers['webhook-timestamp'] = timestamp;
  headers['webhook-signature'] = signatures;
}
