import { z } from 'zod';
import { describeFormat } from './doc-comments.ts';

/** A node of a JSON Schema. */
export type Schema = { [keyword: string]: unknown };

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the JSON Schemas of a connector's two files, with the doc comments of the format as descriptions.
 * @throws when a field has none.
 */
export async function formatSchemas(): Promise<{ connector: Schema; examples: Schema }> {
  describeFormat();
  const { connectorFile } = await import('../../src/connectors/format/format.ts');
  const { examplesFile } = await import('../../src/connectors/format/examples-format.ts');
  const schemas = { connector: plain(connectorFile), examples: plain(examplesFile) };
  const silent = [...undescribed(schemas.connector, ''), ...undescribed(schemas.examples, 'examples.yaml')];
  if (silent.length > 0) throw new Error(`fields without a doc comment:\n${silent.join('\n')}`);
  return schemas;
}

/** Returns the text of the schema that editors read, for completion, hints and faults. */
export function editorText(title: string, schema: unknown): string {
  return `${JSON.stringify({ title, ...Object(schema) }, null, 2)}\n`;
}

/** A fragment gives members, so a mapping that extends one need not have the required ones. */
const EXTENDS = {
  type: 'string',
  pattern: '^[a-z0-9-]{1,32}\\.[a-zA-Z_][a-zA-Z0-9_]*$',
  description: 'A fragment whose members this mapping takes over: <connector id>.<fragment>.',
};

/** Adds `extends` to each object with members of its own. */
export function withExtends(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withExtends);
  if (!isSchema(node)) return node;
  const members: Schema = Object.fromEntries(
    Object.entries(node).map(([name, member]) => [name, withExtends(member)]),
  );
  const { properties, required, additionalProperties, ...rest } = members;
  if (!isSchema(properties) || additionalProperties !== false) return members;
  const needs = required === undefined ? {} : { anyOf: [{ required }, { required: ['extends'] }] };
  return { ...rest, properties: { ...properties, extends: EXTENDS }, ...needs, additionalProperties };
}

function plain(schema: z.ZodType): Schema {
  const printed: Schema = {
    ...z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' }),
  };
  describeVariants(printed);
  return printed;
}

/** Gives the member that names a variant, such as `type`, the description of the variant. */
function describeVariants(node: unknown): void {
  if (Array.isArray(node)) for (const each of node) describeVariants(each);
  if (!isSchema(node)) return;
  const { properties, description } = node;
  for (const member of isSchema(properties) ? Object.values(properties) : [])
    if (isSchema(member) && member['const'] !== undefined && description !== undefined)
      member['description'] ??= description;
  for (const member of Object.values(node)) describeVariants(member);
}

/** Returns the paths of the properties without a description. */
function undescribed(node: unknown, path: string): string[] {
  if (Array.isArray(node)) return node.flatMap((each) => undescribed(each, path));
  if (!isSchema(node)) return [];
  const { properties, ...rest } = node;
  const members = isSchema(properties) ? Object.entries(properties) : [];
  return [
    ...members.flatMap(([name, member]) => {
      const at = path === '' ? name : `${path}.${name}`;
      const own = isSchema(member) && member['description'] === undefined ? [at] : [];
      return [...own, ...undescribed(member, at)];
    }),
    ...Object.values(rest).flatMap((each) => undescribed(each, path)),
  ];
}
