import { z } from 'zod';
import { errors } from './errors-format.ts';
import { bodyPath, condition, fieldName, template, text } from './format-parts.ts';
import { budget, rateLimit } from './limits-format.ts';
import { paging } from './paging-format.ts';
import { parameter } from './parameter-format.ts';
import { prompt, resource } from './prompts-format.ts';
import { before, each } from './reads-format.ts';
import { protocol, remoteCall } from './remote-format.ts';
import { after } from './steps-format.ts';
import { undo } from './undo-format.ts';
import { eventSources, unified, webhooks } from './events-format.ts';
import { authentication, fields, schemeTypes } from './schemes.ts';
import { templates } from './sign-format.ts';

export type { Encode } from './encode-format.ts';
export type { Parameter } from './parameter-format.ts';
export type { Paging } from './paging-format.ts';
export type { ResourceDefinition } from './prompts-format.ts';
export type { Apply, Authentication, CredentialField, OAuth, TokenExchange, TokenScheme } from './schemes.ts';
export type { ExchangeStep } from './exchange-format.ts';
export type { Jwt, Sign } from './sign-format.ts';

/*
 * The connector file: everything that differs between apps is a field here, and a connector holds no code. Objects are
 * strict: a misspelt member is a fault with its path. Types of connectors are inferred from this file.
 * Templates: a value replaces `{name}` in a string. The place decides which names exist: credential fields and
 * variables in `baseUrl`, `headers`, `apply` and `sign`; action parameters in a path.
 */

/** A JSON Schema 2020-12 object, unchanged. It is checked when the catalogue compiles it. */
export type JsonSchema = { [keyword: string]: unknown };
const jsonSchema: z.ZodType<JsonSchema> = z.record(z.string(), z.unknown());

// --- answers ---------------------------------------------------------------------------------------------------

/** How a query language writes a quote inside of quotes. `backslash`: \' and \\ for a backslash. `double`: ''. */
const escape = z.enum(['backslash', 'double']);
export type Escape = z.infer<typeof escape>;

/**
 * `xml`: bodies are the document of the action's `xml`, and answers are XML.
 * `related` (RFC 2387): the members as JSON, followed by a file. The file is the part `content` (text) or `base64`,
 * with the media type in the part `contentType`; or the part `file` is a parameter of the format `binary`.
 * `binary`: the one parameter of the body is a file, and the body is its content.
 */
const bodyType = z.enum(['json', 'form', 'multipart', 'text', 'related', 'xml', 'binary']);

// --- actions ---------------------------------------------------------------------------------------------------

const parameters = z.record(fieldName, parameter).default({});

/**
 * Part of a text in a query language: `Email = '{email}'`. It is omitted when a parameter that it names is not given.
 * Text between quotes is escaped as `escape` says. Outside of quotes only numbers, booleans, enums and texts with a
 * `pattern` are allowed. A group joins its remaining clauses, and puts a text before them.
 */
const clause = z.union([
  z.string().min(1).max(2000),
  z.strictObject({
    /** Text before the clauses that remain. */
    before: z.string().max(100).default(''),
    /** Text between two clauses: ` AND `. */
    join: z.string().min(1).max(100),
    /** The clauses; each is omitted when a parameter that it names is not given. */
    all: z.array(z.string().min(1).max(2000)).min(1),
  }),
]);
export type Clause = z.infer<typeof clause>;

/** `read` changes nothing, `write` adds or changes, `destructive` deletes or cannot be undone. */
export const effect = z.enum(['read', 'write', 'destructive']);

/** A condition with the effect of its calls: `{parameter: status, in: [VOIDED, DELETED], effect: destructive}`. */
const effectCondition = condition.extend({ effect });

const schemeType = z.enum(schemeTypes);
/** The name of a scope at the app. */
const scopeName = z.string().min(1).max(300);

