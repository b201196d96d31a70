import { z } from 'zod';
import { SCOPES_OF_EVENTS } from './event-scopes.ts';
import { answerPlace, bodyPath, fieldName, template } from './format-parts.ts';
import { templates } from './schemes.ts';

/* What an app knows of customers, orders and products, and how it tells of changes. */

export const eventScope = z.enum(SCOPES_OF_EVENTS);

const actionName = z.string().regex(/^[a-z0-9_]{1,64}$/);
/** Input that is always sent; texts may name variables and fields of the credential that are not secret. */
const fixedInput = z.record(z.string(), z.json()).default({});

/** How times are written in this app: ISO 8601, or seconds or milliseconds since the epoch. */
const timeFormat = z.enum(['iso', 'seconds', 'milliseconds']).default('iso');

/** One unified model of an app: which actions read it, how a record maps, and how changes are found by polling. */
const unifiedModel = z.strictObject({
  /** The list action that reads it, and input that is always sent. */
  list: actionName,
  input: fixedInput,
  /** Parameters that take a list of what another list action gives, such as the ids of all places; of more than `most`
   *  the records are read in several rounds. */
  inputFrom: z
    .record(fieldName, z.strictObject({ action: actionName, path: bodyPath, most: z.int().min(1).max(1000) }))
    .refine((from) => Object.keys(from).length <= 1, 'may name one parameter')
    .default({}),
  /** The action that reads one record, and its parameter that takes the id. */
  get: z.strictObject({
    action: actionName,
    param: fieldName,
    input: fixedInput,
    /** What the app answers in place of a deleted record, where it does not say 404 or 410: `{path: deleted, equals: true}`. */
    gone: z
      .strictObject({ path: bodyPath.min(1), equals: z.union([z.string(), z.number(), z.boolean()]) })
      .optional(),
  }),
  /** Paths in a record. */
  remoteId: bodyPath,
  createdAt: bodyPath.optional(),
  updatedAt: bodyPath.optional(),
  timeFormat,
  /** JSONata over a record as the two actions give it, giving the members of the unified model; money as decimal strings. */
  map: z.string().min(1),
  poll: z
    .strictObject({
      /** The parameter that takes the lower bound, inclusive; left out: everything is read each time. */
      since: fieldName.optional(),
      /** Which of the record's times the bound and the order speak of. */
      by: z.enum(['createdAt', 'updatedAt']).default('updatedAt'),
      /** How the bound is written, where it differs from the record's times. `utc`: ISO 8601 in UTC, without zone. */
      sinceFormat: z.enum(['iso', 'utc', 'seconds', 'milliseconds', 'date']).optional(),
      /** A template around the bound, for apps with a query language: `updated_at:>'{since}'`. */
      sinceTemplate: z
        .string()
        .refine((text) => text.includes('{since}'), 'must hold {since}')
        .optional(),
      /** Input that orders records by that time. */
      input: fixedInput,
      order: z.enum(['ascending', 'descending', 'none']).default('none'),
      /** How long after its time a record may still appear, and how coarse times are (reliability of the app). */
      overlapSeconds: z
        .int()
        .min(0)
        .max(86_400)
        .default(10 * 60),
      /** Records younger than this wait for the next round. */
      lagSeconds: z.int().min(0).max(600).default(0),
    })
    .prefault({}),
});
export type UnifiedModel = z.infer<typeof unifiedModel>;
export const unified = z.partialRecord(eventScope, unifiedModel);

/** Where a value of an incoming webhook is: `header:X-Topic`, `body:data.id`, `query:topic`. */
const hookPlace = z
  .string()
  .regex(/^(header|body|query):.+$/, 'must be header:<name>, body:<path> or query:<parameter>');

/**
 * How a webhook of the app proves where it comes from. Templates may name fields of the credential, `{secret}` (made
 * or received when the webhook was registered), `{clientSecret}` (of the OAuth app); contents also `{body}` (raw),
 * `{timestamp}`, `{id}`, `{url}` and `{method}`.
 */
