import { z } from 'zod';
import type { Field, Fields } from '../../../src/openapi/compare/field.ts';

/** A field of an extract. `shared` is a position in the extract's `shared`, for facts that occur several times. */
export interface StoredField extends Field {
  shared?: number | undefined;
  of?: StoredFields | undefined;
}
export interface StoredFields {
  [name: string]: StoredField;
}

const field: z.ZodType<StoredField> = z.strictObject({
  required: z.literal(true).optional(),
  deprecated: z.literal(true).optional(),
  enum: z.array(z.unknown()).optional(),
  max: z.number().optional(),
  open: z.literal(true).optional(),
  shared: z.int().optional(),
  get of() {
    return z.record(z.string(), field).optional();
  },
});

const operation = z.strictObject({
  deprecated: z.literal(true).optional(),
  query: z.record(z.string(), field),
  /** Absent where the document does not describe the body. */
  body: field.optional(),
  /** Alternatives: a call needs all scopes of one of them. */
  scopes: z.array(z.array(z.string())).optional(),
  answer: field.optional(),
});

const extract = z.strictObject({
  source: z.strictObject({ document: z.string(), version: z.string(), read: z.iso.date() }),
  shared: z.array(field),
  /** By method and nameless path: `GET /orders/{}`. */
  operations: z.record(z.string(), operation),
  /** The part of a GraphQL schema that the documents of the connector use. */
  graphql: z.array(z.string()).optional(),
});
export type Extract = z.infer<typeof extract>;

/** Reads an extract, and puts shared facts into their places. */
export function parseExtract(text: string): Extract {
  const read = extract.parse(JSON.parse(text));
  const whole = (one: StoredField): Field => {
    const { shared, ...rest } = one;
    const found = shared === undefined ? undefined : read.shared[shared];
    const { of, ...facts } = { ...rest, ...found };
    return of ? { ...facts, of: wholeFields(of) } : facts;
  };
  const wholeFields = (fields: StoredFields): Fields =>
    Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, whole(one)]));
  for (const one of Object.values(read.operations)) {
    one.query = wholeFields(one.query);
    if (one.body) one.body = whole(one.body);
    if (one.answer) one.answer = whole(one.answer);
  }
  return read;
}