const response = z.strictObject({
  /** Path of the value, or of the list of records, in the body. */
  data: bodyPath.default(''),
  /**
   * For apps that omit an empty list: all members that such an answer may have (`[]`: the answer is `{}`). Any other
   * answer without the list is a failure of the app, such as a maintenance notice.
   */
  whenEmpty: z.array(z.string().min(1)).optional(),
  /**
   * For lists that are an object: its members are the records, and the name of each becomes this member of its
   * record. A member that is no object becomes `value`.
   */
  keyedBy: fieldName.optional(),
  /** For tables: the rows are lists of cells, which become members named by the columns. */
  columns: z
    .strictObject({
      /** Path of the list of columns in the body. */
      at: bodyPath,
      /** Path of a column's name in an entry of that list. Default: the entry is the name. */
      name: bodyPath.optional(),
      /** Path of the list of cells in a row. Default: the row is that list. */
      cells: bodyPath.default(''),
      /** Path of the value in a cell. Default: the cell is the value. */
      value: bodyPath.default(''),
    })
    .optional(),
  /**
   * GraphQL: an answer with data counts as success although it also has `errors`. Without it a list of errors that is
   * not empty is a failure.
   */
  partial: z.literal(true).optional(),
  /** JSONata over that value (each record of a list); undefined members are dropped. Source: docs.jsonata.org */
  map: z.string().optional(),
  /**
   * Headers of the answer that become members of the value, by the member's name: `{uploadUrl: Location}`. Not for
   * lists.
   */
  headers: z.record(fieldName, z.string().regex(/^[\w-]{1,100}$/)).default({}),
  /** JSON Schema of the value (of one record for a list). */
  schema: jsonSchema.optional(),
  /**
   * `xml`: elements become members without their prefix, attributes `@name`, repeated elements lists, and texts stay
   * texts. An action whose body type is `xml` answers in XML too.
   * `file`: any answer is the content of a file: {mediaType, size, text}, or {fileId, mediaType, size} where it is no
   * text or longer than 10 MiB. A call without a user gets {mediaType, size, base64}.
   * `content`: the app answers in the content of MCP, {content: [blocks], structuredContent?, isError?} or {messages}
   * of a prompt. It may also answer {inputRequests, requestState?}, which are questions to the client. The answers are
   * in the next call's body as {inputResponses, requestState}.
   */
  body: z.enum(['json', 'xml', 'file', 'content']).default('json'),
  /** Names of XML elements that are always lists, also where the answer has only one. */
  lists: z.array(z.string().min(1)).default([]),
  /**
   * `events`: a slow answer may be a text/event-stream, whose event `result` is the body. Earlier events go to the
   * caller: `progress` ({progress, total?, message?}), `log` ({level, logger?, data}), `changed` ({lists: [tools |
   * resources | prompts]}) and `wait` ({}). `wait` says that the answer will take a while, so the client of a session
   * is released and asks again for the answer.
   */
  stream: z.literal('events').optional(),
});

