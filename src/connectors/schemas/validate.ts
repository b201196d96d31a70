import { createRequire } from 'node:module';
import type * as AjvModule from 'ajv/dist/2020.js';
import type { Ajv2020, ErrorObject, Options } from 'ajv/dist/2020.js';
import type * as FormatsModule from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import type { Fault } from '../../lib/errors.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { holdsMoreThan } from '../../lib/json-bounds.ts';
import {
  compilePattern,
  createStepBudget,
  TooManyStepsError,
  type LinearPattern,
  type StepBudget,
} from '../../lib/linear-pattern.ts';
import { inType, meantMember, oneOf } from '../../lib/near-members.ts';
import type { Action } from '../catalog.ts';
import type { JsonSchema } from '../format/format.ts';
import { listedPlaces, ruleAt, type ListedPlace } from './value-lists.ts';
import { hasExactNumbers, withExactNumbers } from './exact-input.ts';
import { asSchema, choiceOf } from './model-schema.ts';
import { schemaPatternFaults } from '../patterns.ts';
import { refsOf, withRefs } from './action-schemas.ts';
import { memoByObject } from '../../lib/memo.ts';

const MAX_FAULTS = 20;
/**
 * A value that holds more values than this is checked up to its first fault. Otherwise each wrong item of a long list
 * would have an error, which costs 1 µs.
 */
const MAX_FULLY_CHECKED = 2000;
const MAX_CACHED_PATTERNS = 1000;
const require = createRequire(import.meta.url);

/**
 * The engine of this process. It is loaded at its first use, because it costs 60 ms and a start should not wait for
 * it.
 */
let shared: Engine | undefined;
/** The engine for large values. It stops at the first fault. */
let brief: Engine | undefined;
const validatorOf = memoByObject((action: Action) => compileSchema(action.inputSchema));

/** Options that make compiling faster where nothing is validated. Measured: half of the time. */
const CHECK_ONLY: Options = {
  allErrors: false,
  verbose: false,
  inlineRefs: false,
  code: { optimize: false },
};

interface Engine {
  ajv: Ajv2020;
  /** The budget of the running check; checks do not interleave. */
  budget: StepBudget;
}

/**
 * Returns a validator of a JSON Schema 2020-12, which returns the faults of a value by field, at most 20, and the first
 * one of a large value. Patterns are matched in linear time. Numbers beyond 2^53 are texts in a value (exact-input.ts), and
 * are checked as doubles.
 * @throws Error that names the fault of the schema.
 */
export function compileSchema(schema: JsonSchema): (value: unknown) => Fault[] {
  const full = checkWith(engine(), schema);
  let upToFirst: ((value: unknown) => Fault[]) | undefined;
  return (value) => {
    if (!holdsMoreThan(value, MAX_FULLY_CHECKED)) return full(value);
    upToFirst ??= checkWith((brief ??= newEngine({ allErrors: false })), schema);
    return upToFirst(value);
  };
}

function checkWith(used: Engine, schema: JsonSchema): (value: unknown) => Fault[] {
  const validate = used.ajv.compile(schema);
  let listed: ListedPlace[] | undefined;
  const check = (value: unknown): Fault[] => {
    used.budget = createStepBudget();
    try {
      if (validate(value)) return [];
    } catch (error) {
      if (!(error instanceof TooManyStepsError)) throw error;
      return [{ field: '(whole)', rule: 'holds too much text for the patterns of its schema' }];
    }
    listed ??= listedPlaces(schema);
    return faultsOf(validate.errors ?? [], listed);
  };
  return (value) => {
    const faults = check(value);
    if (faults.length === 0 || !isJsonObject(value) || !hasExactNumbers(value)) return faults;
    return check(withExactNumbers(schema, value, Number));
  };
}

/** Removes a schema from the caches of this process. */
function removeSchema(schema: JsonSchema): void {
  shared?.ajv.removeSchema(schema);
  brief?.ajv.removeSchema(schema);
}

/**
 * Returns the faults of an input by field, at most 20, none when it is valid. Types are not coerced and defaults not
 * filled in: the caller's input is sent unchanged.
 */
