import { z } from 'zod';
import type { Json } from '../../lib/json.ts';

/* The form in which an app expects a value: the keyword `encode` of a parameter. Entries of a list are converted one by one. */

export const encode = z.union([
  /**
   * `base64`: the base64 of the text's UTF-8 bytes. `epochSeconds`, `epochMilliseconds`: a time as a number. Dates
   * without a time begin at midnight UTC.
   */
  z.enum(['base64', 'epochSeconds', 'epochMilliseconds']),
  z.strictObject({
    /** A decimal amount as a whole number of smallest units. The currency: `EUR`, or `{currency}` for a parameter. */
    minorUnits: z.string().regex(/^([A-Z]{3}|\{\w+\})$/, 'must be a currency such as EUR, or {parameter}'),
    /** Decimals of currencies that the app counts in another way than ISO 4217: `{ISK: 2}`. */
    decimals: z.record(z.string().regex(/^[A-Z]{3}$/), z.int().min(0).max(6)).default({}),
  }),
  z.strictObject({
    /** The app's value for each value: `{true: Y, false: N}`. */
    values: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  }),
  z.strictObject({
    // Not z.json(): within a recursive schema, zod gives YAML aliases one shared result.
    /** JSON around the value, which is at `'{value}'`: `{type: doc, content: ['{value}']}`. */
    within: z.custom<Json>((value) => value !== undefined),
  }),
]);
export type Encode = z.infer<typeof encode>;

/** Returns the name of the parameter that holds the currency of amounts. */
export function currencyParameter(encode: Encode | undefined): string | undefined {
  if (typeof encode !== 'object' || !('minorUnits' in encode)) return undefined;
  return /^\{(\w+)\}$/.exec(encode.minorUnits)?.[1];
}
