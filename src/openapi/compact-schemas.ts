import type { JsonSchema } from '../connectors/format/format.ts';
import { withTypedValues } from '../connectors/schemas/typed-values.ts';
import { hiddenIn } from '../lib/hidden-characters.ts';
import { documentFault, type Documents } from './documents.ts';
import { plainKeywords } from './keywords.ts';
import { distinctName, fieldNameOf } from './action-names.ts';
import { entriesOf, isRecord, itemsOf, LeftOut, memberOf, placeOf, type Node } from './node.ts';
import type { Reporter } from './reporter.ts';
import { plainText } from './plain-text.ts';
import { propertiesNode } from './types.ts';

/* Schemas of a document as schemas of a connector file. A `$ref` becomes a named schema of the file. */

/** `input`: sent to the app, without members that only the app sets. `output`: part of its answers. */
export type Side = 'input' | 'output';

const MAX_DESCRIPTION = 300;
/** Schemas written inside of each other; deeper ones accept any value. */
const MAX_NESTING = 40;
/** Conversions of one import. A document whose references repeat large parts would take more. */
const MAX_CONVERSIONS = 500_000;
export const SCHEMA_REF = '#/schemas/';

export interface SchemaBook {
  /** Returns the schema of a node for one side. */
  convert(node: Node, side: Side): JsonSchema;
  /** Returns the named schemas that conversions referred to. */
  named(): Map<string, JsonSchema>;
}

interface State {
  documents: Documents;
  approximate: Reporter['approximate'];
  /** Returns the name of a schema that is converted later. */
  nameOf(node: Node, side: Side): string;
  conversions: { left: number };
}

interface Walk {
  side: Side;
  depth: number;
  inlined: number;
}

/** Returns the converter of a document's schemas. */
export function createSchemaBook(documents: Documents, { approximate }: Reporter): SchemaBook {
  const names = new Map<string, string>();
  const bases = new Map<string, string>();
  const taken = new Set<string>();
  const schemas = new Map<string, JsonSchema>();
  const waiting: { name: string; node: Node; side: Side }[] = [];

  function nameOf(node: Node, side: Side): string {
    const place = placeOf(node);
    const key = `${side} ${place}`;
    const known = names.get(key);
    if (known !== undefined) return known;
    // The name of the input's schema follows from that of the output's, so that equal ones can be merged.
    const base = bases.get(place) ?? distinctName(baseNameOf(node), place, taken);
    bases.set(place, base);
    taken.add(base);
    const name = side === 'input' ? `${base.slice(0, 58)}${INPUT}` : base;
    names.set(key, name);
    waiting.push({ name, node, side });
    return name;
  }

  const state: State = { documents, approximate, nameOf, conversions: { left: MAX_CONVERSIONS } };
  const whole = (node: Node, side: Side) => convert(state, node, { side, depth: 0, inlined: 0 });
  return {
    convert: whole,
    named() {
      for (let next = waiting.pop(); next; next = waiting.pop())
        schemas.set(next.name, whole(next.node, next.side));
      return schemas;
    },
  };
}

function convert(state: State, node: Node, walk: Walk): JsonSchema {
  if (state.conversions.left-- <= 0)
    throw documentFault(placeOf(node), 'the schemas are too large once references are followed');
  const { value } = node;
  if (value === true || value === undefined) return {};
  if (value === false) return { not: {} };
  const note = (what: string) => state.approximate(placeOf(node), what);
  if (!isRecord(value)) {
    note('is no schema, so any value is accepted');
    return {};
  }
  if (walk.depth > MAX_NESTING) {
    note(`nests deeper than ${MAX_NESTING} schemas, so any value is accepted`);
    return {};
  }
  if (value['$ref'] !== undefined) return referred(state, node, walk);
  const below = { ...walk, depth: walk.depth + 1 };
  if (state.documents.hasUnquotedTexts(node))
    note('values without quotes are texts, because its type is string');
  const schema = plainKeywords(value, note);
  const description = plainText(value['description'], MAX_DESCRIPTION);
  if (description !== undefined) schema['description'] = description;
  Object.assign(
    schema,
    membersOf(state, node, below),
    itemsIn(state, node, below),
    combined(state, node, below),
  );
  return nullable(value, withTypedValues(schema, note), walk.side);
}

/** Returns a reference to a named schema, or the schema itself where it is a short one of texts or numbers. */
function referred(state: State, node: Node, walk: Walk): JsonSchema {
  let target: Node | undefined;
  try {
    target = state.documents.target(node);
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    state.approximate(placeOf(node), `${error.message}, so any value is accepted`);
  }
  if (!target) return {};
  if (isPlain(target.value)) return convert(state, target, { ...walk, depth: walk.depth + 1 });
  if (isRecord(target.value) && target.value['$ref'] !== undefined && walk.inlined < 32)
    return referred(state, target, { ...walk, inlined: walk.inlined + 1 });
  const ref = { $ref: `${SCHEMA_REF}${state.nameOf(target, walk.side)}` };
  const description = plainText(memberOf(node, 'description').value, MAX_DESCRIPTION);
  return description === undefined ? ref : { ...ref, description };
}

