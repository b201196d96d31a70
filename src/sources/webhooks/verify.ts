import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { HookVerification } from '../../connectors/format/verify-format.ts';
import { textAt, type HookRequest } from './hook-request.ts';
import { publicKeyVerifier, type FetchKeys } from './public-key.ts';
import { filled, isBlank, isRecent, same, signedReader, type ValueOf } from './signed-content.ts';

const STANDARD_TOLERANCE_SECONDS = 300;

/** Returns whether a webhook that arrives at `now` (epoch ms) comes from the app. */
export type Verifier = (request: HookRequest, now: number) => boolean | Promise<boolean>;

/** Values that a scheme needs: those that its templates name, and a reader of published keys. */
export interface VerifierValues {
  value: ValueOf;
  fetchKeys: FetchKeys;
}

/**
 * Prepares the check of a connector file's scheme, with its key, for many webhooks of one sender. When a value that the
 * scheme names is missing, every check fails, because nothing can be verified.
 */
export function createVerifier(verify: HookVerification, { value, fetchKeys }: VerifierValues): Verifier {
  switch (verify.type) {
    case 'header': {
      const expected = filled(verify.value, value);
      return (request) => same(request.header(verify.header.toLowerCase()) ?? '', expected);
    }
    case 'secret': {
      const expected = filled(verify.value, value);
      const { at, timestamp, toleranceSeconds } = verify;
      return (request, now) =>
        same(textAt(request, at) ?? '', expected) &&
        (timestamp === undefined || isRecent(textAt(request, timestamp) ?? '', now, toleranceSeconds));
    }
    case 'basic': {
      const username = filled(verify.username, value);
      const password = filled(verify.password, value);
      if (username === undefined || password === undefined) return () => false;
      const expected = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
      return (request) => same(request.header('authorization') ?? '', expected);
    }
    case 'standard':
      return standardVerifier(verify, value);
    case 'hmac':
      return hmacVerifier(verify, value);
    case 'public_key':
      return publicKeyVerifier(verify, { value, fetchKeys });
  }
}

function standardVerifier(verify: Extract<HookVerification, { type: 'standard' }>, value: ValueOf): Verifier {
  const key = standardKey(filled(verify.key, value));
  if (!key) return () => false;
  return (request, now) => {
    const id = request.header('webhook-id') ?? '';
    const timestamp = request.header('webhook-timestamp') ?? '';
    if (id === '' || !isRecent(timestamp, now, STANDARD_TOLERANCE_SECONDS)) return false;
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(request.raw);
    const expected = `v1,${hmac.digest('base64')}`;
    return (request.header('webhook-signature') ?? '').split(' ').some((one) => same(one, expected));
  };
}

function hmacVerifier(verify: Extract<HookVerification, { type: 'hmac' }>, value: ValueOf): Verifier {
  const key = secretKey(filled(verify.key, value), verify.keyEncoding);
  if (!key) return () => false;
  const read = signedReader(verify, value);
  return (request, now) => {
    const signed = read(request, now);
    if (!signed) return false;
    const hmac = createHmac(verify.algorithm, key);
    for (const part of signed.parts) hmac.update(part);
    const expected = hmac.digest(verify.encoding);
    return signed.signatures.some((given) =>
      same(verify.encoding === 'hex' ? given.toLowerCase() : given, expected),
    );
  };
}

/**
 * Returns the rule that a secret breaks which a person entered; undefined for a usable one. A secret that is decoded to
 * nothing would never verify a webhook.
 */
export function secretRule(verify: HookVerification, secret: string): string | undefined {
  if (isBlank(secret)) return 'must not be blank';
  const isKey = (verify.type === 'hmac' || verify.type === 'standard') && verify.key === '{secret}';
  if (!isKey) return undefined;
  const encoding = verify.type === 'hmac' ? verify.keyEncoding : 'base64';
  const key = verify.type === 'hmac' ? secretKey(secret, encoding) : standardKey(secret);
  return key === undefined ? `must be ${encoding}, as the app shows it` : undefined;
}

function standardKey(text: string | undefined): KeyObject | undefined {
  return secretKey(text?.replace(/^whsec_/, ''), 'base64');
}

/** The texts that are keys, by encoding. Node.js decodes others in part, or to nothing. */
const KEY_TEXTS = {
  utf8: /./su,
  hex: /^(?:[0-9a-f]{2})+$/i,
  base64: /^[\w+/-]{2,}={0,2}$/,
};

/**
 * Returns a key object; undefined without a key, because every sender can sign with an empty one. A buffer as the key
 * costs Node.js five times the whole signature (measured: 26 µs against 6).
 */
function secretKey(text: string | undefined, encoding: keyof typeof KEY_TEXTS): KeyObject | undefined {
  if (text === undefined || !KEY_TEXTS[encoding].test(text)) return undefined;
  return createSecretKey(Buffer.from(text, encoding));
}
