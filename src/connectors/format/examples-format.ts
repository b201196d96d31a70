import { z } from 'zod';
import { eventScope, sourceScope } from '../event-scopes.ts';

/*
 * The file examples.yaml next to a connector file: recorded exchanges, replayed by `connectors check` and by the
 * tests.
 */

/** Fields of the credential by name, with invented values. */
const credential = z.record(z.string(), z.string()).default({});

/** The answer of the app. */
const response = z.strictObject({
  /** HTTP status. */
  status: z.int().min(100).max(599),
  /** Headers that the connector reads. */
  headers: z.record(z.string(), z.string()).default({}),
  /** The body: JSON as such, else a text. */
  body: z.unknown().optional(),
});

/** One call of an action: its input must make the request, and the response its output or error. */
const actionExample = z.strictObject({
  /** Id of the action. */
  action: z.string(),
  /** The scheme of the credential; default: the first of the file that has all its fields. */
  authentication: z.string().optional(),
  credential,
  /** The input of the caller. */
  input: z.record(z.string(), z.unknown()).default({}),
  /** The expected request. The URL is complete, with its query. */
  request: z.strictObject({
    /** Method. */
    method: z.string(),
    /** The whole address, with its query. */
    url: z.string(),
    /** Headers that the request must have; others are not compared. */
    headers: z.record(z.string(), z.string()).default({}),
    /** The body that is sent: JSON as such, else a text. */
    body: z.unknown().optional(),
    /** Members that the body must have, at every depth; others are not compared. */
    members: z.record(z.string(), z.json()).optional(),
  }),
  /**
   * The calls of `before`, `each` and `after`, and of later pages, with their answers. Calls of one address are
   * answered in their order.
   */
  reads: z
    .array(
      z.strictObject({
        /** Method of the request. */
        method: z.string().default('GET'),
        /** The whole address, with its query. */
        url: z.string(),
        /** Members of its body, where several requests have this address: those of a GraphQL document or a page. */
        members: z.record(z.string(), z.json()).optional(),
        response,
      }),
    )
    .default([]),
  response,
  /** The caller's result: the value, or `{data, pagination}` for a list. */
  output: z.unknown().optional(),
  /** The expected error instead. */
  error: z
    .strictObject({
      /** Code of the error: `upstream_rejected`. */
      code: z.string(),
      /** Its whole message. */
      message: z.string().optional(),
    })
    .optional(),
});
export type ActionExample = z.infer<typeof actionExample>;

/** A record of a model's actions, and its unified record without `id` and `raw`. */
const unifiedExample = z.strictObject({
  /** The model. */
  scope: eventScope,
  /** A record as the action returns it. */
  record: z.json(),
  /** Null and empty members may be left out. */
  output: z.record(z.string(), z.json()),
});
export type UnifiedExample = z.infer<typeof unifiedExample>;

/** A record that a caller gives, and the input that the action of the model gets for it, without the id. */
const writeExample = z.strictObject({
  /** The model. */
  scope: eventScope,
  /** The kind of write. */
  write: z.enum(['create', 'update']),
  /** The id of an updated record. */
  remoteId: z.string().default('1'),
  /** The unified record that the caller gives. */
  given: z.record(z.string(), z.json()),
  /** The input that the action gets. */
  input: z.record(z.string(), z.json()),
});
export type WriteExample = z.infer<typeof writeExample>;

/** A record of an event source, and what deliveries say about it besides the record itself. */
const sourceExample = z.strictObject({
  /** Name in `events` of the connector file. */
  source: z.string().min(1),
  /** The record as the app returns it. */
  record: z.json(),
  /** Facts of the record in a delivery. */
  output: z.strictObject({
    /** Its id at the app. */
    remoteId: z.string(),
    /** Its time of creation, in UTC. */
    createdAt: z.iso.datetime().nullable().default(null),
    /** Its time of change, in UTC. */
    updatedAt: z.iso.datetime().nullable().default(null),
  }),
});
export type SourceExample = z.infer<typeof sourceExample>;

/** A webhook as an app sends it, and the expected verdict. */
const hookExample = z.strictObject({
  /** Time of its arrival. */
  at: z.iso.datetime(),
  /** The scheme of the credential that registered; default as for an action. */
  authentication: z.string().optional(),
  credential,
  /** The account of that credential at the app. */
  account: z.string().optional(),
  /** Made or received when it was registered. */
  secret: z.string().default(''),
  /** Answer of the address of the app's public keys (`keysUrl`). */
  keys: z.string().default(''),
  /** Client secret of the OAuth app. */
  clientSecret: z.string().optional(),
  /** Scope of the expected events; default: every scope that has the topic. */
  scope: sourceScope.optional(),
  /** The request as it arrives. */
  request: z.strictObject({
    /** Method. */
    method: z.enum(['GET', 'POST']).default('POST'),
    /** Our address, as it was registered. */
    url: z.url().default('https://gatehouse.example.com/hooks/app/token'),
    /** Headers of the request. */
    headers: z.record(z.string(), z.string()).default({}),
    /** The exact text. */
    body: z.string().default(''),
  }),
  /** The verdict. */
  expect: z.strictObject({
    /** Whether the proof of origin is valid. */
    genuine: z.boolean(),
    /** Topic that is read from it. */
    topic: z.string().optional(),
    /** Events that it reports. */
    events: z
      .array(
        z.strictObject({
          /** The kind of change. */
          event: z.enum(['created', 'updated', 'deleted', 'changed']),
          /** Id of the record at the app. */
          remoteId: z.string().optional(),
        }),
      )
      .default([]),
  }),
});
export type HookExample = z.infer<typeof hookExample>;

export const examplesFile = z.strictObject({
  /** Recorded calls. */
  examples: z.array(actionExample).default([]),
  /** Recorded records of unified models. */
  unified: z.array(unifiedExample).default([]),
  /** Recorded writes of unified models. */
  writes: z.array(writeExample).default([]),
  /** Recorded records of event sources. */
  events: z.array(sourceExample).default([]),
  /** Recorded webhooks. */
  webhooks: z.array(hookExample).default([]),
});
export type ExamplesFile = z.infer<typeof examplesFile>;
