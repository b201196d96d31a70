import { z } from 'zod';

/*
 * The connector file: everything that differs between apps is a field here, and a connector holds no code.
 * Objects are strict: a misspelt member is a fault with its path. Types of connectors are inferred from this file.
 *
 * Templates: `{name}` in a string is replaced by a value. Which names exist depends on the place: credential fields
 * and variables in `baseUrl`, `headers`, `apply` and `sign`; action parameters in a path.
 */

const template = z.string().min(1).max(2000);
/** A dotted path into a JSON body: `data.items`, `errors.0.message`. The empty string is the body itself. */
const bodyPath = z.string().max(200);
/** Where in an answer a value is: `body:meta.total`, `header:X-Total-Count`, `last:id` (field of the last record). */
const answerPlace = z
  .string()
  .regex(/^(body|header|last):.+$/, 'must be body:<path>, header:<name> or last:<path>');
const fieldName = z
  .string()
  .regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, 'must be a name such as apiKey or per_page');
const HIDDEN =
  // oxlint-disable-next-line no-control-regex -- what it finds is the point
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]|<!--/u;
/** A sentence for people and models: no control, zero-width or bidirectional characters, no comments in it. */
const text = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((s) => !HIDDEN.test(s), 'must not hold hidden characters or HTML comments');

/** A JSON Schema 2020-12 object, kept as written. Checked when the catalogue compiles it. */
export type JsonSchema = { [keyword: string]: unknown };
const jsonSchema: z.ZodType<JsonSchema> = z.record(z.string(), z.unknown());

// --- credentials -----------------------------------------------------------------------------------------------

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
const fields = z.record(fieldName, credentialField);

const templates = z.record(z.string().min(1), template);

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
    /** A shared secret for HS*, else a private key as PEM (PKCS #8). */
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

const authentication = z.discriminatedUnion('type', [
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
  /** Nothing to store: actions run without a credential. */
  z.strictObject({ type: z.literal('none') }),
]);
export type Authentication = z.infer<typeof authentication>;
export type Apply = z.infer<typeof apply>;

// --- paging ----------------------------------------------------------------------------------------------------

const pagingCommon = {
  /** Where paging parameters are sent. `body`: members of the JSON body or GraphQL variables. */
  in: z.enum(['query', 'body']).default('query'),
  /** Parameter that carries the page size; left out for apps with a fixed size. */
  limitParam: z.string().min(1).optional(),
  maxLimit: z.int().min(1).max(1000).default(50),
  /** Size of a page where the app has no size parameter, else what a list asks for when the caller says nothing. */
  defaultLimit: z.int().min(1).max(1000).optional(),
  /** The number of all records. */
  total: answerPlace.optional(),
  /** A truthy value here says that more records exist. */
  hasMore: answerPlace.optional(),
};
const paging = z.discriminatedUnion('style', [
  z.strictObject({ style: z.literal('offset'), ...pagingCommon, offsetParam: z.string().min(1) }),
  z.strictObject({
    style: z.literal('page'),
    ...pagingCommon,
    pageParam: z.string().min(1),
    firstPage: z.int().min(0).max(1).default(1),
    totalPages: answerPlace.optional(),
  }),
  /** `next` is an opaque cursor in the answer; absent, null or empty at the end. */
  z.strictObject({
    style: z.literal('cursor'),
    ...pagingCommon,
    cursorParam: z.string().min(1),
    next: answerPlace,
  }),
  /** The next page begins after a field of the last record. */
  z.strictObject({
    style: z.literal('keyset'),
    ...pagingCommon,
    cursorParam: z.string().min(1),
    field: z.string().min(1),
  }),
  /** `next` is a whole address: a Link header with rel=next, or a URL in the body. It must keep the origin. */
  z.strictObject({ style: z.literal('link'), ...pagingCommon, next: answerPlace.default('header:Link') }),
  /** The app answers with everything at once; the page is cut here. */
  z.strictObject({ style: z.literal('none'), maxLimit: z.int().min(1).max(1000).default(50) }),
]);
export type Paging = z.infer<typeof paging>;

// --- answers ---------------------------------------------------------------------------------------------------

