import { z } from 'zod';
import { basic, fieldName } from './format-parts.ts';
import { jwtShape, templates } from './sign-format.ts';

/* Requests that exchange the fields of a credential for a token: the members of the scheme `token_exchange`. */

/** Place in an answer: `body:session.id` (`body:` is the whole body), `header:X-Token`, `cookie:SESSION`, `cookie:*` for all. */
const answerValue = z
  .string()
  .regex(/^(body:.*|(header|cookie):.+)$/, 'must be body:<path>, header:<name> or cookie:<name>');

const taken = z.union([
  answerValue,
  z.strictObject({
    /** Place of the value in the answer. */
    from: answerValue,
    /** Form of the value; `host`, `subdomain` and `origin` may be part of an address. */
    format: z.enum(['text', 'subdomain', 'host', 'origin']).default('text'),
    /** False for a value that is part of an address, such as the address of an instance. */
    secret: z.boolean().default(true),
  }),
]);

/** Templates of a step name fields, variables, and values that earlier steps took. */
const step = z.strictObject({
  /** Method and whole address: `POST {origin}/session`. */
  request: z
    .string()
    .max(2000)
    .regex(
      /^(GET|POST|PUT) \S+$/,
      'must be a method and a whole address: POST https://app.example.com/session',
    ),
  /** Headers of the request. */
  headers: templates.default({}),
  /** Query parameters of the request. */
  query: templates.default({}),
  /** Members of the body; a dotted name nests in JSON. */
  body: z.record(z.string().min(1), z.union([z.string().max(4000), z.number(), z.boolean()])).default({}),
  /** Encoding of the body. */
  bodyType: z.enum(['form', 'json']).default('form'),
  /** User name and password of HTTP Basic, as templates. */
  basic: basic.optional(),
  /** A JWT for this request; the other templates of the step name it `{assertion}`. */
  jwt: z.strictObject(jwtShape).optional(),
  /** Path in the body. A truthy value there means that the app refused the request, also with a status of success. */
  error: z.string().max(200).optional(),
  /** Values of the answer by name. One step takes `accessToken`; all are stored with the credential. */
  take: z.record(fieldName, taken).default({}),
});
export type ExchangeStep = z.infer<typeof step>;

export const exchangeSteps = z.array(step).min(1).max(5);

/** When the token expires. Without this, the token is renewed when the app refuses it. */
export const expires = z
  .strictObject({
    /** A lifetime from now in the last answer, in `unit`. */
    in: answerValue.optional(),
    /** Unit of `in`. */
    unit: z.enum(['seconds', 'minutes', 'milliseconds']).default('seconds'),
    /** A moment in the last answer: epoch seconds or milliseconds, or ISO 8601. */
    at: answerValue.optional(),
    /** Lifetime of the token if the answer names none. */
    seconds: z.int().min(60).optional(),
  })
  .prefault({});
