import { z } from 'zod';
import type { Context } from '../context.ts';
import type { Caller } from '../../identity/caller.ts';
import { requireUser } from '../../identity/users.ts';
import { subjectOf } from '../../identity/visit.ts';
import { assertServesUser } from '../../servers/access.ts';
import { serverNotFound } from '../../servers/server-records.ts';
import { defineRoute } from '../server/route.ts';
import { ofServer, requireServer } from './server-routes.ts';
import { pageQuery, pagination, toPage } from '../server/shapes.ts';

const cost = z
  .object({
    tools: z.int(),
    bytes: z.int().meta({ description: 'Size of the definitions in tools/list, bytes.' }),
    tokens: z.int(),
  })
  .meta({ id: 'ToolCost', description: 'Cost of a list of tools.' });

export const listServerToolsRoute = defineRoute({
  ...ofServer,
  method: 'GET',
  path: '/api/servers/{serverId}/tools',
  operationId: 'listServerTools',
  summary: "List a server's tools and their token cost",
  description:
    'With `format=tokens` the tools have sizes in place of definitions, largest first. Tokens count ' +
    'the name, description and input schema, which clients send to their model. The estimate is within 10 % of ' +
    'the o200k tokenizer of OpenAI. The counts of other models differ by up to a third.',
  scope: 'servers:read',
  query: z.strictObject({
    ...pageQuery,
    format: z.enum(['definitions', 'tokens'], 'must be definitions or tokens').default('definitions'),
    userId: z.string().max(64).optional().meta({
      description: 'The user whose agent lists the tools. Default: the owner of the server.',
    }),
  }),
  success: {
    status: 200,
    description: 'A page of tools.',
    schema: z.object({
      serverId: z.string(),
      mode: z.enum(['direct', 'discovery']).meta({
        description: '`direct`: a tool for each action. `discovery`: only the built-in tools.',
      }),
      actions: z.int().meta({ description: 'Number of actions that the restrictions allow.' }),
      tokens: z.int().optional().meta({ description: 'Estimated tokens of all tools.' }),
      instructionTokens: z.int().optional(),
      modes: z
        .object({ direct: cost, discovery: cost })
        .optional()
        .meta({ description: 'Cost of each mode.' }),
      data: z.array(
        z.object({
          name: z.string(),
          title: z.string().optional(),
          description: z.string().optional(),
          inputSchema: z.record(z.string(), z.unknown()).optional(),
          annotations: z.record(z.string(), z.unknown()).optional(),
          bytes: z.int().optional(),
          tokens: z.int().optional(),
        }),
      ),
      pagination,
    }),
  },
  errors: ['server_not_found', 'user_not_found', 'restricted'],
  async handler({ context, caller, params: { serverId }, query, userId: owner }) {
    const { format, limit, offset } = query;
    const { ownerUserId } = await requireServer(context, caller, { serverId, userId: owner });
    const live = await context.servers.byId(caller.environment, serverId);
    if (!live) throw serverNotFound(serverId);
    const named = query.userId === undefined ? undefined : await listedUser(context, caller, query.userId);
    if (named !== undefined) assertServesUser(live, named);
    const { mode, actions, tools, instructionTokens, direct, discovery } = await context.toolsOf(
      live,
      named ?? ownerUserId ?? undefined,
    );
    const hasMore = tools.length > offset + limit;
    if (format === 'definitions') {
      const page = tools
        .slice(offset, offset + limit)
        .map(({ name, title, description, inputSchema, annotations }) => ({
          name,
          title,
          description,
          inputSchema,
          annotations,
        }));
      return { body: { serverId, mode, actions, ...toPage(page, hasMore, offset) } };
    }
    const heaviest = tools
      .map(({ name, bytes, tokens }) => ({ name, bytes, tokens }))
      .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1));
    const { tokens } = mode === 'direct' ? direct : discovery;
    const page = toPage(heaviest.slice(offset, offset + limit), hasMore, offset);
    return {
      body: { serverId, mode, actions, tokens, instructionTokens, modes: { direct, discovery }, ...page },
    };
  },
});

/** Returns the user that a request names. @throws GatehouseError `forbidden` for another user than that of a JWT. */
async function listedUser(context: Context, caller: Caller, userId: string): Promise<string> {
  subjectOf([caller], userId);
  await requireUser(context.db, caller.environment, userId);
  return userId;
}