const errorKind = z.enum([
  'credential_invalid',
  'upstream_rate_limited',
  'upstream_rejected',
  'upstream_failed',
]);
const errors = z.strictObject({
  /** Paths tried in order for the sentence that the app gives. */
  message: z.array(bodyPath).default([]),
  /** Path of the app's own error code. */
  code: bodyPath.optional(),
  /** Errors inside a success status: any of these conditions. Without `equals`: the path holds a truthy value. */
  when: z
    .array(
      z.strictObject({ path: bodyPath, equals: z.union([z.string(), z.number(), z.boolean()]).optional() }),
    )
    .default([]),
  /** The app's code → what it means. Statuses decide where nothing is listed. */
  codes: z.record(z.string(), errorKind).default({}),
  /** An HTTP status → what it means where that differs from the usual: `{403: upstream_rate_limited}`. */
  statuses: z.record(z.string().regex(/^[1-5]\d\d$/), errorKind).default({}),
});
export type UpstreamErrors = z.infer<typeof errors>;

const rateLimit = z.strictObject({
  /** Calls per window and credential. */
  requests: z.int().min(1),
  perSeconds: z.number().positive().max(86_400),
  concurrency: z.int().min(1).optional(),
});

const bodyType = z.enum(['json', 'form', 'multipart', 'text']);

// --- actions ---------------------------------------------------------------------------------------------------

/**
 * A parameter: a JSON Schema, and beside its keywords `required: true` (it must be given), `as` (its name on the
 * wire; a dotted name nests in a body), `style` (an array or object in a query or form: `comma` a,b · `repeat`
 * x=a&x=b · `brackets` x[]=a, x[k]=v) and `quote` (text put between quotes and escaped for a query language).
 */
const parameter = z
  .looseObject({
    required: z.union([z.boolean(), z.array(z.string())]).optional(),
    as: z.string().min(1).optional(),
    style: z.enum(['comma', 'repeat', 'brackets', 'indices']).optional(),
    quote: z.enum(['single', 'double']).optional(),
    description: text(1000).optional(),
  })
  .refine(
    (p) =>
      p['type'] !== undefined ||
      p['$ref'] !== undefined ||
      p['enum'] !== undefined ||
      p['const'] !== undefined ||
      p['anyOf'] !== undefined ||
      p['oneOf'] !== undefined,
    {
      message: 'needs a type, enum, const, anyOf, oneOf or $ref',
    },
  );
export type Parameter = z.infer<typeof parameter>;
const parameters = z.record(fieldName, parameter).default({});

const response = z.strictObject({
  /** Path of the value, or of the list of records, in the body. */
  data: bodyPath.default(''),
  /** JSONata over that value (each record of a list); undefined members vanish. Source: docs.jsonata.org */
  map: z.string().optional(),
  /** JSON Schema of the value (of one record for a list). */
  schema: jsonSchema.optional(),
  /** `events`: a slow answer may come as text/event-stream, whose events `progress` ({progress, total?, message?})
   *  go on to the caller and whose event `result` is the body. */
  stream: z.literal('events').optional(),
});

const action = z.strictObject({
  name: text(80).optional(),
  /** What it does, for a person and for a model that chooses among actions. */
  description: text(1000),
  /** Default: GET and HEAD read, DELETE destructive, others write. */
  effect: z.enum(['read', 'write', 'destructive']).optional(),
  /** `GET /customers/{customerId}`: below the base URL. A path parameter is one segment. */
  request: z
    .string()
    .regex(
      /^(GET|HEAD|POST|PUT|PATCH|DELETE) \/\S*$/,
      'must be a method and a path: GET /customers/{customerId}',
    ),
  path: parameters,
  query: parameters,
  headers: parameters,
  body: parameters,
  bodyType: bodyType.optional(),
  /** The body's members are put under this name: `customer` sends {"customer": {...}}. */
  wrap: z.string().min(1).optional(),
  /** A GraphQL document. The parameters of `body` become its variables. */
  graphql: z.string().min(1).optional(),
  /** Sent with every call of this action, never shown to the caller. */
  fixed: z
    .strictObject({
      query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
      headers: z.record(z.string(), z.string()).default({}),
      body: z.record(z.string(), z.unknown()).default({}),
    })
    .optional(),
  /** The name of a paging of this file, or one written out. An action with paging is a list action. */
  paging: z.union([z.string(), paging]).optional(),
  response: response.default({ data: '' }),
  /** Repeating this call does no harm although its method may: it is retried like a GET. */
  idempotent: z.boolean().optional(),
  timeoutSeconds: z.int().min(1).max(300).optional(),
  /** Words that people use for this; searched beside name and description. */
  synonyms: z.array(text(60)).default([]),
});
export type ActionDefinition = z.infer<typeof action>;

