import { z } from 'zod';
import { derived } from './derived-format.ts';
import { exchangeSteps, expires } from './exchange-format.ts';
import { basic, bodyPath, fieldName, template, text } from './format-parts.ts';
import { sign, templates } from './sign-format.ts';

/* How an app authenticates: the schemes of a connector file, and the fields of their forms. */

const credentialField = z.strictObject({
  /** Label of the field in the form. */
  title: text(80),
  /** Help below the field. */
  description: text(500).optional(),
  /** Secret fields are masked in forms and never read back. */
  secret: z.boolean().default(false),
  /** Whether the form can be sent without it. */
  required: z.boolean().default(true),
  /** `subdomain`: one DNS label. `host`: a host name. `origin`: scheme, host and port, optionally with a path. */
  format: z.enum(['text', 'subdomain', 'host', 'origin', 'email', 'multiline']).default('text'),
  /** A regular expression (RE2) that the value must match. */
  pattern: z.string().optional(),
  /** The values to choose from. */
  enum: z.array(z.string()).min(1).optional(),
  /** The value where the user gives none. */
  default: z.string().optional(),
  /** A value that the form shows as an example. */
  example: z.string().optional(),
});
export type CredentialField = z.infer<typeof credentialField>;
export const fields = z.record(fieldName, credentialField);

const scheme = {
  /** Name of this way to authenticate, for the form. */
  title: text(80).optional(),
  /** Page that shows a person where to find the values of the form. */
  docsUrl: z.url().optional(),
  /** Fields of this scheme. The implicit fields of `bearer`, `basic` and `api_key` may be described here too. */
  fields: fields.default({}),
  /** The read action that shows whether a credential of this scheme works, where it cannot call the file's `probe`. */
  probe: z.string().optional(),
  /** Values that are part of a field, such as a region inside a key. */
  derived,
};
/** How the credential is put into each request. Templates name fields, variables and fetched tokens. */
const apply = z.strictObject({
  /** Headers by name; values are templates. */
  headers: templates.default({}),
  /** Query parameters by name; values are templates. */
  query: templates.default({}),
  /** Members added to a JSON or form body. */
  body: templates.default({}),
  /** User name and password of HTTP Basic, as templates. */
  basic: basic.optional(),
});

/**
 * Place of a value of OAuth: `token:team.id` in the token answer, `callback:realmId` in the redirect back,
 * `idToken:email` in the claims of its ID token, `lookup:id` in the answer of `lookup`.
 */
const oauthPlace = z
  .string()
  .regex(
    /^(token|callback|idToken|lookup):.+$/,
    'must be token:<path>, callback:<parameter>, idToken:<claim> or lookup:<path>',
  );

