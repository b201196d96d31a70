import { z } from 'zod';
import { eventScope } from './events-format.ts';

/*
 * The file examples.yaml next to a connector file: recorded exchanges, replayed by `connectors check` and by the
 * tests.
 */

const credential = z.record(z.string(), z.string()).default({});

const response = z.strictObject({
  status: z.int().min(100).max(599),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
});

/** One call of an action: its input must make the request, and the response its output or error. */
const actionExample = z.strictObject({
  action: z.string(),
  /** The scheme of the credential; default: the first of the file that has all its fields. */
  authentication: z.string().optional(),
  credential,
  input: z.record(z.string(), z.unknown()).default({}),
  /** The expected request. The URL is complete, with its query. */
  request: z.strictObject({
    method: z.string(),
    url: z.string(),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.unknown().optional(),
  }),
  /** The calls of `before`, `each` and `after`, in any order, with their answers. */
  reads: z
    .array(z.strictObject({ method: z.string().default('GET'), url: z.string(), response }))
    .default([]),
  response,
  /** The caller's result: the value, or `{data, pagination}` for a list. Or the error. */
  output: z.unknown().optional(),
  error: z.strictObject({ code: z.string(), message: z.string().optional() }).optional(),
});
export type ActionExample = z.infer<typeof actionExample>;

/** A record of a model's actions, and its unified record without `id` and `raw`. */
const unifiedExample = z.strictObject({
  scope: eventScope,
  record: z.json(),
  /** Null and empty members may be left out. */
  output: z.record(z.string(), z.json()),
});
export type UnifiedExample = z.infer<typeof unifiedExample>;

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
  /** Client secret of the OAuth app. */
  clientSecret: z.string().optional(),
  /** Scope of the expected events; default: every scope that has the topic. */
  scope: eventScope.optional(),
  request: z.strictObject({
    method: z.enum(['GET', 'POST']).default('POST'),
    /** Our address, as it was registered. */
    url: z.url().default('https://gatehouse.example.com/hooks/app/token'),
    headers: z.record(z.string(), z.string()).default({}),
    /** The exact text. */
    body: z.string().default(''),
  }),
  expect: z.strictObject({
    genuine: z.boolean(),
    topic: z.string().optional(),
    events: z
      .array(
        z.strictObject({
          event: z.enum(['created', 'updated', 'deleted', 'changed']),
          remoteId: z.string().optional(),
        }),
      )
      .default([]),
  }),
});
export type HookExample = z.infer<typeof hookExample>;

export const examplesFile = z.strictObject({
  examples: z.array(actionExample).default([]),
  unified: z.array(unifiedExample).default([]),
  webhooks: z.array(hookExample).default([]),
});
export type ExamplesFile = z.infer<typeof examplesFile>;