const prompt = z.strictObject({
  title: text(80).optional(),
  description: text(500),
  arguments: z
    .record(fieldName, z.strictObject({ description: text(300), required: z.boolean().default(false) }))
    .default({}),
  /** The message of the user; `{name}` is an argument. */
  text: text(4000),
});

const source = z.strictObject({
  title: text(200),
  url: z.url().optional(),
  /** owner/name of a public repository, with the commit and the path that were read. */
  repository: z.string().optional(),
  commit: z.string().optional(),
  path: z.string().optional(),
  /** The day it was read, YYYY-MM-DD. */
  read: z.iso.date(),
});

/** The whole file. */
export const connectorFile = z.strictObject({
  /** An editor's pointer to the JSON Schema of this format. */
  $schema: z.string().optional(),
  id: z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -'),
  name: text(60),
  description: text(500),
  categories: z.array(z.string().regex(/^[a-z0-9-]{1,32}$/)).min(1),
  website: z.url(),
  /** Background of the icon tile, #rrggbb. */
  color: z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/)
    .default('#475569'),
  /** What each fact was read from. */
  sources: z.array(source).min(1),

  /** An https address without trailing slash; `{name}` is a variable or a credential field that is not secret. */
  baseUrl: template,
  /** Asked for with every credential, whatever the scheme: shop names, hosts, API versions. */
  variables: fields.default({}),
  /** Sent with every request. */
  headers: templates.default({}),
  bodyType: bodyType.default('json'),
  authentication: z.array(authentication).min(1),
  /** The read action, callable without input, that shows whether a credential works. */
  probe: z.string().optional(),
  /** Paths in the probe's value that identify the account. */
  account: z.strictObject({ id: bodyPath, name: bodyPath.optional() }).optional(),

  /** Pagings by name, for `paging: <name>` in actions. */
  paging: z.record(fieldName, paging).default({}),
  errors: errors.default({ message: [], when: [], codes: {}, statuses: {} }),
  rateLimit: rateLimit.optional(),
  /** The header by which the app recognises a repeated write; makes writes safe to retry. */
  idempotencyHeader: z.string().optional(),
  /** The app's header that says when to come back, if not Retry-After; seconds, or an epoch in seconds. */
  retryAfterHeader: z.string().optional(),
  timeoutSeconds: z.int().min(1).max(300).default(30),

  /** Schemas used in several places: `{$ref: '#/schemas/customer'}`. */
  schemas: z.record(fieldName, jsonSchema).default({}),
  actions: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/, 'must be 1 to 64 of a-z, 0-9 and _'), action),
  prompts: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/), prompt).default({}),
});
export type ConnectorFile = z.infer<typeof connectorFile>;

/** One recorded exchange of `examples.yaml`, replayed by `connectors check` and by the tests. */
export const examplesFile = z.strictObject({
  examples: z.array(
    z.strictObject({
      action: z.string(),
      /** The scheme whose credential is used; the file's first when left out. */
      authentication: z.string().optional(),
      credential: z.record(z.string(), z.string()).default({}),
      input: z.record(z.string(), z.unknown()).default({}),
      /** What must be sent. The URL is whole, with its query. */
      request: z.strictObject({
        method: z.string(),
        url: z.string(),
        headers: z.record(z.string(), z.string()).default({}),
        body: z.unknown().optional(),
      }),
      response: z.strictObject({
        status: z.int().min(100).max(599),
        headers: z.record(z.string(), z.string()).default({}),
        body: z.unknown().optional(),
      }),
      /** What the caller gets: the value, or `{data, pagination}` for a list. Or the error. */
      output: z.unknown().optional(),
      error: z.strictObject({ code: z.string(), message: z.string().optional() }).optional(),
    }),
  ),
});
export type ExamplesFile = z.infer<typeof examplesFile>;
