import type { ActionDefinition, ConnectorFile, JsonSchema, Paging, Parameter } from '../format/format.ts';
import { asSchema } from './model-schema.ts';
import { memoByObject } from '../../lib/memo.ts';
import { fileSchema, isFile } from '../file-values.ts';
import { parametersOf } from '../parameters.ts';

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const MAX_PAGE = 50;
/** Our own keywords in a parameter, which are no JSON Schema. */
const OWN_KEYWORDS = new Set([
  'as',
  'style',
  'quote',
  'spread',
  'whole',
  'encode',
  'prefix',
  'slashes',
  'contentType',
  'filename',
]);

/** A record of `each` that could not be read. */
const UNREAD: JsonSchema = {
  type: 'object',
  properties: {
    readError: {
      type: 'object',
      description: 'Why this record could not be read; it holds what the list says of it alone.',
      properties: { code: { type: 'string' }, message: { type: 'string' }, said: { type: 'string' } },
      required: ['code', 'message'],
    },
  },
};

/** Returns whether the calls of an action have a body, whatever their input is. */
export function sendsBody({
  body,
  bodyMap,
  bodyType,
  email,
  fixed,
  graphql,
  idempotencyParam,
  xml,
}: ActionDefinition): boolean {
  return (
    graphql !== undefined ||
    xml !== undefined ||
    idempotencyParam !== undefined ||
    email !== undefined ||
    bodyMap !== undefined ||
    bodyType === 'related' ||
    bodyType === 'binary' ||
    Object.keys(body).length > 0 ||
    Object.keys(fixed?.body ?? {}).length > 0
  );
}

/** Returns the paging of an action, named or complete. */
export function pagingOf(file: ConnectorFile, { paging }: ActionDefinition) {
  return typeof paging === 'string' ? file.paging[paging] : paging;
}

/**
 * Returns the parameters that the paging of an action sends to a place of the request. `always`: also for the first
 * page.
 */
export function pagingParameters(
  file: ConnectorFile,
  action: ActionDefinition,
  place: string,
): { name: string; always: boolean }[] {
  const paging = pagingOf(file, action);
  if (!paging || !('in' in paging) || paging.in !== place) return [];
  const size = paging.limitParam === undefined ? [] : [{ name: paging.limitParam, always: true }];
  if ('offsetParam' in paging) return [{ name: paging.offsetParam, always: true }, ...size];
  if ('pageParam' in paging) return [{ name: paging.pageParam, always: true }, ...size];
  if ('cursorParam' in paging) return [{ name: paging.cursorParam, always: false }, ...size];
  return size;
}

/**
 * Returns the JSON Schema 2020-12 of an action's input: the parameters of callers, and `limit` and `offset` for a
 * list.
 */
export function inputSchemaOf(
  file: ConnectorFile,
  action: ActionDefinition,
  paging: Paging | undefined,
): JsonSchema {
  if (action.input) return { ...action.input, $schema: DIALECT };
  const parameters = parametersOf(action).filter(
    ({ name }) => !Object.hasOwn(action.before?.fill ?? {}, name),
  );
  const properties: Record<string, unknown> = Object.fromEntries(
    parameters.map(({ name, parameter }) => [name, propertySchema(parameter)]),
  );
  const required = parameters.filter((one) => one.required).map(({ name }) => name);
  if (paging) {
    const size = 'defaultLimit' in paging ? paging.defaultLimit : undefined;
    properties['limit'] = {
      type: 'integer',
      minimum: 1,
      maximum: MAX_PAGE,
      description: `Records of this page, at most ${MAX_PAGE}. Default: ${Math.min(MAX_PAGE, size ?? paging.maxLimit)}.`,
    };
    properties['offset'] = {
      type: 'integer',
      minimum: 0,
      description: 'Records to skip: 0 first, then nextOffset of the last answer.',
    };
  }
  return withDefinitions(file, {
    $schema: DIALECT,
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
    ...action.rules,
    additionalProperties: false,
  });
}

/** Returns the JSON Schema 2020-12 of an action's answer: `{data}`, or a page. */
export function outputSchemaOf(
  file: ConnectorFile,
  action: ActionDefinition,
  paging: Paging | undefined,
): JsonSchema {
  const value = action.response.schema ?? {};
  if (!paging) {
    return withDefinitions(file, {
      $schema: DIALECT,
      type: 'object',
      properties: { data: value },
      required: ['data'],
    });
  }
  return withDefinitions(file, {
    $schema: DIALECT,
    type: 'object',
    properties: {
      data: { type: 'array', items: action.each ? { allOf: [value, UNREAD] } : value },
      pagination: {
        type: 'object',
        properties: { hasMore: { type: 'boolean' }, nextOffset: { type: 'integer' } },
        required: ['hasMore'],
      },
    },
    required: ['data', 'pagination'],
  });
}

/** Returns every `$ref` in a schema. */
export function refsOf(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(refsOf);
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value] : refsOf(value),
  );
}

export function propertySchema(parameter: Parameter): JsonSchema {
  if (isFile(parameter)) return fileSchema(parameter);
  return Object.fromEntries(
    Object.entries(parameter).filter(
      ([key, value]) => !OWN_KEYWORDS.has(key) && !(key === 'required' && typeof value === 'boolean'),
    ),
  );
}

/** Returns the schema with `#/schemas/x` as `#/$defs/x`, and the definitions that it needs, directly or indirectly. */
function withDefinitions(file: ConnectorFile, schema: JsonSchema): JsonSchema {
  const $defs = definitionsIn(file.schemas)(refsOf(schema));
  return $defs ? { ...asSchema(moved(schema)), $defs } : schema;
}

/**
 * Returns a function that gives the definitions which references need, or undefined for none. Each definition is made once, and so is each set of
 * them, because hundreds of actions may need the same hundreds of schemas.
 */
const definitionsIn = memoByObject((schemas: ConnectorFile['schemas']) => {
  const made = new Map<string, { schema: unknown; refs: string[] }>();
  const sets = new Map<string, JsonSchema>();
  const definition = (name: string) => {
    const known = made.get(name);
    if (known || !Object.hasOwn(schemas, name)) return known;
    const one = { schema: moved(schemas[name]), refs: refsOf(schemas[name]) };
    made.set(name, one);
    return one;
  };
  return (refs: readonly string[]): JsonSchema | undefined => {
    const needed = new Map<string, unknown>();
    const collect = (some: readonly string[]): void => {
      for (const ref of some) {
        const name = ref.slice('#/schemas/'.length);
        const found = needed.has(name) ? undefined : definition(name);
        if (!found) continue;
        needed.set(name, found.schema);
        collect(found.refs);
      }
    };
    collect(refs);
    if (needed.size === 0) return undefined;
    const key = [...needed.keys()].sort().join(' ');
    const known = sets.get(key) ?? Object.fromEntries(needed);
    sets.set(key, known);
    return known;
  };
});

function moved(value: unknown): unknown {
  return withRefs(value, (ref) => ref.replace('#/schemas/', '#/$defs/'));
}

/** Returns a schema with its `$ref`s renamed. */
export function withRefs(value: unknown, renamed: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => withRefs(item, renamed));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' ? renamed(member) : withRefs(member, renamed),
    ]),
  );
}
