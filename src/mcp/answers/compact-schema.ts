import type { JsonSchema } from '../../connectors/format/format.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';

/** A shortened schema, and whether something was left out. */
export interface CompactSchema {
  schema: JsonSchema;
  isCut: boolean;
}

/**
 * Returns a schema of an input in at most `maxCharacters` of JSON. Leaves out, in this order until it fits: descriptions
 * of optional members, all descriptions, the inner schemas of members, and optional members from the end.
 */
export function compactSchema(schema: JsonSchema, maxCharacters: number): CompactSchema {
  const forms = [
    () => schema,
    () => eachMember(schema, (member, isRequired) => (isRequired ? member : withoutProse(member))),
    () => eachMember(schema, withoutProse),
    () => eachMember(schema, (member) => shallow(withoutProse(member))),
  ];
  for (const [at, form] of forms.entries()) {
    const compact = form();
    if (sizeOf(compact) <= maxCharacters) return { schema: compact, isCut: at > 0 };
  }
  return { schema: withFewerMembers(eachMember(schema, shallow), maxCharacters), isCut: true };
}

function sizeOf(schema: JsonSchema): number {
  return JSON.stringify(schema).length;
}

function requiredOf({ required }: JsonSchema): ReadonlySet<unknown> {
  return new Set(Array.isArray(required) ? required : []);
}

function eachMember(
  schema: JsonSchema,
  change: (member: JsonSchema, isRequired: boolean) => JsonSchema,
): JsonSchema {
  const required = requiredOf(schema);
  const members = Object.entries(asSchema(schema['properties'])).map(
    ([name, member]): [string, JsonSchema] => [name, change(asSchema(member), required.has(name))],
  );
  return { ...schema, properties: Object.fromEntries(members) };
}

/** Removes descriptions at every depth. A parameter may have one of these names, so `properties` are walked apart. */
function withoutProse(schema: JsonSchema): JsonSchema {
  const rest = Object.entries(schema).filter(
    ([keyword]) => !['description', 'title', 'examples'].includes(keyword),
  );
  return Object.fromEntries(
    rest.map(([keyword, value]): [string, unknown] => {
      if (keyword === 'properties')
        return [keyword, eachMember({ properties: value }, withoutProse)['properties']];
      if (keyword === 'items') return [keyword, withoutProse(asSchema(value))];
      if (keyword === 'anyOf' && Array.isArray(value))
        return [keyword, value.map((one) => withoutProse(asSchema(one)))];
      return [keyword, value];
    }),
  );
}

/** Keeps the type and the choices of a member. */
function shallow({ type, enum: choices, anyOf, items }: JsonSchema): JsonSchema {
  const types = Array.isArray(anyOf) ? anyOf.map((branch) => asSchema(branch)['type']) : [];
  return {
    ...(type === undefined ? {} : { type }),
    ...(type === undefined && types.every((one) => typeof one === 'string') && types.length > 0
      ? { type: [...new Set(types)] }
      : {}),
    ...(choices === undefined ? {} : { enum: choices }),
    ...(items === undefined || asSchema(items)['type'] === undefined
      ? {}
      : { items: { type: asSchema(items)['type'] } }),
  };
}

function withFewerMembers(schema: JsonSchema, maxCharacters: number): JsonSchema {
  const required = requiredOf(schema);
  const members = Object.entries(asSchema(schema['properties']));
  const needed = members.filter(([name]) => required.has(name));
  const optional = members.filter(([name]) => !required.has(name));
  let compact = { ...schema, properties: Object.fromEntries(needed) };
  for (const member of optional) {
    const more = { ...schema, properties: { ...compact.properties, [member[0]]: member[1] } };
    if (sizeOf(more) > maxCharacters) break;
    compact = more;
  }
  return compact;
}
