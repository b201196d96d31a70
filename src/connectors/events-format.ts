import { z } from 'zod';
import { SCOPES_OF_EVENTS } from './event-scopes.ts';
import { answerPlace, bodyPath, fieldName, template } from './format-parts.ts';
import { templates } from './sign-format.ts';

/* How an app's customers, orders and products are read, and how the app reports changes. */

export const eventScope = z.enum(SCOPES_OF_EVENTS);

const actionName = z.string().regex(/^[a-z0-9_]{1,64}$/);
/** Input that is always sent; texts may name variables and fields of the credential that are not secret. */
const fixedInput = z.record(z.string(), z.json()).default({});

/** The format of times in this app: ISO 8601, or seconds or milliseconds since the epoch. */
const timeFormat = z.enum(['iso', 'seconds', 'milliseconds']).default('iso');

/** One unified model of an app: the actions that read it, the mapping of a record, and how polling finds changes. */
const unifiedModel = z.strictObject({
  /** The list action that reads it, and input that is always sent. */
  list: actionName,
  input: fixedInput,
  /**
   * Parameters that take values of another list action, such as the ids of all places. For more than `most` values the
   * records are read in several rounds.
   */
  inputFrom: z
    .record(fieldName, z.strictObject({ action: actionName, path: bodyPath, most: z.int().min(1).max(1000) }))
    .refine((from) => Object.keys(from).length <= 1, 'may name one parameter')
    .default({}),
  /** The action that reads one record, and its parameter for the id. */
  get: z.strictObject({
    action: actionName,
    param: fieldName,
    input: fixedInput,
    /**
     * The app's answer in place of a deleted record, where it does not answer 404 or 410: `{path: deleted, equals:
     * true}`.
     */
    gone: z
      .strictObject({ path: bodyPath.min(1), equals: z.union([z.string(), z.number(), z.boolean()]) })
      .optional(),
  }),
  /** Paths in a record. */
  remoteId: bodyPath,
  createdAt: bodyPath.optional(),
  updatedAt: bodyPath.optional(),
  timeFormat,
  /**
   * JSONata over a record of the two actions. It returns the members of the unified model; money as decimal strings.
   */
  map: z.string().min(1),
  poll: z
    .strictObject({
      /** The parameter for the lower bound, inclusive; default: everything is read each time. */
      since: fieldName.optional(),
      /** The time of the record that the bound and the order use. */
      by: z.enum(['createdAt', 'updatedAt']).default('updatedAt'),
      /** The format of the bound, where it differs from the record's times. `utc`: ISO 8601 in UTC, without zone. */
      sinceFormat: z.enum(['iso', 'utc', 'seconds', 'milliseconds', 'date']).optional(),
      /** A template around the bound, for apps with a query language: `updated_at:>'{since}'`. */
      sinceTemplate: z
        .string()
        .refine((text) => text.includes('{since}'), 'must hold {since}')
        .optional(),
      /** Input that orders records by that time. */
      input: fixedInput,
      order: z.enum(['ascending', 'descending', 'none']).default('none'),
      /** How long after its time a record may still appear, including the coarseness of the app's times. */
      overlapSeconds: z
        .int()
        .min(0)
        .max(86_400)
        .default(10 * 60),
      /** Records younger than this wait for the next poll. */
      lagSeconds: z.int().min(0).max(600).default(0),
    })
    .prefault({}),
});
export type UnifiedModel = z.infer<typeof unifiedModel>;
export const unified = z.partialRecord(eventScope, unifiedModel);

/** Place of a value in an incoming webhook: `header:X-Topic`, `body:data.id`, `query:topic`. */
const hookPlace = z
  .string()
  .regex(/^(header|body|query):.+$/, 'must be header:<name>, body:<path> or query:<parameter>');

