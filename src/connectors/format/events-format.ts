import { z } from 'zod';
import { EVENT_SOURCE_NAME, eventScope, isUnifiedScope } from '../event-scopes.ts';
import { answerPlace, bodyPath, fieldName, text } from './format-parts.ts';
import { templates } from './sign-format.ts';
import { challenge, hookPlace, verify } from './verify-format.ts';
import { unifiedCreate, unifiedUpdate } from './write-format.ts';

/* How an app's records are read, and how the app reports changes. */

/** Id of an action of this file. */
const actionName = z.string().regex(/^[a-z0-9_]{1,64}$/);
/** Input that is always sent; texts may name variables and fields of the credential that are not secret. */
const fixedInput = z.record(z.string(), z.json()).default({});

/**
 * The format of times in this app: ISO 8601, seconds or milliseconds since the epoch, or .NET's
 * `/Date(1538665733010+0000)/`.
 */
const timeFormat = z.enum(['iso', 'seconds', 'milliseconds', 'dotnet']).default('iso');

const REMOTE_IDS = 'must be text, or a list of 2 to 4 texts';
const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** Parameters that take values of another list action, such as the ids of all places. */
const inputFrom = z
  .record(
    fieldName,
    z.strictObject({
      action: actionName,
      /** Input of that action. */
      input: fixedInput,
      /** Only its records with these values at these paths. */
      where: z.record(bodyPath, scalar).default({}),
      /** Path of the value in its records. */
      path: bodyPath,
      /**
       * Values of one list. For more values the records are read in several rounds. A parameter that is no array takes
       * one value, so `most` is 1.
       */
      most: z.int().min(1).max(1000),
      /** The member that a record gets with the value, where records do not name it. `most` is 1 then. */
      as: fieldName.optional(),
    }),
  )
  .refine((from) => Object.keys(from).length <= 1, 'may name one parameter')
  .default({});

/** The action that reads one record, and its parameter for the id. */
const readOne = z.strictObject({
  action: actionName,
  /** Its parameter for the id. */
  param: fieldName,
  input: fixedInput,
  /**
   * The app's answer in place of a deleted record, where it does not answer 404 or 410: `{path: deleted, equals:
   * true}`.
   */
  gone: z
    .strictObject({
      path: bodyPath.min(1),
      /** The value there. */
      equals: scalar,
    })
    .optional(),
});