const action = z.strictObject({
  /** Title for people. Default: made from the id. */
  name: text(80).optional(),
  /** Description of the action, for a person and for a model that chooses among actions. */
  description: text(1000),
  /** Default: GET and HEAD read, DELETE destructive, others write. */
  effect: effect.optional(),
  /** Calls with these values of a parameter have another effect. If several conditions hold, the most severe effect counts. */
  effectWhen: z.array(effectCondition).default([]),
  /** The schemes whose credentials can run this action. Default: all schemes. */
  authentication: z.array(schemeType).min(1).optional(),
  /** OAuth scopes that this action needs. All of them are needed; of an inner list, one is enough. */
  scopes: z
    .array(z.union([scopeName, z.array(scopeName).min(1, 'must be text, or a list of at least one text')]))
    .default([]),
  /** Method and path below the base URL: `GET /customers/{customerId}`. A path parameter is one segment. */
  request: z
    .string()
    .regex(
      /^(GET|HEAD|POST|PUT|PATCH|DELETE) \/\S*$/,
      'must be a method and a path: GET /customers/{customerId}',
    ),
  /**
   * For apps that serve some actions at another address than the file's `baseUrl`; the credential is sent there too.
   */
  baseUrl: template.optional(),
  /** The request of MCP, for `protocol: mcp`. */
  mcp: remoteCall.optional(),
  /** JSON Schema of the whole input, for `protocol: mcp`, where the server describes its tools itself. */
  input: jsonSchema.optional(),
  /** Parameters of the path, by the names between its braces. */
  path: parameters,
  /** Parameters of the query. */
  query: parameters,
  /** Parameters that are headers. */
  headers: parameters,
  /** Cookies; the header `Cookie` holds them all, next to one of the credential. */
  cookies: parameters,
  /** Parameters of the body, and variables of `graphql`. */
  body: parameters,
  bodyType: bodyType.optional(),
  /**
   * Conditions between parameters: keywords of the input's schema next to its properties. Some models accept none of
   * them in a tool.
   */
  rules: z
    .partialRecord(
      z.enum(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired']),
      z.json(),
    )
    .optional(),
  /**
   * Parameters that are not sent directly: the inputs of `compose`, `email`, `bodyMap` and a `related` body, and of
   * `before` and `each`.
   */
  parts: parameters,
  /**
   * The parts from, to, cc, bcc, replyTo, subject, text, html, inReplyTo, references and attachments become a message
   * (RFC 5322), which is put into the body: `{as: message.raw}`.
   */
  email: z
    .strictObject({
      /** Path of the message in the body. */
      as: z.string().min(1),
      /** Encoding of the message. */
      encoding: z.enum(['base64url', 'base64', 'text']).default('base64url'),
    })
    .optional(),
  /**
   * Query parameters, or variables of `graphql`, in a query language, by their wire name; see `clause`. The clauses
   * are joined with spaces.
   */
  compose: z.record(z.string().min(1), z.array(clause).min(1)).default({}),
  /** How the query language writes a quote inside of quotes; default: the file's `escape`. */
  escape: escape.optional(),
  /**
   * Name that wraps the body's members: `customer` sends {"customer": {...}}, `customers[]` sends a list of one,
   * {"customers": [{...}]}, and `[]` sends only such a list: [{...}].
   */
  wrap: z.string().min(1).optional(),
  /**
   * JSONata that returns the members of the body, for bodies that `as`, `encode` and `wrap` cannot build. It reads
   * `input`, the caller's parameters, and `body`, the members that the file would send without it.
   */
  bodyMap: z.string().min(1).max(4000).optional(),
  /**
   * The document of an XML body, such as an envelope of SOAP. `{name}` in it is a member of the body, by its name on
   * the wire. An element whose `{name}` has no value is left out, a list repeats it, and an object becomes its children.
   */
  xml: z.string().min(1).max(20_000).optional(),
  /** A GraphQL document. The parameters of `body` become its variables. */
  graphql: z.string().min(1).optional(),
  /**
   * Sent with every call of this action, never shown to the caller. Headers may name credential fields, for actions
   * that need a separate key; a header whose field is empty is not sent.
   */
  fixed: z
    .strictObject({
      /** Query parameters. */
      query: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
      /** Headers; values are templates. */
      headers: templates.default({}),
      /** Members of the body; a dotted name nests. */
      body: z.record(z.string(), z.unknown()).default({}),
    })
    .optional(),
  /** The name of a paging of this file, or a complete one. An action with paging is a list action. */
  paging: z.union([z.string(), paging]).optional(),
  /** How the answer becomes the result. */
  response: response.prefault({}),
  /** Reads whose values fill parameters before the call: an answer to a mail takes the thread of the mail. */
  before: before.optional(),
  /** A list whose records are each completed by a read, for apps whose lists return only ids. */
  each: each.optional(),
  /** Calls that follow the request: wait for a job, read or download its result, complete an upload. */
  after: after.optional(),
  /** The action that undoes this one, for 24 hours. Callers get an `undoToken` with the result. */
  undo: undo.optional(),
  /**
   * The member of the body by which the app recognises a repeated call. It is set here, next to the members of `wrap`,
   * and makes the call safe to retry.
   */
  idempotencyParam: z.string().min(1).optional(),
  /**
   * Used only by `webhooks`, `unified`, `before`, `each` and `after` of this file. Callers do not see it and cannot call it.
   */
  internal: z.boolean().default(false),
  /** Whether a repeated call does no harm although its method suggests otherwise; it is then retried like a GET. */
  idempotent: z.boolean().optional(),
  /**
   * Whether MCP clients without the extension Tasks are refused, because a call lasts longer than they wait. Default:
   * false.
   */
  onlyAsTask: z.boolean().optional(),
  /** Seconds until the call fails. Default: the file's `timeoutSeconds`. */
  timeoutSeconds: z.int().min(1).max(300).optional(),
  /** Points of a call, for limits in points and for `budget` until an answer reports another. Default: 1. */
  cost: z.int().min(1).max(100_000).optional(),
  /** Words that people use for this action. The search reads them with its name and description. */
  synonyms: z.array(text(60)).default([]),
});
export type ActionDefinition = z.infer<typeof action>;

const source = z.strictObject({
  /** Title of the document. */
  title: text(200),
  /** Address of the document. */
  url: z.url().optional(),
  /** owner/name of a public repository, with the commit and the path that were read. */
  repository: z.string().optional(),
  /** The commit that was read. */
  commit: z.string().optional(),
  /** Path of the file in the repository. */
  path: z.string().optional(),
  /** Day of the reading, YYYY-MM-DD. */
  read: z.iso.date(),
});

/** The whole file. */
export const connectorFile = z.strictObject({
  /** An editor's pointer to the JSON Schema of this format. */
  $schema: z.string().optional(),
  /** Name of the connector in addresses, tools and files; equals the name of its folder. */
  id: z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -'),
  /** Name of the app, for people. */
  name: text(60),
  /** One sentence about the app, for people and models. */
  description: text(500),
  /** Kinds of apps by which the catalogue is filtered: `[crm, support]`. */
  categories: z.array(z.string().regex(/^[a-z0-9-]{1,32}$/)).min(1),
  /** Website of the app. */
  website: z.url(),
  /** Background of the icon tile, #rrggbb. */
  color: z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/)
    .default('#475569'),
  /** Sources of the facts in this file. */
  sources: z.array(source).min(1),

  protocol,
  /** An https address without trailing slash; `{name}` is a variable or a credential field that is not secret. */
  baseUrl: template,
  /** Fields of every credential, whatever its scheme: shop names, hosts, API versions. */
  variables: fields.default({}),
  /** Sent with every request. */
  headers: templates.default({}),
  bodyType: bodyType.default('json'),
  /** How the app's query language writes a quote inside of quotes. Required with `quote` or a quoted `compose`. */
  escape: escape.optional(),
  /** The ways to authenticate; a user chooses one of them. */
  authentication: z.array(authentication).min(1),
  /** The read action, callable without input, that shows whether a credential works. */
  probe: z.string().optional(),
  /** Paths in the probe's value that identify the account. */
  account: z.strictObject({ id: bodyPath, name: bodyPath.optional() }).optional(),

  /** Pagings by name, for `paging: <name>` in actions. */
  paging: z.record(fieldName, paging).default({}),
  /** The meanings of the app's failures. */
  errors: errors.prefault({}),
  /** Limits of the app: one, or several that all hold. */
  rateLimit: rateLimit.optional(),
  /** The points or calls that are left, as the app's answers report them. */
  budget: budget.optional(),
  /** The header by which the app recognises a repeated write; makes writes safe to retry. */
  idempotencyHeader: z.string().optional(),
  /** The same as a query parameter. */
  idempotencyQuery: z.string().optional(),
  /** The app's header with the time to retry, if not Retry-After; seconds, or an epoch in seconds. */
  retryAfterHeader: z.string().optional(),
  /** Unit of small numbers in that header. */
  retryAfterUnit: z.enum(['seconds', 'milliseconds']).default('seconds'),
  /** Seconds until a call fails. */
  timeoutSeconds: z.int().min(1).max(300).default(30),

  /** Schemas used in several places: `{$ref: '#/schemas/customer'}`. */
  schemas: z.record(fieldName, jsonSchema).default({}),
  /** The actions by name. Names begin with a verb: `list_orders`. */
  actions: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/, 'must be 1 to 64 of a-z, 0-9 and _'), action),
  /** Effects of the raw call `request`, by method, where they differ: `{POST: write}`. Default: a POST is destructive. */
  rawEffects: z.partialRecord(z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']), effect).default({}),
  /** `bare`: tools and prompts have the names of this file, without the connector's id as a prefix. */
  toolNames: z.enum(['prefixed', 'bare']).default('prefixed'),
  /** Prompts of MCP by name. */
  prompts: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/), prompt).default({}),
  /** Resources of MCP by name. */
  resources: z.record(z.string().regex(/^[a-z0-9_]{1,64}$/), resource).default({}),
  /** Unified models of this app, by scope. */
  unified: unified.default({}),
  /** Event sources of the app's own records, by name: `message.posted`. */
  events: eventSources.default({}),
  /** How the app reports changes on its own. */
  webhooks: webhooks.optional(),
});
export type ConnectorFile = z.infer<typeof connectorFile>;