const verify = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hmac'),
    algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
    key: template.default('{secret}'),
    keyEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
    content: template.default('{body}'),
    encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
    /** The header with the signature. */
    header: z.string().min(1),
    /** Text before the signature: `sha256=`. */
    prefix: z.string().default(''),
    /** The header is a list such as `t=1,v1=ab,v1=cd`: which part is the signature, and which the timestamp. */
    list: z
      .strictObject({
        separator: z.string().min(1).default(','),
        signature: z.string().min(1),
        timestamp: z.string().min(1).optional(),
      })
      .optional(),
    /** Where the time of sending is, in seconds since the epoch; older or newer ones than `toleranceSeconds` are refused. */
    timestamp: hookPlace.optional(),
    toleranceSeconds: z.int().min(1).max(3600).default(300),
  }),
  /** Standard Webhooks 1.0.0, symmetric; the key is `whsec_…` or base64. */
  z.strictObject({ type: z.literal('standard'), key: template.default('{secret}') }),
  /** A shared secret in a header. */
  z.strictObject({
    type: z.literal('header'),
    header: z.string().min(1),
    value: template.default('{secret}'),
  }),
  z.strictObject({ type: z.literal('basic'), username: template, password: template.default('{secret}') }),
]);
export type HookVerification = z.infer<typeof verify>;

const hookTopic = z.strictObject({
  /** The app's name of the topic, as it is registered and as it arrives. */
  topic: z.string().min(1),
  /** `changed`: the app does not say what; the source is polled at once. */
  event: z.enum(['created', 'updated', 'deleted', 'changed']),
  /** Where this topic has them elsewhere than the others. */
  record: bodyPath.optional(),
  fetchId: bodyPath.optional(),
  /** Events that hold these values at these paths are of something else, such as the variants of a product. */
  except: z.record(bodyPath, z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** More names for the templates of `register`, for apps whose topics have several parts; they may name variables. */
  values: templates.default({}),
});

export type HookTopic = z.infer<typeof hookTopic>;

/** Native webhooks. An app whose file has no `webhooks`, or a scope without topics, is polled. */
export const webhooks = z.strictObject({
  verify,
  /** An address check before the first event: what arrives there is sent back. */
  challenge: z
    .strictObject({
      method: z.enum(['GET', 'POST']).default('POST'),
      /** The request is a challenge when this holds something. */
      value: hookPlace,
      as: z.enum(['text', 'json']).default('text'),
      /** For `json`: the member that carries it back. */
      member: z.string().min(1).default('challenge'),
    })
    .optional(),
  /** What makes an event the same when the app repeats it. Left out: a hash of the body. */
  eventId: hookPlace.optional(),
  topic: hookPlace,
  /** The path of the record in the body, read through the `response.map` of the model's `get` action; several events in one body: the path of the list, each read from there. */
  record: bodyPath.default(''),
  events: bodyPath.optional(),
  /** Bodies carry an id alone: the record is read with the model's `get`. The path of the id in the event. */
  fetchId: bodyPath.optional(),
  /** Where the event says whose account it is about: those of other accounts than the credential's are passed over.
   *  For apps whose registrations hear of every account. */
  account: hookPlace.optional(),
  /** The types of credentials that can register; those of other types are polled. */
  authentication: z.array(z.string()).min(1).optional(),
  topics: z.partialRecord(eventScope, z.array(hookTopic).min(1)),
  /** Registering at the app, by internal actions of this file. */
  register: z.strictObject({
    /** Lists what is registered, to adopt our own; its records have `id`, `address` and `topic` at these paths. Ours
     *  that do not hold what `alive` says were switched off by the app: they are removed and made anew. */
    list: z
      .strictObject({
        action: actionName,
        id: bodyPath,
        address: bodyPath,
        topic: bodyPath.optional(),
        alive: z.record(bodyPath, z.union([z.string(), z.number(), z.boolean()])).default({}),
      })
      .optional(),
    /** Templates of the input: `{address}`, `{topic}`, `{secret}`, `values` of the topic, and fields of the credential
     *  that are not secret. `{topics}` alone is the array of all topics. */
    create: z.strictObject({
      action: actionName,
      input: z.record(z.string(), z.json()),
      /** One registration for each topic, or one for all. */
      each: z.enum(['topic', 'all']).default('topic'),
      /** Where the answer holds its id, and the secret if the app makes it. */
      id: bodyPath,
      secret: answerPlace.optional(),
    }),
    /** `param` takes the id; the input may name what that of `create` may, and `{id}`. */
    delete: z.strictObject({ action: actionName, param: fieldName.optional(), input: fixedInput }),
  }),
});
export type Webhooks = z.infer<typeof webhooks>;
