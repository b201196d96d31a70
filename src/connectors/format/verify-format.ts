import { z } from 'zod';
import { template } from './format-parts.ts';

/* How a webhook of an app proves its origin, and how the app checks our address. */

/** Place of a value in an incoming webhook: `header:X-Topic`, `body:data.id`, `query:topic`. */
export const hookPlace = z
  .string()
  .regex(/^(header|body|query):.+$/, 'must be header:<name>, body:<path> or query:<parameter>');

/** Members of schemes that sign a text. */
const signed = {
  /** The signed text. `{sortedForm}`: names and values of the form fields, sorted by name, without separators. */
  content: template.default('{body}'),
  /** The header with the signature. */
  header: z.string().min(1),
  /** Text before the signature: `sha256=`. */
  prefix: z.string().default(''),
  /** For a header that is a list such as `t=1,v1=ab,v1=cd`: the names of the signature and of the timestamp. */
  list: z
    .strictObject({
      /** Text between two entries. */
      separator: z.string().min(1).default(','),
      /** Name of the entries with a signature. */
      signature: z.string().min(1),
      /** Name of the entry with the time. */
      timestamp: z.string().min(1).optional(),
    })
    .optional(),
  /**
   * Place of the time of sending: seconds or milliseconds since the epoch, or ISO 8601. Times further away than
   * `toleranceSeconds` are refused.
   */
  timestamp: hookPlace.optional(),
  /** The largest distance between that time and the clock. */
  toleranceSeconds: z.int().min(1).max(3600).default(300),
};

/**
 * How a webhook of the app proves its origin. Templates may name fields of the credential, `{secret}` (made or
 * received when the webhook was registered), and `{clientSecret}` (of the OAuth app). Contents may also name `{body}`
 * (raw), `{timestamp}`, `{id}`, `{url}`, `{method}` and `{sortedForm}`.
 */
export const verify = z.discriminatedUnion('type', [
  /** An HMAC of `content` in a header. */
  z.strictObject({
    type: z.literal('hmac'),
    /** Hash function of the HMAC. */
    algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
    /** The key. */
    key: template.default('{secret}'),
    /** Encoding of the key. */
    keyEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
    /** Encoding of the signature. */
    encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
    ...signed,
  }),
  /** A signature of `content` by a private key of the app. Either `key` or `keysUrl` gives the public key. */
  z.strictObject({
    type: z.literal('public_key'),
    /** Algorithm of the signature. ECDSA is over P-256, RSA is PKCS #1 v1.5; both over SHA-256. */
    algorithm: z.enum(['ed25519', 'ecdsa', 'rsa']),
    /** The public key: PEM, or its DER bytes (SPKI) in `keyEncoding`. Keys of Ed25519 may be their 32 bytes. */
    key: template.optional(),
    /** Encoding of a key that is no PEM. */
    keyEncoding: z.enum(['base64', 'hex']).default('base64'),
    /** Address of the app's public keys: a JWKS (RFC 7517), or PEM. It is read again when a signature fits no key. */
    keysUrl: z.url({ protocol: /^https?$/ }).optional(),
    /** Place of the id of the key, for addresses with several keys. */
    keyId: hookPlace.optional(),
    /** Encoding of the signature. */
    encoding: z.enum(['hex', 'base64', 'base64url']).default('base64'),
    /** Form of a signature of ECDSA: `der`, or `raw` for the two numbers one after the other (RFC 7518 section 3.4). */
    form: z.enum(['der', 'raw']).default('der'),
    ...signed,
  }),
  /** Standard Webhooks 1.0.0, symmetric; the key is `whsec_…` or base64. */
  z.strictObject({
    type: z.literal('standard'),
    /** The key. */
    key: template.default('{secret}'),
  }),
  /** A shared secret in a header. */
  z.strictObject({
    type: z.literal('header'),
    /** Name of the header. */
    header: z.string().min(1),
    /** Its value. */
    value: template.default('{secret}'),
  }),
  /** A shared secret in the body or the query. It is not stored. */
  z.strictObject({
    type: z.literal('secret'),
    /** Place of the secret: `body:token`. */
    at: hookPlace,
    /** Its value. */
    value: template.default('{secret}'),
    /** Place of the time of sending, as in `hmac`. */
    timestamp: hookPlace.optional(),
    /** The largest distance between that time and the clock. */
    toleranceSeconds: z.int().min(1).max(3600).default(300),
  }),
  /** HTTP Basic. */
  z.strictObject({
    type: z.literal('basic'),
    /** The user name. */
    username: template,
    /** The password. */
    password: template.default('{secret}'),
  }),
]);
export type HookVerification = z.infer<typeof verify>;
export type SignedScheme = Extract<HookVerification, { content: string }>;

/** An address check of an app, and its answer. */
export const challenge = z.strictObject({
  /** Method of the challenge. */
  method: z.enum(['GET', 'POST']).default('POST'),
  /** The request is a challenge when this place has a value. */
  value: hookPlace,
  /** Form of the answer. `signed`: JSON with the member of `signed` only. */
  as: z.enum(['text', 'json', 'signed']).default('text'),
  /** For `json`: the member of the answer. */
  member: z.string().min(1).default('challenge'),
  /** A member with an HMAC of the value, which proves that we know the key. The value must be letters, digits or -_.~+/=. */
  signed: z
    .strictObject({
      /** The member of the answer. */
      member: z.string().min(1),
      /** The key. */
      key: template.default('{secret}'),
      /** Hash function of the HMAC. */
      algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
      /** Encoding of the HMAC. */
      encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
      /** Text before the HMAC: `sha256=`. */
      prefix: z.string().default(''),
    })
    .optional(),
});
export type HookChallenge = z.infer<typeof challenge>;
