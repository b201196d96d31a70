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

function print(schema: z.ZodType, title: string): string {
  const printed = z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' });
  return `${JSON.stringify({ title, ...printed }, null, 2)}\n`;
}
