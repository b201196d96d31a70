import type { ActionDefinition, ConnectorFile, JsonSchema } from './format/format.ts';
import { effectOf, type Effect } from './effects.ts';

/* The raw call: an action of every connector whose caller writes the request below the connector's base address. */

/** Id of the raw call. An action of a connector file with this id replaces it, and an allowlist must also name it exactly. */
export const RAW_ACTION = 'request';

/** Methods of raw calls. */
export const RAW_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Headers that a raw call may set. Any other may carry a credential, or change the method, host or path. */
export const RAW_HEADERS = [
  'accept',
  'accept-language',
  'content-language',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
] as const;

const INPUT: JsonSchema = {
  type: 'object',
  properties: {
    method: { type: 'string', enum: [...RAW_METHODS], description: 'HTTP method.' },
    path: {
      type: 'string',
      pattern: '^/',
      maxLength: 2000,
      description: "Path below the app's base address, without query: /customers/42.",
    },
    query: {
      type: 'object',
      description: 'Query parameters. A list repeats its name.',
      additionalProperties: { type: ['string', 'number', 'boolean', 'array'] },
    },
    headers: {
      type: 'object',
      description: `Headers: ${RAW_HEADERS.join(', ')}.`,
      additionalProperties: { type: 'string', maxLength: 2000 },
    },
    body: {
      type: ['object', 'array', 'string', 'number', 'boolean'],
      description:
        'Body. A text is sent as it is, any other value as JSON, or as a form where the app takes forms.',
    },
  },
  required: ['method', 'path'],
  additionalProperties: false,
};

/** Returns the definition of a connector's raw call; undefined where it has none. */
export function rawDefinition(file: ConnectorFile): ActionDefinition | undefined {
  if (file.protocol === 'mcp' || file.actions[RAW_ACTION]) return undefined;
  return {
    name: 'Request',
    description:
      `Sends any request to the API of ${file.name}, below its base address. Use it only where no other action fits, ` +
      'and read the documentation of the API first.',
    effect: 'destructive',
    effectWhen: RAW_METHODS.map((method) => ({
      parameter: 'method',
      in: [method],
      effect: rawEffect(file, method),
    })),
    scopes: [],
    request: 'POST /',
    input: INPUT,
    path: {},
    query: {},
    headers: {},
    cookies: {},
    body: {},
    parts: {},
    compose: {},
    response: { data: '', body: 'json', lists: [], headers: {} },
    internal: false,
    synonyms: [],
  };
}

/** Returns the definition for the calls of one method. */
export function rawDefinitionFor(file: ConnectorFile, method: string): ActionDefinition | undefined {
  const definition = rawDefinition(file);
  return (
    definition && { ...definition, request: `${method} /`, effect: rawEffect(file, method), effectWhen: [] }
  );
}

/** Returns the effect of a method. A POST may do anything, so it counts as destructive unless the file says otherwise. */
function rawEffect({ rawEffects }: ConnectorFile, method: string): Effect {
  const own = RAW_METHODS.find((one) => one === method);
  return (own && rawEffects[own]) ?? (method === 'POST' ? 'destructive' : effectOf(method));
}
