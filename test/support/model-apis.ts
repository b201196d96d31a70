import { isJsonObject, type Json, type JsonObject } from '../../src/lib/json.ts';

/*
 * The rules of model APIs for the schema of a tool, from their documents and error messages. A client passes our
 * schemas on unchanged, and one refused schema fails its whole request.
 */

/** A tool as a client passes it to a model. */
export interface ModelTool {
  name: string;
  inputSchema: JsonObject;
}

/** Returns the faults of a tool at each API, empty where it is accepted. */
export function refusals(tool: ModelTool): string[] {
  const rules = { Anthropic: anthropic(tool), OpenAI: openAi(tool), Gemini: gemini(tool) };
  return Object.entries(rules).flatMap(([api, faults]) =>
    faults.map((fault) => `${api}: ${tool.name}: ${fault}`),
  );
}

/**
 * Returns the faults of a schema inside a result: Gemini takes a `$ref` there for a file, and models copy the names.
 */
export function resultFaults(schema: Json): string[] {
  return nodesOf(schema).flatMap(({ at, node }) => [
    ...['$ref', '$defs', '$schema', 'definitions', 'propertyNames']
      .filter((keyword) => keyword in node)
      .map((keyword) => `${at}: ${keyword}`),
    ...namesIn(node)
      .filter((name) => !NAME.test(name))
      .map((name) => `${at}: name ${name}`),
  ]);
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Returns the faults at platform.claude.com, tool use: the 400s of its Messages API. */
function anthropic({ name, inputSchema }: ModelTool): string[] {
  return [
    ...(/^[a-zA-Z0-9_-]{1,128}$/.test(name) ? [] : ['name']),
    ...(inputSchema['type'] === 'object' ? [] : ['type at the top']),
    ...['oneOf', 'anyOf', 'allOf']
      .filter((keyword) => keyword in inputSchema)
      .map((found) => `${found} at the top`),
    ...nodesOf(inputSchema).flatMap(({ at, node }) => [
      ...['$ref', '$dynamicRef', '$recursiveRef']
        .filter((keyword) => keyword in node)
        .map((one) => `${at}: ${one}`),
      ...namesIn(node)
        .filter((member) => !NAME.test(member))
        .map((member) => `${at}: name ${member}`),
    ]),
  ];
}

/** Returns the faults at platform.openai.com, function calling with strict off: its `invalid_function_parameters`. */
function openAi({ name, inputSchema }: ModelTool): string[] {
  return [
    ...(/^[a-zA-Z0-9_-]{1,64}$/.test(name) ? [] : ['name']),
    ...(inputSchema['type'] === 'object' ? [] : ['type at the top']),
    ...['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not']
      .filter((keyword) => keyword in inputSchema)
      .map((found) => `${found} at the top`),
    ...nodesOf(inputSchema)
      .filter(({ node }) => [node['type']].flat().includes('array') && !isJsonObject(node['items']))
      .map(({ at }) => `${at}: array without items`),
  ];
}

/**
 * Formats of ai.google.dev, `Schema`: "only 'enum' and 'date-time' are supported for STRING type". Newer models take
 * more of them.
 */
const GEMINI_FORMATS: { [type: string]: string[] } = {
  string: ['enum', 'date-time'],
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
};

/**
 * Keywords of ai.google.dev, FunctionDeclaration: those of `Schema`, and those of JSON Schema that SDKs remove before
 * they send it.
 */
const GEMINI_KEYWORDS = new Set([
  'type',
  'format',
  'title',
  'description',
  'enum',
  'items',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'anyOf',
  'properties',
  'additionalProperties',
  'required',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'default',
]);

function gemini({ name, inputSchema }: ModelTool): string[] {
  return [
    ...(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name) ? [] : ['name']),
    ...nodesOf(inputSchema).flatMap(({ at, node }) => [
      ...Object.keys(node)
        .filter((keyword) => !GEMINI_KEYWORDS.has(keyword))
        .map((keyword) => `${at}: unknown name ${keyword}`),
      ...(Array.isArray(node['type']) ? [`${at}: type is a list`] : []),
      ...valueFaults(node).map((fault) => `${at}: ${fault}`),
      ...[node['required']]
        .flat()
        .filter((member) => typeof member === 'string' && !namesIn(node).includes(member))
        .map((member) => `${at}: required ${String(member)} is not a property`),
    ]),
  ];
}

/** Returns the faults of a schema's values: "enum: only allowed for STRING type", and an empty text "cannot be empty". */
function valueFaults({ type, format, enum: values = [] }: JsonObject): string[] {
  const isTextList = type === 'string' && [values].flat().every((value) => typeof value === 'string');
  return [
    ...([values].flat().length > 0 && !isTextList ? ['enum of other values than texts'] : []),
    ...([values].flat().includes('') ? ['empty text in enum'] : []),
    ...(typeof format === 'string' && !GEMINI_FORMATS[String(type)]?.includes(format)
      ? [`format ${format}`]
      : []),
  ];
}

interface Node {
  at: string;
  node: JsonObject;
}

/** Returns every schema in a schema, with its path. */
function nodesOf(schema: Json, at = ''): Node[] {
  if (!isJsonObject(schema)) return [];
  const below = Object.entries(schema).flatMap(([keyword, value]): Node[] => {
    if (keyword === 'properties' || keyword === '$defs') {
      const members = isJsonObject(value) ? Object.entries(value) : [];
      return members.flatMap(([name, member]) => nodesOf(member, `${at}.${name}`));
    }
    if (Array.isArray(value) && keyword.endsWith('Of'))
      return value.flatMap((branch) => nodesOf(branch, `${at}.${keyword}`));
    return ['items', 'additionalProperties', 'not', 'propertyNames'].includes(keyword)
      ? nodesOf(value, `${at}.${keyword}`)
      : [];
  });
  return [{ at, node: schema }, ...below];
}

function namesIn({ properties }: JsonObject): string[] {
  return isJsonObject(properties ?? null) ? Object.keys(Object(properties)) : [];
}
