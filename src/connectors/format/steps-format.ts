import { z } from 'zod';
import { bodyPath, fieldName } from './format-parts.ts';
import { eachRead } from './reads-format.ts';

/* Calls that follow the request of an action: the member `after`. */

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** A call of another action. Its input may name `input`, `value` (the answer to the action's request) and earlier steps. */
const callStep = eachRead.extend({
  /** The call is repeated until the value at `path` is one of `in`. A value of `failed` ends the action with an error. */
  until: z
    .strictObject({
      path: bodyPath,
      /** Values that end the wait. */
      in: z.array(scalar).min(1),
      /** Values that mean failure. */
      failed: z.array(scalar).default([]),
      /** Path of the app's sentence about the failure. */
      message: bodyPath.optional(),
    })
    .optional(),
  /** Seconds between two calls of `until`. */
  everySeconds: z.number().min(0.1).max(60).default(2),
});
export type CallStep = z.infer<typeof callStep>;

/** Origins of addresses in answers: `https://files.example.com`, or `https://*.example.com` for all hosts of a domain. */
const origins = z
  .array(
    z
      .string()
      .max(300)
      .regex(
        /^(?:https:\/\/(?:\*\.)?[^\s/?#*@]+\.[^\s/?#*@]+|\{\w+\})$/,
        'must be an origin such as https://files.example.com or https://*.example.com',
      ),
  )
  .min(1)
  .max(20);

/** A download from an address in an answer of the app. It is sent without the credential. */
const downloadStep = z.strictObject({
  /** Path of the address: `job.resultUrl`. */
  download: z.string().min(1).max(200),
  /** Origins that the address may have. Default: any public one. */
  origins: origins.optional(),
  /** `file`: a text or a stored file, as for `response.body`. `json`: the parsed content. */
  body: z.enum(['json', 'file']).default('file'),
});
export type DownloadStep = z.infer<typeof downloadStep>;

/** An upload to an address in an answer of the app. It is sent without the credential. */
const uploadStep = z.strictObject({
  /** Path of the address: `value.upload_url`. If it is a list of addresses, each address gets one part. */
  upload: z.string().min(1).max(200),
  /** The parameter with the file. */
  file: fieldName,
  /** Origins that the address may have. */
  origins,
  /** Method of the request. */
  method: z.enum(['PUT', 'POST']).default('PUT'),
  /** Headers of the request. The default of Content-Type is the media type of the file. */
  headers: z.record(z.string().regex(/^[\w-]{1,100}$/), z.string().max(500)).default({}),
  /**
   * Bytes of a part, or the path of that number in an answer. At one address the parts follow each other, with
   * Content-Range. Default: the whole file at once.
   */
  partBytes: z.union([z.int().min(1024), z.string().min(1).max(200)]).optional(),
});
export type UploadStep = z.infer<typeof uploadStep>;

export const after = z.strictObject({
  /** Steps by name, made one after the other. All of them end within the action's timeoutSeconds. */
  steps: z
    .record(fieldName, z.union([callStep, downloadStep, uploadStep]))
    .refine((steps) => Object.keys(steps).length > 0, 'must hold a step')
    .refine((steps) => Object.keys(steps).length <= 5, 'must hold at most five steps'),
  /** JSONata over `{input, value, <steps>}` that returns the result. Default: the value of the last step. */
  give: z.string().min(1).max(4000).optional(),
});