/**
 * How a webhook of the app proves its origin. Templates may name fields of the credential, `{secret}` (made or
 * received when the webhook was registered), and `{clientSecret}` (of the OAuth app). Contents may also name `{body}`
 * (raw), `{timestamp}`, `{id}`, `{url}` and `{method}`.
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
    /** For a header that is a list such as `t=1,v1=ab,v1=cd`: the names of the signature and of the timestamp. */
    list: z
      .strictObject({
        separator: z.string().min(1).default(','),
        signature: z.string().min(1),
        timestamp: z.string().min(1).optional(),
      })
      .optional(),
    /**
     * Place of the time of sending, in seconds since the epoch. Times further away than `toleranceSeconds` are
     * refused.
     */
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
  /** `changed`: the app does not name the change, so the source is polled at once. */
  event: z.enum(['created', 'updated', 'deleted', 'changed']),
  /** Paths of this topic, where they differ from the others. */
  record: bodyPath.optional(),
  fetchId: bodyPath.optional(),
  /** Events with these values at these paths concern other records, such as the variants of a product. */
  except: z.record(bodyPath, z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** More names for the templates of `register`, for apps whose topics have several parts; they may name variables. */
  values: templates.default({}),
});

export type HookTopic = z.infer<typeof hookTopic>;

/** Native webhooks. An app whose file has no `webhooks`, or a scope without topics, is polled. */
export const webhooks = z.strictObject({
  verify,
  /** An address check before the first event; its value is sent back. */
  challenge: z
    .strictObject({
      method: z.enum(['GET', 'POST']).default('POST'),
      /** The request is a challenge when this place has a value. */
      value: hookPlace,
      as: z.enum(['text', 'json']).default('text'),
      /** For `json`: the member of the answer. */
      member: z.string().min(1).default('challenge'),
    })
    .optional(),
  /** Identifies an event that the app repeats. Default: a hash of the body. */
  eventId: hookPlace.optional(),
  topic: hookPlace,
  /**
   * Path of the record in the body; it is read through the `response.map` of the model's `get` action. `events` is the
   * path of a list of events, each of which has the record.
   */
  record: bodyPath.default(''),
  events: bodyPath.optional(),
  /** Set where bodies carry only an id: the path of the id in the event. The record is read with the model's `get`. */
  fetchId: bodyPath.optional(),
  /**
   * Place of the account in the event, for apps whose registrations receive the events of every account. Events of
   * other accounts than the credential's are skipped.
   */
  account: hookPlace.optional(),
  /** Types of credentials that can register; accounts of other types are polled. */
  authentication: z.array(z.string()).min(1).optional(),
  topics: z.partialRecord(eventScope, z.array(hookTopic).min(1)),
  /** Registration at the app, by internal actions of this file. */
  register: z.strictObject({
    /**
     * Lists the registrations, to adopt our own. Its records have `id`, `address` and `topic` at these paths. The app
     * has disabled a registration of ours that lacks the values of `alive`; it is removed and made again.
     */
    list: z
      .strictObject({
        action: actionName,
        id: bodyPath,
        address: bodyPath,
        topic: bodyPath.optional(),
        alive: z.record(bodyPath, z.union([z.string(), z.number(), z.boolean()])).default({}),
      })
      .optional(),
    /**
     * Templates of the input: `{address}`, `{topic}`, `{secret}`, `values` of the topic, and fields of the credential
     * that are not secret. `{topics}` alone is the array of all topics.
     */
    create: z.strictObject({
      action: actionName,
      input: z.record(z.string(), z.json()),
      /** One registration for each topic, or one for all. */
      each: z.enum(['topic', 'all']).default('topic'),
      /** Path of the registration's id in the answer, and of the secret if the app makes it. */
      id: bodyPath,
      secret: answerPlace.optional(),
    }),
    /** `param` takes the id; the input may use the names of `create`, and `{id}`. */
    delete: z.strictObject({ action: actionName, param: fieldName.optional(), input: fixedInput }),
  }),
});
export type Webhooks = z.infer<typeof webhooks>;
