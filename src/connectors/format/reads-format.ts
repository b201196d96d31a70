import { z } from 'zod';
import { bodyPath, condition, fieldName } from './format-parts.ts';

/* Reads of other actions that belong to one call: the members `before` and `each` of an action. */

const readShape = {
  /**
   * An action of this file that reads and is no list. An internal one belongs to the action; any other must also be
   * allowed to the caller.
   */
  action: z.string(),
  /** Its input. `{path}` is a value by its path: `{input.messageId}`, `{record.id}`. */
  input: z.record(fieldName, z.json()).default({}),
  /** Only for calls with such input. */
  when: condition.optional(),
  /** Not for calls with such input. */
  unless: condition.optional(),
};

/** Completes a record of the page with the value of one more read. Its names: `input` and `record`. */
export const eachRead = z.strictObject(readShape);
export type EachRead = z.infer<typeof eachRead>;

/** The first entry that applies to a call reads for each record of its page. */
export const each = z.array(eachRead).min(1);

/** A read before the call. Its names: `input`, the reads above it, and `item` with `for`. */
const beforeRead = z.strictObject({
  ...readShape,
  /** Path of a list: one read for each entry, at most 50. The value is the list of their results. */
  for: bodyPath.optional(),
});
export type BeforeRead = z.infer<typeof beforeRead>;

export const before = z.strictObject({
  /** Reads by name, made one after the other. */
  reads: z.record(fieldName, beforeRead).default({}),
  /**
   * Parameters of the action → JSONata over `{input, <reads>}`, and `files` with the size, name and mediaType of each
   * file of the input. Callers cannot give these; an undefined value is not
   * sent.
   */
  fill: z.record(fieldName, z.string().min(1).max(4000)),
});
