import { z } from 'zod';
import { examplesFile } from '../../src/connectors/examples-format.ts';
import { connectorFile } from '../../src/connectors/format.ts';

/** Returns the JSON Schemas of a connector's two files, for completion, hints and faults in editors. */
export function editorSchemas(): { connector: string; examples: string } {
  return {
    connector: print(connectorFile, 'Gatehouse connector file'),
    examples: print(examplesFile, 'Gatehouse connector examples'),
  };
}

/** A fragment gives members, so a mapping that extends one need not have the required ones. */
const EXTENDS = {
  type: 'string',
  pattern: '^[a-z0-9-]{1,32}\\.[a-zA-Z_][a-zA-Z0-9_]*$',
  description: 'A fragment whose members this mapping takes over: <connector id>.<fragment>.',
};

/** Adds `extends` to each object with members of its own. */
function withExtends(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withExtends);
  if (typeof node !== 'object' || node === null) return node;
  const members = Object.fromEntries(
    Object.entries(node).map(([name, member]) => [name, withExtends(member)]),
  );
  const { properties, required, additionalProperties, ...rest } = members;
  if (typeof properties !== 'object' || additionalProperties !== false) return members;
  const needs = required === undefined ? {} : { anyOf: [{ required }, { required: ['extends'] }] };
  return { ...rest, properties: { ...properties, extends: EXTENDS }, ...needs, additionalProperties };
}

function print(schema: z.ZodType, title: string): string {
  const plain = z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' });
  const printed = Object(schema === connectorFile ? withExtends(plain) : plain);
  return `${JSON.stringify({ title, ...printed }, null, 2)}\n`;
}
