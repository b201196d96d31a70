import { createPublicKey, verify as verifySignature, type KeyObject } from 'node:crypto';
import type { HookVerification } from '../../connectors/format/verify-format.ts';
import { isJsonObject, parseJson, valueAt } from '../../lib/json.ts';
import { textAt, type HookRequest } from './hook-request.ts';
import { filled, signedReader, type Signed, type ValueOf } from './signed-content.ts';

type PublicKeyScheme = Extract<HookVerification, { type: 'public_key' }>;

/** A public key of an app; its id is undefined where the app names none. */
export interface PublicKey {
  id: string | undefined;
  key: KeyObject;
}

/**
 * Returns the keys at an address. `again`: the stored ones do not fit, so they are read again, unless that happened
 * shortly before.
 */
export type FetchKeys = (url: string, again: boolean) => Promise<readonly PublicKey[]>;

/** Limit of keys at one address. A webhook without the id of a key is checked with each of them. */
const MAX_KEYS = 20;

/** Prepares the check of signatures by a private key of the app. */
export function publicKeyVerifier(
  verify: PublicKeyScheme,
  { value, fetchKeys }: { value: ValueOf; fetchKeys: FetchKeys },
): (request: HookRequest, now: number) => boolean | Promise<boolean> {
  const read = signedReader(verify, value);
  const { keysUrl } = verify;
  if (keysUrl === undefined) {
    const key = keyOf(verify, filled(verify.key ?? '', value));
    return (request, now) => {
      const signed = read(request, now);
      return signed !== undefined && key !== undefined && fits(verify, signed, [{ id: undefined, key }]);
    };
  }
  return async (request, now) => {
    const signed = read(request, now);
    if (!signed || signed.signatures.length === 0) return false;
    const id = verify.keyId === undefined ? undefined : textAt(request, verify.keyId);
    if (verify.keyId !== undefined && id === undefined) return false;
    const isNamed = (key: PublicKey) => id === undefined || key.id === undefined || key.id === id;
    if (fits(verify, signed, (await fetchKeys(keysUrl, false)).filter(isNamed))) return true;
    // The app may have replaced its key.
    return fits(verify, signed, (await fetchKeys(keysUrl, true)).filter(isNamed));
  };
}

function fits(verify: PublicKeyScheme, { parts, signatures }: Signed, keys: readonly PublicKey[]): boolean {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  const digest = verify.algorithm === 'ed25519' ? null : 'sha256';
  const dsaEncoding = verify.form === 'raw' ? 'ieee-p1363' : 'der';
  return signatures.some((text) => {
    const signature = Buffer.from(text, verify.encoding);
    return keys.some(
      ({ key }) => isOf(verify, key) && verifySignature(digest, content, { key, dsaEncoding }, signature),
    );
  });
}

/** Returns whether a key is of the algorithm. An RSA key never checks a signature that the file says is ECDSA. */
function isOf({ algorithm }: PublicKeyScheme, key: KeyObject): boolean {
  switch (algorithm) {
    case 'ed25519':
      return key.asymmetricKeyType === 'ed25519';
    case 'rsa':
      return key.asymmetricKeyType === 'rsa';
    case 'ecdsa':
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  }
}

/** Returns a key of the connector file or of a credential; undefined when it is none. */
function keyOf({ algorithm, keyEncoding }: PublicKeyScheme, text: string | undefined): KeyObject | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    if (text.includes('-----BEGIN')) return createPublicKey(text.replaceAll('\\n', '\n'));
    const bytes = Buffer.from(text, keyEncoding);
    if (algorithm === 'ed25519' && bytes.length === 32)
      return createPublicKey({
        key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
        format: 'jwk',
      });
    return createPublicKey({ key: bytes, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

/** Returns the keys in the answer of an app: a JWKS, or PEM. Keys of other kinds are left out. */
export function publicKeysIn(text: string): PublicKey[] {
  const pems = text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g);
  if (pems) return pems.slice(0, MAX_KEYS).flatMap((pem) => keyFrom(undefined, () => createPublicKey(pem)));
  let keys: unknown;
  try {
    keys = valueAt(parseJson(text), 'keys');
  } catch {
    return [];
  }
  if (!Array.isArray(keys)) return [];
  return keys.slice(0, MAX_KEYS).flatMap((jwk) => {
    if (!isJsonObject(jwk)) return [];
    const id = typeof jwk['kid'] === 'string' ? jwk['kid'] : undefined;
    return keyFrom(id, () => createPublicKey({ key: jwk, format: 'jwk' }));
  });
}

function keyFrom(id: string | undefined, create: () => KeyObject): PublicKey[] {
  try {
    return [{ id, key: create() }];
  } catch {
    return [];
  }
}