/** Members that both grants share. Templates may name fields and variables, and `{clientId}`. */
const oauthCommon = {
  /** Address of the token endpoint. */
  tokenUrl: template,
  /** Requested when the OAuth app names none. */
  scopes: z.array(z.string().min(1)).default([]),
  /** Text between two scopes in a request. */
  scopeSeparator: z.string().min(1).default(' '),
  /** How the client authenticates (RFC 6749 section 2.3.1). */
  clientAuthentication: z.enum(['basic', 'body', 'none']).default('body'),
  /** Encoding of token requests; the standard uses `form`. */
  tokenRequest: z.enum(['form', 'json', 'query']).default('form'),
  /** Added to each request for tokens. */
  tokenParams: templates.default({}),
  /** Headers added to each request for tokens. */
  tokenHeaders: templates.default({}),
  /** Names that differ from the standard's. A form-encoded answer is accepted, and numbers may be strings. */
  tokenAnswer: z
    .strictObject({
      accessToken: bodyPath.default('access_token'),
      refreshToken: bodyPath.default('refresh_token'),
      /** A lifetime from now, in `unit`. */
      expiresIn: bodyPath.default('expires_in'),
      /** A moment: epoch seconds or milliseconds, or ISO 8601. Read where `expiresIn` has no value. */
      expiresAt: bodyPath.default('expires_at'),
      /** Unit of `expiresIn` and `refreshExpiresIn`. */
      unit: z.enum(['seconds', 'milliseconds']).default('seconds'),
      /**
       * Lifetime of the refresh token, in `unit`, where the answer has it; takes precedence over `refreshTokenDays`.
       */
      refreshExpiresIn: bodyPath.default('refresh_token_expires_in'),
      /** Scopes between spaces or commas, or a list. */
      scope: bodyPath.default('scope'),
      /** A truthy value here is an error, also inside a success status. */
      error: bodyPath.default('error'),
      /** The app's codes in place of `invalid_grant`: the code or refresh token is no longer valid. */
      invalidGrant: z.array(z.string().min(1)).default([]),
    })
    .prefault({}),
  /** Lifetime of access tokens where the answer names none. Default: they are renewed when the app refuses one. */
  accessTokenSeconds: z.int().min(60).optional(),
  /** Values of the token answer or the redirect that later requests need: instance addresses, tenant ids. */
  capture: z
    .record(
      fieldName,
      z.strictObject({
        /** Place of the value: `token:`, `callback:`, `idToken:` or `lookup:`, and a path. */
        from: oauthPlace,
        /** Form of the value; `host`, `subdomain` and `origin` may be part of an address. */
        format: z.enum(['text', 'subdomain', 'host', 'origin']).default('text'),
        /** Whether the grant fails without it. */
        required: z.boolean().default(true),
      }),
    )
    .default({}),
  /**
   * A GET right after the grant, for values that the grant does not return. Templates may also name `{accessToken}`.
   */
  lookup: z
    .strictObject({
      /** Address of the request. */
      url: template,
      /** Headers of the request. */
      headers: templates.default({ Authorization: 'Bearer {accessToken}' }),
      /** JSONata over the answer; `lookup:` paths lead into its value: `$[tenantType = "ORGANISATION"][0]`. */
      map: z.string().min(1).optional(),
      /**
       * For `oauth2` whose consent reaches several accounts, such as sites or companies. The value of the lookup is then
       * a list with an entry for each account, and the person chooses one. `lookup:` paths lead into the chosen entry.
       */
      choose: z
        .strictObject({
          /** Place of the account's id in an entry. */
          id: bodyPath,
          /** Place of the name that the person sees. */
          label: bodyPath,
          /** Place of a second line, such as an address. */
          detail: bodyPath.optional(),
        })
        .optional(),
    })
    .optional(),
  /**
   * The account of the tokens, where the grant or its `lookup` names it; else the chosen one, else the probe's.
   */
  account: z.strictObject({ id: oauthPlace, name: oauthPlace.optional() }).optional(),
  /** Default: `Authorization: Bearer {accessToken}`. */
  apply: apply.optional(),
  /** True when a value of this scheme has no documented source. */
  unverified: z.literal(true).optional(),
};

