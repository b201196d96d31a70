import { z } from 'zod';
import { template } from './format-parts.ts';

/* Signatures of requests: the member `sign` of a scheme. */

export const templates = z.record(z.string().min(1), template);

/** A JWT. Claim values are templates, and an empty one is left out; `iat` and `exp` are set here. */
export const jwtShape = {
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
  keyEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
  keyId: template.optional(),
  claims: templates.default({}),
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
    algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
    key: template,
    keyEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
    content: template,
    encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
    /** Headers and query parameters to add; `{signature}` is the result. */
    headers: templates.default({}),
    query: templates.default({}),
  }),
  z.strictObject({
    /** A JWT signed for each request. */
    type: z.literal('jwt'),
    ...jwtShape,
    headers: templates.default({ Authorization: 'Bearer {signature}' }),
    query: templates.default({}),
  }),
  z.strictObject({
    /** OAuth 1.0a (RFC 5849), signed with consumer key and secret and, where the app has them, token and secret. */
    type: z.literal('oauth1'),
    method: z.enum(['HMAC-SHA1', 'HMAC-SHA256']).default('HMAC-SHA256'),
    consumerKey: template,
    consumerSecret: template,
    token: template.optional(),
    tokenSecret: template.optional(),
    realm: template.optional(),
    place: z.enum(['header', 'query']).default('header'),
  }),
  z.strictObject({
    /** AWS Signature Version 4, for AWS and for stores that follow it. */
    type: z.literal('aws_sigv4'),
    accessKeyId: template,
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
