import type { FieldSchema } from './api.ts';
import { texts } from './page-texts.ts';

/* The rules of typed values, for the modal and for applications that draw their own form. */

const MAX_CHARS = 10_000;
// eslint-disable-next-line no-control-regex -- this pattern finds control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

/** The fields of an authentication type (JSON Schema 2020-12). */
export interface FieldSchemas {
  properties?: Record<string, FieldSchema>;
  required?: string[];
}

/** Removes blanks around a pasted value, and reduces a whole address to its host where a host is required. */
export function tidy(text: string, { format }: FieldSchema): string {
  const trimmed = text.trim();
  return format === 'hostname' ? trimmed.replace(/^https?:\/\//i, '').replace(/\/.*$/, '') : trimmed;
}

/** Returns the rule that a value breaks, as a sentence. */
export function faultOf(
  value: string,
  schema: FieldSchema & { title: string },
  required: boolean,
): string | undefined {
  const { faults } = texts;
  if (value === '') return required ? faults.required(schema.title) : undefined;
  if (value.length > (schema.maxLength ?? MAX_CHARS)) return faults.tooLong(schema.maxLength ?? MAX_CHARS);
  if (schema.contentMediaType === undefined && CONTROL.test(value)) return faults.lines;
  if (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value)) return undefined;
  if (schema.format === 'hostname' || schema.format === 'uri' || schema.format === 'email') {
    return faults[schema.format];
  }
  return faults.pattern(schema.title, schema.examples?.[0]);
}

/**
 * Returns the input type, which selects a phone's keyboard. `url` and `email` would check by their own rules, so a form
 * is novalidate.
 */
export function inputType(format: string | undefined): 'email' | 'url' | 'text' {
  if (format === 'email') return 'email';
  return format === 'uri' || format === 'hostname' ? 'url' : 'text';
}
