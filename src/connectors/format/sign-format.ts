import { z } from 'zod';
import { template } from './format-parts.ts';

/* Signatures of requests: the member `sign` of a scheme. */

export const templates = z.record(z.string().min(1), template);

/** A JWT. Claim values are templates, and an empty one is left out; `iat` and `exp` are set here. */
export const jwtShape = {
  /** Algorithm of the signature (RFC 7518). */
  algorithm: z.enum([
    'HS256',
    'HS384',
    'HS512',
    'RS256',
    'RS384',
    'RS512',
    'ES256',
    'ES384',
    'EdDSA',
    'PS256',
    'PS384',
    'PS512',
  ]),
  /** A shared secret for HS*, else a private key as PEM (PKCS #8, PKCS #1 or SEC 1). */
  key: template,
  /** Encoding of a shared secret. */
  keyEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
  /** The `kid` of the header. */
  keyId: template.optional(),
  /** Claims by name, such as `iss`, `sub` and `aud`. */
  claims: templates.default({}),
  /** Seconds from now until `exp`. */
  lifetimeSeconds: z.int().min(10).max(3600).default(300),
  /** How much earlier `iat` is, for apps whose clock is behind. */
  backdateSeconds: z.int().min(0).max(600).default(0),
};
const jwt = z.strictObject(jwtShape);
export type Jwt = z.infer<typeof jwt>;

export const sign = z.discriminatedUnion('type', [
  z.strictObject({
    /**
     * HMAC of `content`, put into a header or query parameter. Names in addition to credential fields: `{method}`,
     * `{path}` (with query), `{body}`, `{timestamp}` (seconds), `{timestampMs}`, `{nonce}`, `{host}`, `{bodySha256}`.
     */
    type: z.literal('hmac'),
    /** Hash function of the HMAC. */
    algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
    /** The key: usually a secret field. */
    key: template,
    /** Encoding of the key. */
    keyEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
    /** The signed text. */
    content: template,
    /** Encoding of the signature. */
    encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
    /** Headers and query parameters to add; `{signature}` is the result. */
    headers: templates.default({}),
    /** Query parameters to add; `{signature}` is the result. */
    query: templates.default({}),
  }),
  z.strictObject({
    /** A JWT signed for each request. */
    type: z.literal('jwt'),
    ...jwtShape,
    /** Headers to add; `{signature}` is the JWT. */
    headers: templates.default({ Authorization: 'Bearer {signature}' }),
    /** Query parameters to add; `{signature}` is the JWT. */
    query: templates.default({}),
  }),
  z.strictObject({
    /** OAuth 1.0a (RFC 5849), signed with consumer key and secret and, where the app has them, token and secret. */
    type: z.literal('oauth1'),
    /** Method of the signature. */
    method: z.enum(['HMAC-SHA1', 'HMAC-SHA256']).default('HMAC-SHA256'),
    /** The consumer key. */
    consumerKey: template,
    /** The consumer secret. */
    consumerSecret: template,
    /** The token, where the app has one. */
    token: template.optional(),
    /** The secret of the token. */
    tokenSecret: template.optional(),
    /** The realm of the header. */
    realm: template.optional(),
    /** Place of the signature. */
    place: z.enum(['header', 'query']).default('header'),
  }),
  z.strictObject({
    /** AWS Signature Version 4, for AWS and for stores that follow it. */
    type: z.literal('aws_sigv4'),
    /** Id of the access key. */
    accessKeyId: template,
    /** The secret access key. */
    secretAccessKey: template,
    /** The token of temporary keys; not sent where it is empty. */
    sessionToken: template.optional(),
    /** `us-east-1`, or `{region}` for a field. */
    region: template,
    /** `s3`, `dynamodb`, `execute-api` … */
    service: template,
  }),
]);
export type Sign = z.infer<typeof sign>;
