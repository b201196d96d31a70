import { z } from 'zod';
import { bodyPath, fieldName } from './format-parts.ts';
import { eachRead } from './reads-format.ts';

/* Calls that follow the request of an action: the member `after`. */

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** A call of another action. Its input names `input`, `value` (the answer of the action's own request) and the steps above it. */
const callStep = eachRead.extend({
  /** The call is repeated until the value at `path` is one of `in`. A value of `failed` ends the action with an error. */
  until: z
    .strictObject({
      path: bodyPath,
      in: z.array(scalar).min(1),
      failed: z.array(scalar).default([]),
      /** Path of the app's sentence about the failure. */
      message: bodyPath.optional(),
    })
    .optional(),
  /** Seconds between two calls of `until`. */
  everySeconds: z.number().min(0.1).max(60).default(2),
});
export type CallStep = z.infer<typeof callStep>;

/** A download from an address that the app answered with. It is sent without the credential. */
const downloadStep = z.strictObject({
  /** Path of the address: `job.resultUrl`. */
  download: z.string().min(1).max(200),
  /** `file`: {contentType, size, text} or base64, as for `response.body`. `json`: the parsed content. */
  body: z.enum(['json', 'file']).default('file'),
});
export type DownloadStep = z.infer<typeof downloadStep>;

export const after = z.strictObject({
  /** Steps by name, made one after the other. All of them end within the action's timeoutSeconds. */
  steps: z
    .record(fieldName, z.union([callStep, downloadStep]))
    .refine((steps) => Object.keys(steps).length > 0, 'must hold a step')
    .refine((steps) => Object.keys(steps).length <= 5, 'must hold at most five steps'),
  /** JSONata over `{input, value, <steps>}` that returns the result. Default: the value of the last step. */
  give: z.string().min(1).max(4000).optional(),
});
