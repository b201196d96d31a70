import type { Action } from '../catalog.ts';
import type { JsonSchema } from '../format/format.ts';
import { asSchema } from './model-schema.ts';

/* TypeScript declarations of actions, for programs and for models that read types better than JSON Schema. */

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Values of an enum that are listed; more of them become their type. */
const MAX_VALUES = 60;
const INDENT = '  ';

/** Returns the declaration of an action as a function in the namespace of its connector. */
export function actionTypes(action: Action): string {
  return namespaceOf(action.connectorId, [action]);
}

/** Returns the declarations of actions of a connector, which are named by their ids. */
export function namespaceOf(connectorId: string, actions: readonly Action[]): string {
  const functions = actions.map((action) => functionOf(action));
  return `declare namespace ${nameOf(connectorId)} {\n${functions.join('\n')}}\n`;
}

function functionOf({ actionId, description, modelInput, modelOutput }: Action): string {
  const required = Array.isArray(modelInput['required']) && modelInput['required'].length > 0;
  const parameters = `parameters${required ? '' : '?'}: ${typeOf(modelInput, INDENT)}`;
  return (
    `${comment(description, INDENT)}${INDENT}function ${nameOf(actionId)}(${parameters}, ` +
    `options?: { credentialId?: string }): Promise<${typeOf(modelOutput, INDENT)}>;\n`
  );
}

/** Returns an id as a name: a hyphen becomes an underscore. */
function nameOf(id: string): string {
  const name = id.replaceAll(/[^\w$]/g, '_');
  return RESERVED.has(name) || /^\d/.test(name) ? `_${name}` : name;
}

const RESERVED = new Set(
  (
    'break case catch class const continue debugger default delete do else enum export extends false finally for ' +
    'function if import in instanceof new null return super switch this throw true try typeof var void while with'
  ).split(' '),
);

/** Returns the type of a schema without references. `indent` is that of its line. */
function typeOf(schema: JsonSchema, indent: string): string {
  const { enum: values, anyOf, type } = schema;
  if (Array.isArray(values) && values.length > 0 && values.length <= MAX_VALUES)
    return union(values.map((value) => JSON.stringify(value)));
  if (Array.isArray(anyOf) && anyOf.length > 0)
    return union(anyOf.map((branch) => typeOf(asSchema(branch), indent)));
  if (Array.isArray(type)) return union(type.map((one) => typeOf({ ...schema, type: one }, indent)));
  switch (type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array':
      return arrayOf(typeOf(asSchema(schema['items']), indent));
    case 'object':
      return objectOf(schema, indent);
    default:
      return 'unknown';
  }
}

function union(types: readonly string[]): string {
  return types.length === 0 || types.includes('unknown') ? 'unknown' : [...new Set(types)].join(' | ');
}

function arrayOf(item: string): string {
  return item.includes(' | ') ? `(${item})[]` : `${item}[]`;
}

function objectOf(schema: JsonSchema, indent: string): string {
  const properties = Object.entries(asSchema(schema['properties']));
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const within = indent + INDENT;
  const members = properties.map(([name, property]) => {
    const one = asSchema(property);
    const shown = IDENTIFIER.test(name) ? name : JSON.stringify(name);
    const optional = required.includes(name) ? '' : '?';
    const text = typeof one['description'] === 'string' ? comment(one['description'], within) : '';
    return `${text}${within}${shown}${optional}: ${typeOf(one, within)};\n`;
  });
  if (members.length > 0) return `{\n${members.join('')}${indent}}`;
  const values = schema['additionalProperties'];
  return `{ [name: string]: ${typeof values === 'object' ? typeOf(asSchema(values), within) : 'unknown'} }`;
}

function comment(text: string, indent: string): string {
  const lines = text.trim().replaceAll('*/', '* /').split(/\r?\n/);
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}