export function checkInput(action: Action, input: JsonObject): Fault[] {
  return validatorOf(action)(input);
}

/**
 * Returns the faults of a value by a schema of an API client, below `where`. The compiled schema is not cached,
 * because there is no limit to such schemas.
 */
export function checkValue(schema: JsonSchema, value: JsonObject, where: string): Fault[] {
  try {
    return compileSchema(schema)(value).map(({ field, rule }) => ({
      field: field === '(whole)' ? where : `${where}.${field}`,
      rule,
    }));
  } finally {
    removeSchema(schema);
  }
}

/** Returns the faults of a schema that came over the API, by their path below `where`. */
export function schemaFaults(schema: JsonSchema, where: string): Fault[] {
  const patterns = schemaPatternFaults(schema, where);
  if (patterns.length > 0) return patterns;
  try {
    compileSchema(schema);
    return [];
  } catch (error) {
    return [{ field: where, rule: error instanceof Error ? error.message : 'is no JSON Schema' }];
  } finally {
    removeSchema(schema);
  }
}

/**
 * Returns a function that compiles schemas which refer to the shared schemas of a connector file (`#/schemas/x`). Each
 * shared schema is compiled once. Nothing stays in the cache of this process.
 */
export function compilerOf(schemas: Readonly<Record<string, JsonSchema>>): (schema: JsonSchema) => void {
  const { ajv } = newEngine(CHECK_ONLY);
  const ids = new Map(
    Object.keys(schemas).map((name, index) => [`#/schemas/${name}`, `urn:schema:${index}`]),
  );
  const placed = (schema: JsonSchema) => asSchema(withRefs(schema, (ref) => ids.get(ref) ?? ref));
  const add = (refs: readonly string[]): void => {
    for (const ref of refs) {
      const id = ids.get(ref);
      const schema = schemas[ref.slice('#/schemas/'.length)];
      if (id === undefined || !schema || ajv.schemas[id]) continue;
      ajv.addSchema(placed(schema), id);
      add(refsOf(schema));
    }
  };
  // Many actions have the same schema, and to compile one takes half a millisecond.
  const compiled = new Set<string>();
  return (schema) => {
    const text = JSON.stringify(schema);
    if (compiled.has(text)) return;
    add(refsOf(schema));
    ajv.compile(placed(schema));
    compiled.add(text);
  };
}

function engine(): Engine {
  return (shared ??= newEngine());
}

function newEngine(options: Options = {}): Engine {
  const { Ajv2020: Ajv }: typeof AjvModule = require('ajv/dist/2020.js');
  const { default: addFormats }: typeof FormatsModule = require('ajv-formats');
  const compiled = new LRUCache<string, LinearPattern>({ max: MAX_CACHED_PATTERNS });
  /** Returns the pattern for Ajv. Ajv treats two patterns with one text, by toString, as the same. */
  const regExp = (source: string) => {
    const pattern = compiled.get(source) ?? compilePattern(source);
    compiled.set(source, pattern);
    return {
      test(text: string) {
        made.budget.take(pattern, text);
        return pattern.test(text);
      },
      toString: () => source,
    };
  };
  // `code.esm` and source maps are off by default; `strict` finds misspelt keywords in connector files.
  const ajv = new Ajv({
    allErrors: true,
    strict: true,
    strictRequired: false,
    strictTypes: false,
    allowUnionTypes: true,
    // The check for names that also match a pattern would run that pattern in the engine of JavaScript.
    allowMatchingProperties: true,
    // Errors then have their schema, so a fault can propose its names.
    verbose: true,
    ...options,
    code: { ...options.code, regExp: Object.assign(regExp, { code: 'linear' }) },
  });
  addFormats.default(ajv);
  // An annotation for stored inputs and outputs (src/actions/redact.ts).
  ajv.addKeyword({ keyword: 'sensitive', schemaType: 'boolean' });
  // The name of the header that repeats an argument since MCP 2026-07-28 (SEP-2243).
  ajv.addKeyword({ keyword: 'x-mcp-header', schemaType: 'string' });
  // The expression of ajv-formats takes time that is quadratic in the text.
  ajv.addFormat('url', isUrl);
  // Ajv compares each item of a list with all others.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (wanted: boolean, items: Json[]) => !wanted || areUnique(items),
    error: { message: 'must NOT have duplicate items' },
  });
  // A file in `input`: its content arrives as an object, checked where it is read.
  ajv.addFormat('binary', true);
  const made = { ajv, budget: createStepBudget() };
  return made;
}

