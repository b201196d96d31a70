import { memoByObject } from '../lib/memo.ts';
import type { ActionDefinition, JsonSchema, Parameter } from './format/format.ts';
import { parametersOf, type Place } from './parameters.ts';

/* Parameters that are files: `{type: string, format: binary}`, or a list of them. */

/** Returns whether a parameter is a file, or a list of files. */
export function isFile(parameter: Parameter): boolean {
  const { type, format } = parameter;
  return isBinary({ type, format }) || isFileList(parameter);
}

export function isFileList({ type, items }: Parameter): boolean {
  return type === 'array' && typeof items === 'object' && items !== null && isBinary({ ...items });
}

function isBinary({ type, format }: { type?: unknown; format?: unknown }): boolean {
  return type === 'string' && format === 'binary';
}

/** Returns the parameters of an action that are files. */
export const filesOf: (action: ActionDefinition) => { place: Place; name: string; parameter: Parameter }[] =
  memoByObject((action: ActionDefinition) =>
    parametersOf(action).filter(({ parameter }) => isFile(parameter)),
  );

/** Returns the schema of a file parameter for callers. */
export function fileSchema(parameter: Parameter): JsonSchema {
  const { description = 'A file.' } = parameter;
  if (!isFileList(parameter)) return { ...FILE, description: `${description} ${HOW}` };
  const { minItems, maxItems } = parameter;
  return {
    type: 'array',
    description: `${description} ${HOW}`,
    items: FILE,
    ...(minItems === undefined ? {} : { minItems }),
    ...(maxItems === undefined ? {} : { maxItems }),
  };
}

const HOW = 'Give {fileId} of a stored file, or {base64} of at most 256 KiB.';

const FILE: JsonSchema = {
  type: 'object',
  properties: {
    fileId: {
      type: 'string',
      description: 'Id of a stored file: of an upload, or of the answer of an action.',
    },
    base64: { type: 'string', description: 'The content itself, for small files.' },
    name: {
      type: 'string',
      maxLength: 255,
      description: 'Name of the file. Default: its name in the store.',
    },
    mediaType: { type: 'string', maxLength: 200, description: 'Default: its media type in the store.' },
  },
  additionalProperties: false,
  examples: [{ fileId: 'file_4mTq8Zc1VbN6xKp2RwLd7F' }],
};
