import { createHash, createHmac, createPrivateKey, randomBytes, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Jwt, Sign } from '../connectors/format/format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { headerValue, setQuery, type Draft } from './request-draft.ts';
import { signAws } from './sign-aws.ts';
import { percentEncoded } from './values.ts';

type Values = (name: string) => string;

/** Signs a request as its connector says. Returns the parts that must not be logged. */
export async function signRequest(
  draft: Draft,
  sign: Sign,
  { value, now }: { value: Values; now: number },
): Promise<string[]> {
  if (sign.type === 'oauth1') return signOAuth1(draft, sign, { value, now });
  if (sign.type === 'aws_sigv4') return signAws(draft, sign, { value, now });
  const facts = requestFacts(draft, now);
  const known: Values = (name) => facts[name] ?? value(name);
  const signature =
    sign.type === 'hmac'
      ? hmacOf(sign, known, value)
      : await signJwt(sign, { key: value, claim: known, now });
  const withSignature: Values = (name) => (name === 'signature' ? signature : known(name));
  for (const [name, template] of Object.entries(sign.headers)) {
    draft.headers[name.toLowerCase()] = headerValue(name, fillTemplate(template, withSignature));
  }
  for (const [name, template] of Object.entries(sign.query)) {
    setQuery(draft.address, name, fillTemplate(template, withSignature));
  }
  return [signature];
}

/** Returns the values that a signature's templates may use besides the credential's fields. */
function requestFacts(draft: Draft, now: number): Record<string, string> {
  const content = draft.body?.content() ?? '';
  // The signed content must be sent unchanged; a multipart body would get another boundary each time.
  if (draft.body) draft.body.content = () => content;
  return {
    method: draft.method,
    path: draft.address.query === '' ? draft.address.path : `${draft.address.path}?${draft.address.query}`,
    host: draft.address.host,
    body: typeof content === 'string' ? content : Buffer.from(content).toString('latin1'),
    bodySha256: createHash('sha256').update(content).digest('hex'),
    timestamp: String(Math.floor(now / SECOND)),
    timestampMs: String(now),
    nonce: randomBytes(16).toString('hex'),
  };
}

function hmacOf(sign: Extract<Sign, { type: 'hmac' }>, known: Values, value: Values): string {
  const key = Buffer.from(fillTemplate(sign.key, value), sign.keyEncoding);
  return createHmac(sign.algorithm, key).update(fillTemplate(sign.content, known)).digest(sign.encoding);
}

/**
 * Returns a signed JWT. `key` fills the key and its id, `claim` the claims.
 * @throws GatehouseError `credential_invalid` when the key does not fit the algorithm.
 */
export async function signJwt(
  sign: Jwt,
  { key: value, claim, now }: { key: Values; claim: Values; now: number },
): Promise<string> {
  const claims = Object.fromEntries(
    Object.entries(sign.claims)
      .map(([name, template]) => [name, fillTemplate(template, claim)])
      .filter(([, text]) => text !== ''),
  );
  const issuedAt = Math.floor(now / SECOND) - sign.backdateSeconds;
  const key = fillTemplate(sign.key, value);
  try {
    return await new SignJWT(claims)
      .setProtectedHeader({
        alg: sign.algorithm,
        typ: 'JWT',
        ...(sign.keyId === undefined ? {} : { kid: fillTemplate(sign.keyId, value) }),
      })
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + sign.backdateSeconds + sign.lifetimeSeconds)
      .sign(sign.algorithm.startsWith('HS') ? Buffer.from(key, sign.keyEncoding) : privateKeyOf(key));
  } catch (error) {
    throw new GatehouseError(
      'credential_invalid',
      `The signing key cannot be used with ${sign.algorithm}. Change the credential.`,
      {
        details: { reason: 'invalid_value' },
        cause: error,
      },
    );
  }
}

/**
 * Returns a private key from PEM: PKCS #8, or PKCS #1 and SEC 1 as some apps issue them. Line breaks may be written
 * `\\n`.
 */
function privateKeyOf(text: string): KeyObject {
  return createPrivateKey(text.replaceAll('\\n', '\n'));
}

/**
 * Signs with OAuth 1.0a (RFC 5849): the signature base string of section 3.4.1 over method, address, query and form
 * body.
 */
function signOAuth1(
  draft: Draft,
  sign: Extract<Sign, { type: 'oauth1' }>,
  { value, now }: { value: Values; now: number },
): string[] {
  const filled = (template: string | undefined) =>
    template === undefined ? '' : fillTemplate(template, value);
  const token = filled(sign.token);
  const parameters: [string, string][] = [
    ['oauth_consumer_key', filled(sign.consumerKey)],
    ['oauth_nonce', randomBytes(16).toString('hex')],
    ['oauth_signature_method', sign.method],
    ['oauth_timestamp', String(Math.floor(now / SECOND))],
    ...(token === '' ? [] : [['oauth_token', token] satisfies [string, string]]),
    ['oauth_version', '1.0'],
  ];
  const key = `${percentEncoded(filled(sign.consumerSecret))}&${percentEncoded(filled(sign.tokenSecret))}`;
  const base = signatureBase(draft, parameters);
  const signature = createHmac(sign.method === 'HMAC-SHA1' ? 'sha1' : 'sha256', key)
    .update(base)
    .digest('base64');
  const signed: [string, string][] = [...parameters, ['oauth_signature', signature]];
  if (sign.place === 'query') {
    for (const [name, text] of signed) setQuery(draft.address, name, text);
  } else {
    const realm = sign.realm === undefined ? [] : [`realm="${percentEncoded(filled(sign.realm))}"`];
    const pairs = signed.map(([name, text]) => `${percentEncoded(name)}="${percentEncoded(text)}"`);
    draft.headers['authorization'] = `OAuth ${[...realm, ...pairs].join(', ')}`;
  }
  return [signature];
}

/** Returns the base string of RFC 5849 section 3.4.1.1. Exported for the RFC's own example in the tests. */
export function signatureBase(draft: Draft, oauth: [string, string][]): string {
  const pairs = [...new URLSearchParams(draft.address.query), ...(draft.body?.formPairs?.() ?? []), ...oauth]
    .map(([name, text]): [string, string] => [percentEncoded(name), percentEncoded(text)])
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, text]) => `${name}=${text}`);
  const { origin, path } = draft.address;
  return [draft.method, origin + path, pairs.join('&')].map(percentEncoded).join('&');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