/** How a credential of a scheme is put into a request, and how its tokens are fetched. */
export const authentication = z.discriminatedUnion('type', [
  /** `Authorization: Bearer {token}`; has the field `token`. */
  z.strictObject({ type: z.literal('bearer'), ...scheme }),
  /** HTTP Basic; has `username` and `password` unless `basic` composes them from other fields. */
  z.strictObject({
    type: z.literal('basic'),
    ...scheme,
    /** User name and password of HTTP Basic, composed of other fields. */
    basic: basic.optional(),
  }),
  /** One key at one place; has the field `apiKey`. */
  z.strictObject({
    type: z.literal('api_key'),
    ...scheme,
    /** The place of the key. */
    in: z.enum(['header', 'query', 'body']),
    /** Name of the header, query parameter or member. */
    name: z.string().min(1),
    /** Text before the key: `Token `. */
    prefix: z.string().default(''),
  }),
  /** Several fields, placed by templates, signed where the app requires it. */
  z.strictObject({
    type: z.literal('custom'),
    ...scheme,
    apply: apply.optional(),
    /** A signature of each request. */
    sign: sign.optional(),
  }),
  z.strictObject({
    /** Authorization code (RFC 6749 section 4.1). The form asks for fields and variables before the consent. */
    type: z.literal('oauth2'),
    ...scheme,
    ...oauthCommon,
    /** Address of the consent page. */
    authorizeUrl: template,
    /** Parameters added to that address. */
    authorizeParams: templates.default({}),
    /** The parameter for the scopes; a few apps use another one: `user_scope`. */
    scopeParam: z.string().min(1).default('scope'),
    /** RFC 7636. `none` only for apps that refuse the parameters. */
    pkce: z.enum(['S256', 'none']).default('S256'),
    /** The `iss` of the redirect back (RFC 9207); another issuer is refused, and a redirect without `iss`. */
    issuer: template.optional(),
    /** Address of token renewals, if not `tokenUrl`. */
    refreshUrl: template.optional(),
    /** Parameters added to renewals. */
    refreshParams: templates.default({}),
    /**
     * An HMAC under the client secret in the redirect back. It covers the other parameters, sorted by name and
     * form-encoded. A code without a valid signature is refused.
     */
    callbackSignature: z
      .strictObject({
        /** The parameter that holds the signature. */
        param: z.string().min(1),
        /** Hash function of the HMAC. */
        algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
        /** Encoding of the signature. */
        encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
      })
      .optional(),
    /** Parameters of the redirect back that the token request repeats unchanged: `[scope, context]`. */
    callbackParams: z.array(z.string().min(1)).default([]),
    /** Days after which an unused refresh token expires; it is renewed well before. */
    refreshTokenDays: z.number().positive().max(3650).optional(),
    /**
     * RFC 7009. `token`: the token to send; revoking the refresh token ends both at most apps. `none`: the app only
     * reads `params`.
     */
    revocation: z
      .strictObject({
        /** May contain `{token}`, for apps that expect it in the path. */
        url: template,
        /** The token to send. */
        token: z.enum(['refresh', 'access', 'none']).default('refresh'),
        /** `DELETE` and `json` are deviations of single apps. */
        method: z.enum(['POST', 'DELETE', 'GET']).default('POST'),
        /** Encoding of the request. */
        request: z.enum(['form', 'json', 'query']).default('form'),
        /** The name of the parameter; with `bearer` the token is sent in the Authorization header. */
        param: z.string().min(1).default('token'),
        /** How the client authenticates. Default: as for the token endpoint. */
        clientAuthentication: z.enum(['basic', 'body', 'none', 'bearer']).optional(),
        /** Sent together with it. Only here templates may also name `{clientSecret}` and captured values. */
        params: templates.default({}),
        /** Headers of the request. */
        headers: templates.default({}),
      })
      .optional(),
  }),
  z.strictObject({
    /** Client credentials (RFC 6749 section 4.4); has `clientId` and `clientSecret`, which belong to the user. */
    type: z.literal('oauth2_client_credentials'),
    ...scheme,
    ...oauthCommon,
  }),
  z.strictObject({
    /**
     * Requests that exchange the fields for a token: session logins, JWT bearer grants, client assertions, tokens of
     * installations. They run again when the token expires or is refused.
     */
    type: z.literal('token_exchange'),
    ...scheme,
    /** One to five requests, made one after the other. */
    steps: exchangeSteps,
    expires,
    /** Default: `Authorization: Bearer {accessToken}`. */
    apply: apply.optional(),
    /** True when a value of this scheme has no documented source. */
    unverified: z.literal(true).optional(),
  }),
  /** No credential: actions run without one. */
  z.strictObject({ type: z.literal('none') }),
]);
/** The types of schemes that a file may name. */
export const schemeTypes = authentication.options.map((scheme) => scheme.shape.type.value);
export type Authentication = z.infer<typeof authentication>;
export type Apply = z.infer<typeof apply>;
/** Steps that exchange fields for a token. */
export type TokenExchange = Extract<Authentication, { type: 'token_exchange' }>;
/** A scheme whose tokens come from a grant of OAuth. */
export type OAuth = Extract<Authentication, { type: 'oauth2' | 'oauth2_client_credentials' }>;
/** A scheme whose credential holds tokens that are fetched and renewed. */
export type TokenScheme = OAuth | TokenExchange;
