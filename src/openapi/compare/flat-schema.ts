import type { Documents } from '../documents.ts';
import { entriesOf, isRecord, itemsOf, memberOf, placeOf, type Node } from '../node.ts';

/** A schema with its references, lists and alternatives merged. */
export interface FlatSchema {
  /** Schemas of a member by its name; several are alternatives. */
  properties: Map<string, readonly Node[]>;
  required: Set<string>;
  values: unknown[] | undefined;
  maximum: number | undefined;
  deprecated: boolean;
  /** Whether members may have other names too. */
  open: boolean;
}

/** Merges the schemas of a document. Each schema is merged once. */
export interface FlatSchemas {
  /**
   * Returns the merged schema of alternatives.
   * @throws LeftOut for a reference that leads nowhere.
   */
  flat(nodes: readonly Node[]): FlatSchema;
}

export function createFlatSchemas(documents: Documents): FlatSchemas {
  const known = new Map<string, FlatSchema | 'begun'>();

  const flatOf = (node: Node): FlatSchema => {
    const schema = documents.follow(node);
    const place = placeOf(schema);
    const found = known.get(place);
    // A schema inside of itself adds nothing, but its members are not all known here.
    if (found === 'begun') return { ...nothing(), open: true };
    if (found) return found;
    known.set(place, 'begun');
    const made = merged(schema);
    known.set(place, made);
    return made;
  };

  const merged = (schema: Node): FlatSchema => {
    const own = ownParts(schema, documents.follow(memberOf(schema, 'properties')));
    const items = memberOf(schema, 'items');
    if (isRecord(items.value)) merge(own, flatOf(items));
    for (const part of itemsOf(memberOf(schema, 'allOf'))) merge(own, flatOf(part));
    const alternatives = [...itemsOf(memberOf(schema, 'anyOf')), ...itemsOf(memberOf(schema, 'oneOf'))]
      .filter((one) => memberOf(one, 'type').value !== 'null')
      .map(flatOf);
    if (alternatives.length > 0) merge(own, either(alternatives));
    return own;
  };

  return {
    flat(nodes) {
      const [only, ...others] = nodes;
      if (only && others.length === 0) return flatOf(only);
      return either(nodes.map(flatOf));
    },
  };
}

function nothing(): FlatSchema {
  return {
    properties: new Map(),
    required: new Set(),
    values: undefined,
    maximum: undefined,
    deprecated: false,
    open: false,
  };
}

function ownParts(schema: Node, members: Node): FlatSchema {
  const at = (name: string) => memberOf(schema, name).value;
  const more = at('additionalProperties');
  // Some documents write the required members of records next to `items`, where they mean nothing.
  const isList = at('items') !== undefined && at('properties') === undefined;
  const required = isList ? [] : itemsOf(memberOf(schema, 'required')).map(({ value }) => String(value));
  const properties = entriesOf(members).map(([name, node]) => [name, [node]] as const);
  const maximum = at('maximum');
  const values = at('enum');
  const only = at('const');
  return {
    properties: new Map(properties),
    required: new Set(required),
    values: Array.isArray(values) ? values : only === undefined ? undefined : [only],
    maximum: typeof maximum === 'number' ? maximum : undefined,
    deprecated: at('deprecated') === true,
    open: more === true || isRecord(more) || isRecord(at('patternProperties')),
  };
}

/** Merges alternatives: a name is required where all require it, and values are known where all name them. */
function either(alternatives: readonly FlatSchema[]): FlatSchema {
  const [first, ...others] = alternatives;
  const all: FlatSchema = { ...nothing(), required: new Set(first?.required) };
  for (const one of alternatives) {
    for (const [name, nodes] of one.properties)
      all.properties.set(name, [...(all.properties.get(name) ?? []), ...nodes]);
    all.open ||= one.open;
  }
  for (const one of others)
    all.required = new Set([...all.required].filter((name) => one.required.has(name)));
  const values = alternatives.map((one) => one.values);
  if (values.every((one) => one !== undefined)) all.values = values.flat();
  return all;
}

function merge(into: FlatSchema, part: FlatSchema): void {
  for (const [name, nodes] of part.properties)
    if (!into.properties.has(name)) into.properties.set(name, nodes);
  for (const name of part.required) into.required.add(name);
  into.values ??= part.values;
  into.maximum ??= part.maximum;
  into.open ||= part.open;
}
