import { z } from 'zod';
import { errors } from './errors-format.ts';
import { answerPlace, bodyPath, condition, fieldName, template, text } from './format-parts.ts';
import { before, each } from './reads-format.ts';
import { unified, webhooks } from './events-format.ts';
import { authentication, fields, schemeTypes, templates } from './schemes.ts';

export type { Apply, Authentication, CredentialField, OAuth, Sign } from './schemes.ts';

/*
 * The connector file: everything that differs between apps is a field here, and a connector holds no code.
 * Objects are strict: a misspelt member is a fault with its path. Types of connectors are inferred from this file.
 *
 * Templates: `{name}` in a string is replaced by a value. Which names exist depends on the place: credential fields
 * and variables in `baseUrl`, `headers`, `apply` and `sign`; action parameters in a path.
 */

/** A JSON Schema 2020-12 object, kept as written. Checked when the catalogue compiles it. */
export type JsonSchema = { [keyword: string]: unknown };
const jsonSchema: z.ZodType<JsonSchema> = z.record(z.string(), z.unknown());

// --- paging ----------------------------------------------------------------------------------------------------

const pagingCommon = {
  /** Where paging parameters are sent. `body`: members of the JSON body or GraphQL variables. `compose`: not by
   *  themselves; the clauses of `compose` name them. */
  in: z.enum(['query', 'body', 'compose']).default('query'),
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
  z.strictObject({
    style: z.literal('offset'),
    ...pagingCommon,
    offsetParam: z.string().min(1),
    /** The offset of the first record. */
    firstOffset: z.int().min(0).max(1).default(0),
  }),
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
    /** Where later pages are asked for, with nothing but the cursor: `/files/list_folder/continue`. */
    nextPath: z
      .string()
      .regex(/^\/[\w./-]+$/, 'must be a path below the base URL')
      .optional(),
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

const rateLimit = z.strictObject({
  /** Calls per window and credential. */
  requests: z.int().min(1),
  perSeconds: z.number().positive().max(86_400),
  concurrency: z.int().min(1).optional(),
});

/** How a query language writes a quote inside of quotes. `backslash`: \' and \\ for a backslash. `double`: ''. */
const escape = z.enum(['backslash', 'double']);
export type Escape = z.infer<typeof escape>;

/** `related` (RFC 2387): the members as JSON, and after them a file, which is the part `content` (text) or `base64` of
 *  the media type in the part `contentType`. */
const bodyType = z.enum(['json', 'form', 'multipart', 'text', 'related']);

// --- actions ---------------------------------------------------------------------------------------------------

/**
 * A parameter: a JSON Schema, and beside its keywords `required: true` (it must be given), `as` (its name on the
 * wire; a dotted name nests in a body, and in a header that is JSON), `style` (an array or object in a query or form: `comma` a,b · `repeat`
 * x=a&x=b · `brackets` x[]=a, x[k]=v · `json` x={"k":1}), `quote` (text put between quotes and escaped for a query language),
 * `spread: true` (an object of the body, whose members become members of the body) and `encode: base64` (a text of the body
 * that the app wants as the base64 of its UTF-8 bytes) and `prefix` (a text of the body that is put before the value, such
 * as `gid://shopify/Order/`).
 */
const parameter = z
  .looseObject({
    required: z.union([z.boolean(), z.array(z.string())]).optional(),
    as: z.string().min(1).optional(),
    style: z.enum(['comma', 'repeat', 'brackets', 'indices', 'json']).optional(),
    quote: z.enum(['single', 'double']).optional(),
    spread: z.literal(true).optional(),
    encode: z.enum(['base64']).optional(),
    prefix: z.string().min(1).max(200).optional(),
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

/**
 * Part of a text in a query language: `Email = '{email}'`. Left out when a parameter that it names is not given. What
 * stands between quotes is escaped for them as `escape` says; elsewhere stand numbers, booleans, enums and texts with a
 * `pattern` alone. A group joins those of its clauses that are left, and puts a text before them.
 */
const clause = z.union([
  z.string().min(1).max(2000),
  z.strictObject({
    before: z.string().max(100).default(''),
    join: z.string().min(1).max(100),
    all: z.array(z.string().min(1).max(2000)).min(1),
  }),
]);
export type Clause = z.infer<typeof clause>;

export const effect = z.enum(['read', 'write', 'destructive']);

/** `{parameter: status, in: [VOIDED, DELETED], effect: destructive}`. */
const effectCondition = condition.extend({ effect });

const schemeType = z.enum(schemeTypes);
const scopeName = z.string().min(1).max(300);

const response = z.strictObject({
  /** Path of the value, or of the list of records, in the body. */
  data: bodyPath.default(''),
  /** For apps that leave the place of an empty list out: all members that such an answer may have (`[]`: it is `{}`).
   *  Any other answer without the place is a failure of the app, since a notice of maintenance is no empty list. */
  whenEmpty: z.array(z.string().min(1)).optional(),
  /** GraphQL: an answer that holds data counts as success although it holds `errors` too. Without it a list of
   *  errors that is not empty is a failure. */
  partial: z.literal(true).optional(),
  /** JSONata over that value (each record of a list); undefined members vanish. Source: docs.jsonata.org */
  map: z.string().optional(),
  /** JSON Schema of the value (of one record for a list). */
  schema: jsonSchema.optional(),
  /** `file`: whatever comes is the content of a file, as {contentType, size, text}, or base64 where it is no text.
   *  `content`: the app answers in the content of MCP, {content: [blocks], structuredContent?, isError?} or
   *  {messages} of a prompt; or with {inputRequests, requestState?}, questions to the client, whose answers come in the
   *  next call's body as {inputResponses, requestState}. */
  body: z.enum(['json', 'file', 'content']).default('json'),
  /** `events`: a slow answer may come as text/event-stream, whose event `result` is the body. The events before it go
   *  on to the caller: `progress` ({progress, total?, message?}), `log` ({level, logger?, data}) and `changed`
   *  ({lists: [tools | resources | prompts]}) and `wait` ({}), which says that it will take a while: a client of a session
   *  is let go, and comes again for the answer. */
  stream: z.literal('events').optional(),
});

const action = z.strictObject({
  name: text(80).optional(),
  /** What it does, for a person and for a model that chooses among actions. */
  description: text(1000),
  /** Default: GET and HEAD read, DELETE destructive, others write. */
  effect: effect.optional(),
  /** Calls with these values of a parameter have another effect. The gravest that fits counts. */
  effectWhen: z.array(effectCondition).default([]),
  /** The schemes whose credentials can do this, where not all can. */
  authentication: z.array(schemeType).min(1).optional(),
  /** OAuth scopes that this needs, all of them; of a list inside it one is enough. */
  scopes: z.array(z.union([scopeName, z.array(scopeName).min(1)])).default([]),
  /** `GET /customers/{customerId}`: below the base URL. A path parameter is one segment. */
  request: z
    .string()
    .regex(
      /^(GET|HEAD|POST|PUT|PATCH|DELETE) \/\S*$/,
      'must be a method and a path: GET /customers/{customerId}',
    ),
  /** For apps that keep some things at another address than the file's `baseUrl`; the credential goes there too. */
  baseUrl: template.optional(),
  path: parameters,
  query: parameters,
  headers: parameters,
  body: parameters,
  bodyType: bodyType.optional(),
  /** What parameters ask of each other: keywords of the input's schema beside its properties. Some models take none
   *  of them in a tool. */
  rules: z
    .partialRecord(
      z.enum(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired']),
      z.json(),
    )
    .optional(),
  /** Parameters that are not sent by themselves: what `compose`, `email` and a `related` body are made of, and what
   *  `before` and `each` go by. */
  parts: parameters,
  /** The parts from, to, cc, bcc, replyTo, subject, text, html, inReplyTo, references and attachments become a message
   *  (RFC 5322), which is put into the body: `{as: message.raw}`. */
  email: z
    .strictObject({
      as: z.string().min(1),
      encoding: z.enum(['base64url', 'base64', 'text']).default('base64url'),
    })
    .optional(),
  /** Query parameters, or variables of `graphql`, in a query language, by their name on the wire; see `clause`. The clauses stand one after the
   *  other with blanks between them. */
  compose: z.record(z.string().min(1), z.array(clause).min(1)).default({}),
  /** How the query language writes a quote inside of quotes, if not as the file's `escape` says. */
  escape: escape.optional(),
  /** The body's members are put under this name: `customer` sends {"customer": {...}}, `customers[]` a list of one,
   *  {"customers": [{...}]}; `[]` is such a list by itself: [{...}]. */
  wrap: z.string().min(1).optional(),
  /** A GraphQL document. The parameters of `body` become its variables. */
  graphql: z.string().min(1).optional(),
  /** Sent with every call of this action, never shown to the caller. Headers may name credential fields, for actions
   *  that need another key than the rest; a header whose field was left empty is not sent. */
  fixed: z
    .strictObject({
      query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
      headers: templates.default({}),
      body: z.record(z.string(), z.unknown()).default({}),
    })
    .optional(),
  /** The name of a paging of this file, or one written out. An action with paging is a list action. */
  paging: z.union([z.string(), paging]).optional(),
  response: response.prefault({}),
  /** Reads whose values fill parameters before the call: an answer to a mail takes the thread of the mail. */
  before: before.optional(),
  /** A list whose records are completed by a read for each: for apps whose lists give ids alone. */
  each: each.optional(),
  /** The member of the body by which the app recognises a repeated call: it is filled in here, beside what `wrap`
   *  wraps, and makes the call safe to retry. */
  idempotencyParam: z.string().min(1).optional(),
  /** Used by `webhooks`, `unified`, `before` and `each` of this file alone. Callers do not see it and cannot call it. */
  internal: z.boolean().default(false),
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
    .record(
      fieldName,
      z.strictObject({
        description: text(300),
        required: z.boolean().default(false),
        /** Proposed while a person types. */
        values: z.array(z.string().min(1).max(200)).max(1000).default([]),
      }),
    )
    .default({}),
  /** The message of the user; `{name}` is an argument. */
  text: text(4000).optional(),
  /** The action that gives the messages instead, with the arguments as its input; its `response.body` is `content`. */
  action: z.string().optional(),
});

/** A resource of MCP. Its address is its own; `{name}` in it is a parameter of the action: `shop://orders/{orderId}`. */
const resource = z.strictObject({
  uri: z
    .string()
    .max(500)
    .regex(/^(?!svc:)[a-z][a-z0-9+.-]*:\/\/[^\s{}]*(\{[a-zA-Z_][a-zA-Z0-9_]*\}[^\s{}]*)*$/, {
      message: 'must be an address such as shop://orders/{orderId}, and not begin with svc:',
    }),
  title: text(80).optional(),
  description: text(500),
  mimeType: z.string().max(100).optional(),
  /** The read action that gives it; its `response.body` is `file`. */
  action: z.string(),
});
export type ResourceDefinition = z.infer<typeof resource>;

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
  /** How the app's query language writes a quote inside of quotes. Needed where `quote` or a quoted `compose` is. */
  escape: escape.optional(),
  authentication: z.array(authentication).min(1),
  /** The read action, callable without input, that shows whether a credential works. */
  probe: z.string().optional(),
  /** Paths in the probe's value that identify the account. */
  account: z.strictObject({ id: bodyPath, name: bodyPath.optional() }).optional(),

  /** Pagings by name, for `paging: <name>` in actions. */
  paging: z.record(fieldName, paging).default({}),
  errors: errors.prefault({}),
  rateLimit: rateLimit.optional(),
  /** The header by which the app recognises a repeated write; makes writes safe to retry. */
  idempotencyHeader: z.string().optional(),
  /** The same as a query parameter. */
  idempotencyQuery: z.string().optional(),
  /** The app's header that says when to come back, if not Retry-After; seconds, or an epoch in seconds. */
  retryAfterHeader: z.string().optional(),
  /** What small numbers in that header count. */
  retryAfterUnit: z.enum(['seconds', 'milliseconds']).default('seconds'),
  timeoutSeconds: z.int().min(1).max(300).default(30),

  /** Schemas used in several places: `{$ref: '#/schemas/customer'}`. */
  schemas: z.record(fieldName, jsonSchema).default({}),
  actions: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/, 'must be 1 to 64 of a-z, 0-9 and _'), action),
  /** `bare`: tools and prompts have the names of this file, without the connector's id before them. */
  toolNames: z.enum(['prefixed', 'bare']).default('prefixed'),
  prompts: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/), prompt).default({}),
  resources: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/), resource).default({}),
  /** Unified models of this app, by scope. */
  unified: unified.default({}),
  /** How the app tells of changes by itself. */
  webhooks: webhooks.optional(),
});
export type ConnectorFile = z.infer<typeof connectorFile>;
