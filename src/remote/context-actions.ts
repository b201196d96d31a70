import type { Json, JsonObject } from '../lib/json.ts';

/** The parts of a remote server besides its tools. */
export interface Offers {
  resources: boolean;
  prompts: boolean;
  completions: boolean;
}

const text = (description: string): JsonObject => ({ type: 'string', description });
const texts = (description: string): JsonObject => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string' },
});

/**
 * Returns the actions that read a server's resources and prompts, by their ids. The lists are not stored, because each
 * user may have other resources.
 */
export function contextActions({
  resources,
  prompts,
  completions,
}: Offers): [id: string, action: JsonObject][] {
  return [
    ...(resources
      ? [
          action('list_resources', 'Lists the resources of the server and their templates.', {
            method: 'resources/list',
          }),
          action('read_resource', 'Reads a resource of the server.', {
            method: 'resources/read',
            properties: { uri: text('Address of the resource, as the server lists it.') },
            required: ['uri'],
          }),
        ]
      : []),
    ...(prompts
      ? [
          action('list_prompts', 'Lists the prompts of the server.', { method: 'prompts/list' }),
          action('get_prompt', 'Returns the messages of a prompt of the server.', {
            method: 'prompts/get',
            properties: {
              name: text('Name of the prompt, as the server lists it.'),
              arguments: texts('Values of its arguments, by name.'),
            },
            required: ['name'],
          }),
        ]
      : []),
    ...(completions && (resources || prompts)
      ? [
          action('complete_argument', 'Proposes values for an argument of a prompt or a template.', {
            method: 'completion/complete',
            properties: {
              ref: {
                type: 'object',
                description: 'The prompt (`ref/prompt`, name) or the template (`ref/resource`, uri).',
                properties: {
                  type: { type: 'string', enum: ['ref/prompt', 'ref/resource'] },
                  name: { type: 'string' },
                  uri: { type: 'string' },
                },
                required: ['type'],
              },
              argument: {
                type: 'object',
                description: 'The argument, with the beginning of its value.',
                properties: { name: { type: 'string' }, value: { type: 'string' } },
                required: ['name', 'value'],
              },
              context: {
                type: 'object',
                description: 'The arguments that have values already.',
                properties: { arguments: texts('Values, by name.') },
              },
            },
            required: ['ref', 'argument'],
          }),
        ]
      : []),
  ];
}

function action(
  id: string,
  description: string,
  { method, properties = {}, required }: { method: string; properties?: JsonObject; required?: Json },
): [id: string, action: JsonObject] {
  return [
    id,
    {
      description,
      effect: 'read',
      request: 'POST /',
      mcp: { method },
      input: { type: 'object', properties, ...(required ? { required } : {}), additionalProperties: false },
    },
  ];
}
