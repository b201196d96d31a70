import { z } from 'zod';
import { bodyPath, fieldName, template, text } from './format-parts.ts';

/* How an app authenticates: the schemes of a connector file, and the fields that people are asked for. */

const credentialField = z.strictObject({
  title: text(80),
  description: text(500).optional(),
  /** Secret fields are masked in forms and never read back. */
  secret: z.boolean().default(false),
  required: z.boolean().default(true),
  /** `subdomain`: one DNS label. `host`: a host name. `origin`: scheme, host and port, perhaps with a path. */
  format: z.enum(['text', 'subdomain', 'host', 'origin', 'email', 'multiline']).default('text'),
  pattern: z.string().optional(),
  enum: z.array(z.string()).min(1).optional(),
  default: z.string().optional(),
  example: z.string().optional(),
});
export type CredentialField = z.infer<typeof credentialField>;
export const fields = z.record(fieldName, credentialField);

export const templates = z.record(z.string().min(1), template);

const sign = z.discriminatedUnion('type', [
  z.strictObject({
    /** HMAC of `content`, put into a header or query parameter. Names beside credential fields: `{method}`,
     *  `{path}` (with query), `{body}`, `{timestamp}` (seconds), `{timestampMs}`, `{nonce}`, `{host}`, `{bodySha256}`. */
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
    /** A JWT signed for each request. Claim values are templates; `iat` and `exp` are set here. */
    type: z.literal('jwt'),
    algorithm: z.enum(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'EdDSA']),
    /** A shared secret for HS*, else a private key as PEM (PKCS #8, PKCS #1 or SEC 1). */
    key: template,
    keyEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
    keyId: template.optional(),
    claims: templates.default({}),
    lifetimeSeconds: z.int().min(10).max(3600).default(300),
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
]);
export type Sign = z.infer<typeof sign>;

const scheme = {
  title: text(80).optional(),
  /** Where a person finds what the form asks for. */
  docsUrl: z.url().optional(),
  /** Fields of this scheme. Those that `bearer`, `basic` and `api_key` bring themselves may be described here anew. */
  fields: fields.default({}),
};
const apply = z.strictObject({
  headers: templates.default({}),
  query: templates.default({}),
  /** Members added to a JSON or form body. */
  body: templates.default({}),
  basic: z.strictObject({ username: template, password: z.string().max(2000) }).optional(),
});

/** Where a value of OAuth is: `token:team.id` in the token answer, `callback:realmId` in the redirect back,
 *  `idToken:email` in the claims of its ID token, `lookup:id` in the answer of `lookup`. */
const oauthPlace = z
  .string()
  .regex(
    /^(token|callback|idToken|lookup):.+$/,
    'must be token:<path>, callback:<parameter>, idToken:<claim> or lookup:<path>',
  );

/** What both grants share. Templates may name fields and variables, and `{clientId}`. */
const oauthCommon = {
  tokenUrl: template,
  /** Asked for when the OAuth app names none. */
  scopes: z.array(z.string().min(1)).default([]),
  scopeSeparator: z.string().min(1).default(' '),
  /** How the client shows who it is (RFC 6749 section 2.3.1). */
  clientAuthentication: z.enum(['basic', 'body', 'none']).default('body'),
  /** How token requests are written; `form` is the standard's. */
  tokenRequest: z.enum(['form', 'json', 'query']).default('form'),
  /** Added to each request for tokens. */
  tokenParams: templates.default({}),
  tokenHeaders: templates.default({}),
  /** Names that differ from the standard's. A form-encoded answer is understood, numbers may be strings. */
  tokenAnswer: z
    .strictObject({
      accessToken: bodyPath.default('access_token'),
      refreshToken: bodyPath.default('refresh_token'),
      /** A lifetime from now, in `unit`. */
      expiresIn: bodyPath.default('expires_in'),
      /** A moment: epoch seconds or milliseconds, or ISO 8601. Read where `expiresIn` holds nothing. */
      expiresAt: bodyPath.default('expires_at'),
      /** What `expiresIn` and `refreshExpiresIn` count. */
      unit: z.enum(['seconds', 'milliseconds']).default('seconds'),
      /** The lifetime of the refresh token, in `unit`, where the answer tells; goes before `refreshTokenDays`. */
      refreshExpiresIn: bodyPath.default('refresh_token_expires_in'),
      /** Scopes between spaces or commas, or a list. */
      scope: bodyPath.default('scope'),
      /** A truthy value here is an error, also inside a success status. */
      error: bodyPath.default('error'),
      /** What the app says instead of `invalid_grant`: the code or refresh token is no longer good. */
      invalidGrant: z.array(z.string().min(1)).default([]),
    })
    .prefault({}),
  /** Lifetime of access tokens where the answer names none. Left out: they are renewed when the app refuses one. */
  accessTokenSeconds: z.int().min(60).optional(),
  /** Values of the token answer or the redirect that later requests need: instance addresses, tenant ids. */
  capture: z
    .record(
      fieldName,
      z.strictObject({
        from: oauthPlace,
        format: z.enum(['text', 'subdomain', 'host', 'origin']).default('text'),
        required: z.boolean().default(true),
      }),
    )
    .default({}),
  /** A GET right after the grant, for what the grant does not tell. Templates may name `{accessToken}` too. */
  lookup: z
    .strictObject({
      url: template,
      headers: templates.default({ Authorization: 'Bearer {accessToken}' }),
      /** JSONata over the answer; `lookup:` paths lead into its value: `$[tenantType = "ORGANISATION"][0]`. */
      map: z.string().min(1).optional(),
    })
    .optional(),
  /** The account behind the tokens, where the grant or its `lookup` tells; else the probe's. */
  account: z.strictObject({ id: oauthPlace, name: oauthPlace.optional() }).optional(),
  /** Default: `Authorization: Bearer {accessToken}`. */
  apply: apply.optional(),
  /** True where a value of this scheme was found in no source that can be named. */
  unverified: z.literal(true).optional(),
};

export const authentication = z.discriminatedUnion('type', [
  /** `Authorization: Bearer {token}`; brings the field `token`. */
  z.strictObject({ type: z.literal('bearer'), ...scheme }),
  /** HTTP Basic; brings `username` and `password` unless `basic` composes them from other fields. */
  z.strictObject({
    type: z.literal('basic'),
    ...scheme,
    basic: z.strictObject({ username: template, password: z.string().max(2000) }).optional(),
  }),
  /** One key at one place; brings the field `apiKey`. */
  z.strictObject({
    type: z.literal('api_key'),
    ...scheme,
    in: z.enum(['header', 'query', 'body']),
    name: z.string().min(1),
    prefix: z.string().default(''),
  }),
  /** Several fields, placed by templates, signed where the app asks for it. */
  z.strictObject({ type: z.literal('custom'), ...scheme, apply: apply.optional(), sign: sign.optional() }),
  z.strictObject({
    /** Authorization code (RFC 6749 section 4.1). Fields and variables are asked for before the consent. */
    type: z.literal('oauth2'),
    ...scheme,
    ...oauthCommon,
    authorizeUrl: template,
    authorizeParams: templates.default({}),
    /** The parameter that carries the scopes; a few apps ask for another beside it: `user_scope`. */
    scopeParam: z.string().min(1).default('scope'),
    /** RFC 7636. `none` only for apps that refuse the parameters. */
    pkce: z.enum(['S256', 'none']).default('S256'),
    /** The `iss` that the app sends back (RFC 9207); what else arrives there is refused. */
    issuer: template.optional(),
    /** Where tokens are renewed, if not at `tokenUrl`. */
    refreshUrl: template.optional(),
    refreshParams: templates.default({}),
    /** An HMAC under the client secret in the redirect back, over its other parameters, sorted by name and written as
     *  a form. Whoever did not sign it gets no code in. */
    callbackSignature: z
      .strictObject({
        param: z.string().min(1),
        algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
        encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
      })
      .optional(),
    /** Parameters of the redirect back that the request for tokens repeats as they came: `[scope, context]`. */
    callbackParams: z.array(z.string().min(1)).default([]),
    /** Days after which an unused refresh token dies; it is renewed well before. */
    refreshTokenDays: z.number().positive().max(3650).optional(),
    /** RFC 7009. `token`: which one is sent; revoking the refresh token ends both at most apps. `none`: the app goes
     *  by what `params` says. */
    revocation: z
      .strictObject({
        /** May hold `{token}`, for apps that want it in the path. */
        url: template,
        token: z.enum(['refresh', 'access', 'none']).default('refresh'),
        /** `DELETE` and `json` are deviations of single apps. */
        method: z.enum(['POST', 'DELETE', 'GET']).default('POST'),
        request: z.enum(['form', 'json', 'query']).default('form'),
        /** The name of the parameter; with `bearer` the token travels in the Authorization header. */
        param: z.string().min(1).default('token'),
        clientAuthentication: z.enum(['basic', 'body', 'none', 'bearer']).optional(),
        /** Sent beside it. Here alone templates may name `{clientSecret}` and captured values too. */
        params: templates.default({}),
        headers: templates.default({}),
      })
      .optional(),
  }),
  z.strictObject({
    /** Client credentials (RFC 6749 section 4.4); brings `clientId` and `clientSecret`, which are the user's own. */
    type: z.literal('oauth2_client_credentials'),
    ...scheme,
    ...oauthCommon,
  }),
  /** Nothing to store: actions run without a credential. */
  z.strictObject({ type: z.literal('none') }),
]);
/** The types of schemes that a file may name. */
export const schemeTypes = authentication.options.map((scheme) => scheme.shape.type.value);
export type Authentication = z.infer<typeof authentication>;
export type Apply = z.infer<typeof apply>;
/** A scheme whose credential holds tokens that are fetched and renewed. */
export type OAuth = Extract<Authentication, { type: 'oauth2' | 'oauth2_client_credentials' }>;