/** How polls find changes. */
const poll = z
  .strictObject({
    /**
     * The list action of polls with a lower bound, where it is not `list`: a search by time, for an app whose list
     * takes no bound. It gets `input` too.
     */
    list: actionName.optional(),
    /** The parameter for the lower bound, inclusive; default: everything is read each time. */
    since: fieldName.optional(),
    /** The time of the record that the bound and the order use. */
    by: z.enum(['createdAt', 'updatedAt']).default('updatedAt'),
    /**
     * The format of the bound, where it differs from the record's times. `iso`: 2026-03-01T12:00:00.000Z. `utc`:
     * 2026-03-01T12:00:00. `date`: 2026-03-01. `seconds`, `milliseconds`: an epoch.
     */
    sinceFormat: z.enum(['iso', 'utc', 'seconds', 'milliseconds', 'date']).optional(),
    /** A template around the bound: `updated_at:>'{since}'` in a query language, `{since}Z` for a time without fraction. */
    sinceTemplate: z
      .string()
      .refine((text) => text.includes('{since}'), 'must hold {since}')
      .optional(),
    /** Input that orders records by that time. */
    input: fixedInput,
    /** Order of the records by that time. */
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
  .prefault({});

/** One unified model of an app: the actions that read it, the mapping of a record, and how polling finds changes. */
const unifiedModel = z.strictObject({
  /** The list action that reads it, and input that is always sent. */
  list: actionName,
  input: fixedInput,
  inputFrom,
  get: readOne,
  /** How a record is created and changed from its unified form. Without them, it is only read. */
  create: unifiedCreate.optional(),
  update: unifiedUpdate.optional(),
  /** Paths in a record. */
  remoteId: bodyPath,
  createdAt: bodyPath.optional(),
  updatedAt: bodyPath.optional(),
  timeFormat,
  /**
   * JSONata over a record of the two actions. It returns the members of the unified model; money as decimal strings.
   */
  map: z.string().min(1),
  poll,
});
export type UnifiedModel = z.infer<typeof unifiedModel>;
export const unified = z.partialRecord(eventScope, unifiedModel);

/** A change of a record. */
export const recordEvent = z.enum(['created', 'updated', 'deleted']);

/** Events of the app's own records, such as posted messages or new rows. Deliveries hold the app's record. */
const eventSource = z.strictObject({
  /** Name for people: `Message posted`. */
  title: text(80),
  /** Sentence for people about what happened. */
  description: text(300),
  /** The list action that polls read. Without it, the events come by webhooks of the app only. */
  list: actionName.optional(),
  input: fixedInput,
  inputFrom,
  /** Confirms deletions, and reads records that webhooks only name. */
  get: readOne.optional(),
  /** Path of the record's id. Several paths, where the id is only unique together with other values. */
  remoteId: z.union([bodyPath, z.array(bodyPath).min(2, REMOTE_IDS).max(4, REMOTE_IDS)]),
  createdAt: bodyPath.optional(),
  updatedAt: bodyPath.optional(),
  timeFormat,
  /** Paths of the values in which two states of a record differ. Default: only its time of change. */
  key: z.array(bodyPath).min(1).max(20).optional(),
  /** Changes that the source reports. */
  reports: z
    .array(recordEvent)
    .min(1)
    .refine((list) => new Set(list).size === list.length, 'must name each only once')
    .default(['created']),
  poll,
});
export type EventSourceDefinition = z.infer<typeof eventSource>;
const sourceName = z
  .string()
  .max(64)
  .regex(EVENT_SOURCE_NAME, 'must be words of a-z and 0-9 with . or _ between them: message.posted');
const topicOwner = z
  .string()
  .refine(
    (name) => isUnifiedScope(name) || EVENT_SOURCE_NAME.test(name),
    'must be a unified model or an event source of this file',
  );
/** Event sources of the app's own, by name. */
export const eventSources = z.record(sourceName, eventSource);

const hookTopic = z.strictObject({
  /** The app's name of the topic, as it is registered and as it arrives. */
  topic: z.string().min(1),
  /** `changed`: the app does not name the change, so the source is polled at once. */
  event: z.enum(['created', 'updated', 'deleted', 'changed']),
  /** Paths of this topic, where they differ from the others. */
  record: bodyPath.optional(),
  fetchId: bodyPath.optional(),
  /**
   * Only events with these values at these paths, for apps that name the change in the body: `{action: deleted}`.
   * Several entries may have one topic; the first that fits counts.
   */
  where: z.record(bodyPath, scalar).default({}),
  /** Events with these values at these paths concern other records, such as the variants of a product. */
  except: z.record(bodyPath, scalar).default({}),
  /** More names for the templates of `register`, for apps whose topics have several parts; they may name variables. */
  values: templates.default({}),
});

export type HookTopic = z.infer<typeof hookTopic>;

/** Webhooks of the app. They are registered by Gatehouse, or set up by a person. */
const hooks = z.strictObject({
  verify,
  /** An address check before the first event; its value is sent back. */
  challenge: challenge.optional(),
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
  /** The topics by the unified model or event source of this file that they change. */
  topics: z.record(topicOwner, z.array(hookTopic).min(1)),
  /**
   * Webhooks that a person sets up at the app for one connection, where the app offers no calls for that. Until the
   * first genuine webhook of a scope, and hourly after it, its list is read.
   */
  manual: z
    .strictObject({
      /** Sentences for the person: where at the app the address belongs, and which events to choose. */
      help: text(1000),
      /** `made`: Gatehouse makes the secret, and the person enters it at the app. `given`: the app shows one to enter here. */
      secret: z.enum(['made', 'given']),
    })
    .optional(),
  /** Registration at the app, by internal actions of this file. Either this or `manual`. */
  register: z
    .strictObject({
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
          /** Values of a registration that works, by path. */
          alive: z.record(bodyPath, scalar).default({}),
        })
        .optional(),
      /**
       * Templates of the input: `{address}`, `{topic}`, `{secret}`, `{newId}` (a UUID), `{expiresAt}`, `values` of the topic,
       * and fields of the credential that are not secret. `{topics}` alone is the array of all topics.
       */
      create: z.strictObject({
        action: actionName,
        /** Input of that action. */
        input: z.record(z.string(), z.json()),
        /** One registration for each topic, or one for all. */
        each: z.enum(['topic', 'all']).default('topic'),
        /** Path of the registration's id in the answer, and of the secret if the app makes it. */
        id: bodyPath,
        secret: answerPlace.optional(),
        /** For registrations that expire. They are renewed before, or made again. */
        expires: z
          .strictObject({
            /** Path of the time in the answers of `create` and `renew`. */
            at: bodyPath,
            /** Format of that time, and of `{expiresAt}`. */
            format: timeFormat,
            /** Lifetime to ask for: `{expiresAt}` in the input is that much later than now. */
            lifetimeSeconds: z
              .int()
              .min(60)
              .max(366 * 86_400)
              .optional(),
          })
          .optional(),
        /** Paths of further values of the answer, by the name that the inputs of `renew` and `delete` use. */
        keep: z.record(fieldName, bodyPath).default({}),
      }),
      /** Renews a registration that expires. Without it, another one is made, and then the old one is deleted. */
      renew: z
        .strictObject({
          action: actionName,
          /** Its parameter for the id. */
          param: fieldName.optional(),
          input: fixedInput,
        })
        .optional(),
      /** `param` takes the id; the input may use the names of `create`, and `{id}`. */
      delete: z.strictObject({
        action: actionName,
        /** Its parameter for the id. */
        param: fieldName.optional(),
        input: fixedInput,
      }),
    })
    .optional(),
});
/** Native webhooks. An app whose file has no `webhooks`, or a scope without topics, is polled. */
export const webhooks = hooks.refine(
  ({ register, manual }) => (register === undefined) !== (manual === undefined),
  'needs register or manual, and not both',
);
export type Webhooks = z.infer<typeof webhooks>;
