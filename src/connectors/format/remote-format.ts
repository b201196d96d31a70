import { z } from 'zod';

/**
 * How Gatehouse speaks to the app. `http`: each action is a request of its own. `mcp`: the app is an MCP server over
 * streamable HTTP, and `baseUrl` is its endpoint.
 */
export const protocol = z.enum(['http', 'mcp']).default('http');

/** The request of MCP that an action of `protocol: mcp` sends, with the name of the tool as the server has it. */
export const remoteCall = z.discriminatedUnion('method', [
  /** A call of a tool. */
  z.strictObject({
    method: z.literal('tools/call'),
    /** Name of the tool at the server. */
    name: z.string().min(1).max(256),
  }),
  /** The list of tools. */
  z.strictObject({ method: z.literal('tools/list') }),
  /** The list of resources, together with the templates of resources. */
  z.strictObject({ method: z.literal('resources/list') }),
  /** The content of the resource `uri` of the input. */
  z.strictObject({ method: z.literal('resources/read') }),
  /** The list of prompts. */
  z.strictObject({ method: z.literal('prompts/list') }),
  /** The messages of the prompt `name` of the input, with its `arguments`. */
  z.strictObject({ method: z.literal('prompts/get') }),
  /** Values for an argument of a prompt or a template. */
  z.strictObject({ method: z.literal('completion/complete') }),
]);