function areUnique(items: readonly Json[]): boolean {
  return new Set(items.map((item) => canonicalJson(item))).size === items.length;
}

function isUrl(text: string): boolean {
  return /^(?:https?|ftp):\/\/\S/i.test(text) && URL.canParse(text);
}

/** Returns the faults of errors. A choice of required properties is one fault, not one for each property. */
function faultsOf(errors: readonly ErrorObject[], listed: readonly ListedPlace[]): Fault[] {
  const choices = new Set(
    errors.filter((error) => missingChoice(error) !== undefined).map((error) => error.schemaPath),
  );
  const isPartOfChoice = ({ schemaPath }: ErrorObject) =>
    [...choices].some((choice) => schemaPath.startsWith(`${choice}/`));
  const faults = errors
    .filter((error) => !isPartOfChoice(error))
    .slice(0, MAX_FAULTS)
    .map((error) => toFault(error, listed));
  // Each schema of a place that lists its values has the same fault.
  return faults.filter(
    ({ field, rule }, index) => faults.findIndex((one) => one.field === field && one.rule === rule) === index,
  );
}

/** Returns the properties of which one is required, in words. */
function missingChoice({ keyword, schema }: ErrorObject): string | undefined {
  return keyword === 'anyOf' && Array.isArray(schema) ? choiceOf(schema) : undefined;
}

/** Values in formats whose names do not show how they are written. */
const SAMPLES: { [format: string]: string } = {
  'date-time': '2026-03-01T12:00:00Z',
  date: '2026-03-01',
  time: '12:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com',
};

function toFault(error: ErrorObject, listed: readonly ListedPlace[]): Fault {
  const at = error.instancePath.slice(1).replaceAll('/', '.');
  const known = ruleAt(listed, error.instancePath, error.data);
  if (known !== undefined) return { field: at || '(whole)', rule: known };
  const below = (name: string) => (at ? `${at}.${name}` : name);
  const { params } = error;
  switch (error.keyword) {
    case 'required':
      return { field: below(String(params['missingProperty'])), rule: 'is required' };
    case 'additionalProperties': {
      const name = String(params['additionalProperty']);
      const { properties, required } = Object(error.parentSchema);
      const members = { properties: asSchema(properties), required: Array.isArray(required) ? required : [] };
      const meant = meantMember(name, error.data, members);
      return { field: below(name.slice(0, 64)), rule: `is not a known parameter${meant}` };
    }
    case 'enum': {
      const values: unknown[] = Array.isArray(params['allowedValues']) ? params['allowedValues'] : [];
      return { field: at || '(whole)', rule: oneOf(values, error.data) };
    }
    case 'anyOf': {
      const choice = missingChoice(error);
      const rule =
        choice === undefined ? (error.message ?? 'is invalid') : `needs at least one of: ${choice}`;
      return { field: at || '(whole)', rule };
    }
    case 'const':
      return { field: at, rule: `must be ${JSON.stringify(params['allowedValue'])}` };
    case 'type':
      return {
        field: at || '(whole)',
        rule: `${error.message ?? 'is invalid'}${inType(params['type'], error.data)}`,
      };
    case 'format': {
      const example = SAMPLES[String(params['format'])];
      const suchAs = example === undefined ? '' : `, such as ${example}`;
      return { field: at || '(whole)', rule: `${error.message ?? 'is invalid'}${suchAs}` };
    }
    default:
      return { field: at || '(whole)', rule: error.message ?? 'is invalid' };
  }
}