function membersOf(state: State, node: Node, walk: Walk): JsonSchema {
  const members: JsonSchema = {};
  const properties = propertiesNode(state.documents, node);
  const dropped = new Set<string>();
  if (isRecord(properties.value)) {
    const kept = entriesOf(properties).filter(([name, member]) => {
      const gone = isUnsafe(name) || (walk.side === 'input' && isReadOnly(state.documents, member));
      if (gone) dropped.add(name);
      return !gone;
    });
    members['properties'] = Object.fromEntries(
      kept.map(([name, member]) => [name, convert(state, member, walk)]),
    );
  }
  const required = itemsOf(memberOf(node, 'required'))
    .map(({ value }) => value)
    .filter((name) => typeof name === 'string' && !dropped.has(name) && !isUnsafe(name));
  if (required.length > 0) members['required'] = [...new Set(required)];
  const more = memberOf(node, 'additionalProperties');
  const open = isRecord(memberOf(node, 'patternProperties').value);
  if (isRecord(more.value)) members['additionalProperties'] = convert(state, more, walk);
  else if (more.value === false && !open) members['additionalProperties'] = false;
  if (open) state.approximate(placeOf(node), 'its patternProperties are not checked');
  return members;
}

function itemsIn(state: State, node: Node, walk: Walk): JsonSchema {
  const items = memberOf(node, 'items');
  const first = itemsOf(memberOf(node, 'prefixItems'));
  const listed = Array.isArray(items.value) ? itemsOf(items) : [];
  if (first.length + listed.length === 0) {
    const isArray = [memberOf(node, 'type').value].flat().includes('array');
    return items.value === undefined && !isArray ? {} : { items: convert(state, items, walk) };
  }
  state.approximate(placeOf(node), 'the order of its items is not checked');
  const rest = isRecord(items.value) ? [items] : [];
  return { items: { anyOf: [...first, ...listed, ...rest].map((item) => convert(state, item, walk)) } };
}

function combined(state: State, node: Node, walk: Walk): JsonSchema {
  const parts: JsonSchema = {};
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const branches = itemsOf(memberOf(node, keyword));
    if (branches.length === 0) continue;
    // An answer may fit several branches, because the app adds members.
    const name = keyword === 'oneOf' && walk.side === 'output' ? 'anyOf' : keyword;
    const schemas = branches.map((branch) => tagged(state, { node, branch }, walk));
    parts[name] = parts[name] === undefined ? schemas : parts[name];
  }
  for (const keyword of ['not', 'if', 'dependentSchemas', 'contains', 'propertyNames', 'dependentRequired'])
    if (memberOf(node, keyword).value !== undefined)
      state.approximate(placeOf(node), `its rule \`${keyword}\` is not checked`);
  return parts;
}

/** Adds the value of the discriminator to a branch, so that a model sees which value belongs to it. */
function tagged(state: State, { node, branch }: { node: Node; branch: Node }, walk: Walk): JsonSchema {
  const schema = convert(state, branch, walk);
  const discriminator = memberOf(node, 'discriminator');
  const property = isRecord(discriminator.value) ? discriminator.value['propertyName'] : undefined;
  const ref = isRecord(branch.value) ? branch.value['$ref'] : undefined;
  if (typeof property !== 'string' || typeof ref !== 'string' || walk.side === 'output') return schema;
  if (schema['$ref'] === undefined) return schema;
  const own = memberOf(memberOf(state.documents.follow(branch), 'properties'), property).value;
  if (!isRecord(own) || own['type'] !== 'string' || own['enum'] || own['const'] || own['readOnly'])
    return schema;
  const mapping = Object.entries(Object(memberOf(discriminator, 'mapping').value));
  const values = mapping
    .filter(([, to]) => to === ref || to === ref.split('/').pop())
    .map(([value]) => value);
  const tags = values.length > 0 ? values : [ref.split('/').pop()];
  return {
    allOf: [schema],
    type: 'object',
    properties: { [property]: { enum: tags } },
    required: [property],
  };
}

/** The end of the name of a schema for inputs, where the one for outputs may differ. */
export const INPUT = '_input';

/** Returns a schema that accepts null too. OpenAPI 3.0 says `nullable`, which means nothing without a type. */
function nullable(raw: Record<string, unknown>, schema: JsonSchema, side: Side): JsonSchema {
  if (raw['nullable'] !== true && raw['x-nullable'] !== true) return schema;
  const { type, enum: values } = schema;
  if (typeof type === 'string' && type !== 'null') {
    const withNull = { ...schema, type: [type, 'null'] };
    // An enum must name null itself; without it the document accepts none.
    return Array.isArray(values) && side === 'output'
      ? { ...withNull, enum: [...new Set([...values, null])] }
      : withNull;
  }
  return type === undefined && side === 'output' && Object.keys(schema).length > 0
    ? { anyOf: [schema, { type: 'null' }] }
    : schema;
}

function baseNameOf({ pointer, file }: Node): string {
  const last = pointer.split('/').pop() ?? '';
  const generic = last === '' || /^(schema|items|\d+)$/.test(last);
  const source =
    generic && file !== ''
      ? file
          .replace(/\.\w+$/, '')
          .split('/')
          .pop()
      : last;
  return fieldNameOf(source || 'root').slice(0, 40);
}

/** Returns whether a schema is short and refers to nothing. */
function isPlain(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type, enum: values } = value;
  if (typeof type !== 'string' || !['string', 'number', 'integer', 'boolean'].includes(type)) return false;
  if (Array.isArray(values) && values.length > 12) return false;
  return !['allOf', 'anyOf', 'oneOf', '$ref'].some((keyword) => value[keyword] !== undefined);
}

/** Returns whether only the app sets a member. */
export function isReadOnly(documents: Documents, member: Node): boolean {
  if (isRecord(member.value) && member.value['readOnly'] === true) return true;
  if (!isRecord(member.value) || member.value['$ref'] === undefined) return false;
  try {
    return memberOf(documents.follow(member), 'readOnly').value === true;
  } catch {
    return false;
  }
}

/** Returns whether a name cannot stand in a connector file. */
function isUnsafe(name: string): boolean {
  return name === '__proto__' || name.includes('<!--') || hiddenIn(name) !== undefined;
}
