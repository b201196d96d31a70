import { createRequire } from 'node:module';
import type * as AjvModule from 'ajv/dist/2020.js';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type * as FormatsModule from 'ajv-formats';
import type { Fault } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Action } from './catalog.ts';
import type { JsonSchema } from './format.ts';

const MAX_FAULTS = 20;
const require = createRequire(import.meta.url);

/** One Ajv for the process, loaded at its first use: it costs 60 ms, and a start should not wait for it. */
let shared: Ajv2020 | undefined;
const validators = new WeakMap<Action, ValidateFunction>();

/** A validator of a JSON Schema 2020-12. @throws Error saying what is wrong with the schema. */
export function compileSchema(schema: JsonSchema): ValidateFunction {
  return ajv().compile(schema);
}

/**
 * The faults of an input by field, at most 20, none when it is good. Types are not coerced and defaults not filled
 * in: what the caller sent is what is sent on.
 */
export function checkInput(action: Action, input: JsonObject): Fault[] {
  let validate = validators.get(action);
  if (!validate) {
    validate = compileSchema(action.inputSchema);
    validators.set(action, validate);
  }
  if (validate(input)) return [];
  return (validate.errors ?? []).slice(0, MAX_FAULTS).map(toFault);
}

/**
 * The faults of a value by a schema that came over the API, below `where`. The schema is compiled for this once: it is
 * not kept, since there is no end of them.
 */
export function checkValue(schema: JsonSchema, value: JsonObject, where: string): Fault[] {
  const validate = compileSchema(schema);
  try {
    if (validate(value)) return [];
    return (validate.errors ?? []).slice(0, MAX_FAULTS).map((error) => {
      const { field, rule } = toFault(error);
      return { field: field === '(whole)' ? where : `${where}.${field}`, rule };
    });
  } finally {
    shared?.removeSchema(schema);
  }
}

/** What is wrong with a schema that came over the API; undefined when nothing is. */
export function schemaFault(schema: JsonSchema): string | undefined {
  try {
    compileSchema(schema);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'is no JSON Schema';
  } finally {
    shared?.removeSchema(schema);
  }
}

function ajv(): Ajv2020 {
  if (!shared) {
    const { Ajv2020: Ajv }: typeof AjvModule = require('ajv/dist/2020.js');
    const { default: addFormats }: typeof FormatsModule = require('ajv-formats');
    // `code.esm` and source maps are off by default; `strict` finds misspelt keywords in connector files.
    shared = new Ajv({
      allErrors: true,
      strict: true,
      strictRequired: false,
      strictTypes: false,
      allowUnionTypes: true,
    });
    addFormats.default(shared);
    // A file in `input`: its content arrives as an object, checked where it is read.
    shared.addFormat('binary', true);
  }
  return shared;
}

function toFault(error: ErrorObject): Fault {
  const at = error.instancePath.slice(1).replaceAll('/', '.');
  const below = (name: string) => (at ? `${at}.${name}` : name);
  const { params } = error;
  switch (error.keyword) {
    case 'required':
      return { field: below(String(params['missingProperty'])), rule: 'is required' };
    case 'additionalProperties':
      return {
        field: below(String(params['additionalProperty']).slice(0, 64)),
        rule: 'is not a known parameter',
      };
    case 'enum': {
      const values: unknown[] = Array.isArray(params['allowedValues']) ? params['allowedValues'] : [];
      return { field: at, rule: `must be one of: ${values.map(String).join(', ')}` };
    }
    case 'const':
      return { field: at, rule: `must be ${JSON.stringify(params['allowedValue'])}` };
    default:
      return { field: at || '(whole)', rule: error.message ?? 'is invalid' };
  }
}
