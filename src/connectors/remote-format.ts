import { z } from 'zod';

/**
 * How Gatehouse speaks to the app. `http`: each action is a request of its own. `mcp`: the app is an MCP server over
 * streamable HTTP, and `baseUrl` is its endpoint.
 */
export const protocol = z.enum(['http', 'mcp']).default('http');

/** The request of MCP that an action of `protocol: mcp` sends, with the name of the tool as the server has it. */
export const remoteCall = z.discriminatedUnion('method', [
  z.strictObject({ method: z.literal('tools/call'), name: z.string().min(1).max(256) }),
  z.strictObject({ method: z.literal('tools/list') }),
]);
