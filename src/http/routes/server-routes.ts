import { z } from 'zod';
import type { Context } from '../context.ts';
import type { Caller } from '../../identity/caller.ts';
import { requireUser } from '../../identity/users.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import {
  createServer,
  deleteServer,
  findServer,
  listServers,
  MAX_BOUND_SERVERS,
  openAccessToken,
  rotateAccessToken,
  serverNotFound,
  updateServer,
  type McpServer,
} from '../../servers/server-records.ts';
import { budgetsSchema, circuitSchema } from '../../servers/call-limits.ts';
import { isRestricting, restrictionsSchema } from '../../servers/restrictions.ts';
import { readSettings } from '../../servers/environment-settings.ts';
import { defineRoute } from '../server/route.ts';
import { label } from '../../lib/label.ts';
import { deleted, time } from '../server/shapes.ts';

const MAX_UNPAGED = 1000;

const name = label(100).meta({ description: 'Unique in the environment, case-insensitive.' });
const tokenExpiresInDays = z
  .int('must be a whole number from 1 to 365')
  .min(1, 'must be a whole number from 1 to 365')
  .max(365, 'must be a whole number from 1 to 365');
const toolMode = z.enum(['auto', 'direct', 'discovery']);
const codeMode = z.enum(['auto', 'on', 'off']);
const pinTools = z.boolean().meta({
  description: 'Hides tools whose definitions differ from those approved with POST /api/tools/approve.',
});
const duplicateGuard = z.enum(['on', 'off']);
/** The fields that a new server may have, and a change. */
export const serverFields = z.strictObject({
  name,
  description: z.string().max(2000).optional(),
  customInstructions: z.string().max(10_000).optional(),
  restrictions: restrictionsSchema.optional(),
  toolMode: toolMode.optional(),
  codeMode: codeMode.optional(),
  enabled: z.boolean().optional(),
  pinTools: pinTools.optional(),
  budgets: budgetsSchema.optional(),
  duplicateGuard: duplicateGuard.optional(),
  circuit: circuitSchema.optional(),
});
/** Properties of the routes of MCP servers, and of one of them. */
const ofServers = { tag: 'MCP servers', auth: 'api_key_or_jwt', user: 'owner' } as const;
export const ofServer = { ...ofServers, params: z.strictObject({ serverId: z.string() }) };

/** Query parameter of answers with access tokens. */
const token = z.enum(['true', 'false']).default('true').meta({
  description: 'With `false`, `accessUrl` ends in *** and the audit log has no entry.',
});

const server = z
  .object({
    serverId: z.string(),
    name: z.string(),
    description: z.string(),
    customInstructions: z.string(),
    url: z.url().meta({ description: 'MCP address for an API key or JWT.' }),
    accessUrl: z
      .url()
      .meta({ description: 'MCP address with its token; ends in *** for keys without servers:token.' }),
    restrictions: restrictionsSchema,
    hasRestrictions: z.boolean(),
    ownerUserId: z.string().nullable(),
    createdByUser: z.boolean(),
    toolMode,
    codeMode,
    enabled: z.boolean(),
    pinTools,
    budgets: budgetsSchema,
    duplicateGuard,
    circuit: circuitSchema,
    tokenExpiresAt: time.nullable(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Server', description: 'An MCP server.' });
const createdServer = server
  .extend({
    accessToken: z.string().nullable().meta({
      description: 'Shown only here and after a rotation; null for keys without servers:token.',
    }),
  })
  .meta({ id: 'ServerWithToken', description: 'An MCP server with its access token.' });

export const createServerRoute = defineRoute({
  ...ofServers,
  method: 'POST',
  path: '/api/servers',
  operationId: 'createServer',
  summary: 'Create an MCP server',
  description: `JWTs of one user can create at most ${MAX_BOUND_SERVERS} servers.`,
  scope: 'servers:write',
  body: serverFields.extend({ tokenExpiresInDays: tokenExpiresInDays.optional() }),
  success: { status: 201, description: 'The server with its access token.', schema: createdServer },
  errors: ['server_exists', 'user_not_found', 'limit_reached'],
  audited: true,
  async handler({ context, caller, body, userId }) {
    if (caller.kind === 'jwt') await assertUserServersOn(context, caller);
    else if (userId !== undefined) await requireUser(context.db, caller.environment, userId);
    const made = await createServer(context, {
      ...body,
      environment: caller.environment,
      ownerUserId: userId,
      bound: caller.kind === 'jwt',
    });
    return { body: viewWithToken(context, caller, made), auditTarget: made.server.serverId };
  },
});

export const listServersRoute = defineRoute({
  ...ofServers,
  method: 'GET',
  path: '/api/servers',
  operationId: 'listServers',
  summary: 'List MCP servers',
  description:
    'Without limit and offset: the first 1,000. Pages have an offset and no cursor. A JWT sees the servers that JWTs of its user created.',
  scope: 'servers:read',
  query: z.strictObject({
    limit: z.coerce
      .number('must be a whole number from 1 to 50')
      .int()
      .min(1)
      .max(50, 'must be a whole number from 1 to 50')
      .optional(),
    offset: z.coerce
      .number('must be a whole number from 0')
      .int()
      .min(0, 'must be a whole number from 0')
      .optional(),
    token,
  }),
  success: {
    status: 200,
    description: 'Servers in the order of creation, and the total number.',
    schema: z.object({ servers: z.array(server), count: z.int() }),
  },
  audited: true,
  async handler({ context, caller, query, userId }) {
    const unpaged = query.limit === undefined && query.offset === undefined;
    const { servers, count } = await listServers(context.db, caller.environment, {
      ownerUserId: userId,
      ...(caller.kind === 'jwt' ? { bound: true } : {}),
      limit: unpaged ? MAX_UNPAGED : (query.limit ?? 50),
      offset: query.offset ?? 0,
    });
    const shown = withoutToken(caller, query.token);
    return {
      body: { servers: servers.map((one) => view(context, shown.caller, one)), count },
      ...shown.reply,
    };
  },
});

export const getServerRoute = defineRoute({
  ...ofServer,
  method: 'GET',
  path: '/api/servers/{serverId}',
  operationId: 'getServer',
  summary: 'Read an MCP server',
  scope: 'servers:read',
  query: z.strictObject({ token }),
  success: { status: 200, description: 'The server.', schema: server },
  errors: ['server_not_found'],
  audited: true,
  async handler({ context, caller, params: { serverId }, query, userId }) {
    const found = await requireServer(context, caller, { serverId, userId });
    const shown = withoutToken(caller, query.token);
    return { body: view(context, shown.caller, found), ...shown.reply };
  },
});

export const updateServerRoute = defineRoute({
  ...ofServer,
  method: 'PUT',
  path: '/api/servers/{serverId}',
  operationId: 'updateServer',
  summary: 'Change an MCP server',
  description: 'Changes only the given members. Replaces `restrictions` and `budgets` whole.',
  scope: 'servers:write',
  query: z.strictObject({ token }),
  body: serverFields.partial(),
  success: { status: 200, description: 'The server as it is now.', schema: server },
  errors: ['server_not_found', 'server_exists'],
  audited: true,
  async handler({ context, caller, params: { serverId }, query, body, userId }) {
    const found = await requireServer(context, caller, { serverId, userId });
    const changed = await updateServer(context, found, body);
    context.servers.forget();
    return { body: view(context, withoutToken(caller, query.token).caller, changed) };
  },
});

export const deleteServerRoute = defineRoute({
  ...ofServer,
  method: 'DELETE',
  path: '/api/servers/{serverId}',
  operationId: 'deleteServer',
  summary: 'Delete an MCP server',
  scope: 'servers:write',
  success: deleted('serverId', 'The server is deleted, with its token and stored results.'),
  errors: ['server_not_found'],
  audited: true,
  async handler({ context, caller, params: { serverId }, userId }) {
    const found = await requireServer(context, caller, { serverId, userId });
    await deleteServer(context, found);
    context.servers.forget();
    return { body: { message: `The MCP server "${found.name}" was deleted.`, serverId } };
  },
});

export const rotateServerTokenRoute = defineRoute({
  ...ofServer,
  method: 'POST',
  path: '/api/servers/{serverId}/token',
  operationId: 'rotateServerToken',
  summary: 'Rotate the access token',
  description:
    'The old token and its URL stop working at once. Without `tokenExpiresInDays` the new token does not expire.',
  scope: 'servers:token',
  body: z.strictObject({ tokenExpiresInDays: tokenExpiresInDays.optional() }),
  success: { status: 200, description: 'The server with its new access token.', schema: createdServer },
  errors: ['server_not_found'],
  audited: true,
  async handler({ context, caller, params: { serverId }, body, userId }) {
    const found = await requireServer(context, caller, { serverId, userId });
    const rotated = await rotateAccessToken(context, found, body.tokenExpiresInDays);
    context.servers.forget();
    return { body: viewWithToken(context, caller, rotated) };
  },
});

/**
 * Returns a server that the caller may see. An absent server, another environment's and another user's give the
 * same 404.
 */
export async function requireServer(
  context: Context,
  caller: Caller,
  { serverId, userId }: { serverId: string; userId: string | undefined },
): Promise<McpServer> {
  const found = await findServer(context.db, caller.environment, serverId);
  const foreign = userId !== undefined && found?.ownerUserId !== userId;
  const hidden = caller.kind === 'jwt' && !found?.bound;
  if (!found || foreign || hidden) throw serverNotFound(serverId);
  return found;
}

async function assertUserServersOn(context: Context, caller: Caller): Promise<void> {
  const { userServers } = await readSettings(context.db, caller.environment);
  if (userServers === 'on') return;
  throw new GatehouseError(
    'forbidden',
    'Users may not create MCP servers in this environment (setting userServers).',
  );
}

/** Returns the caller without the scope servers:token when the query wants no token, and the facts of the reply. */
function withoutToken(
  caller: Caller,
  token: 'true' | 'false',
): { caller: Caller; reply: { unaudited?: true } } {
  if (token === 'true' && mayReveal(caller)) return { caller, reply: {} };
  return { caller: { ...caller, scopes: new Set() }, reply: { unaudited: true } };
}

/** Returns a server with its new token, as the caller may see both. */
function viewWithToken(
  context: Context,
  caller: Caller,
  { server: record, accessToken }: { server: McpServer; accessToken: string },
): z.input<typeof createdServer> {
  return { ...view(context, caller, record), accessToken: mayReveal(caller) ? accessToken : null };
}

/** Returns whether a caller may see access tokens. Their bearer acts for any user of the server. */
function mayReveal({ scopes }: Caller): boolean {
  return scopes === 'all' || scopes.has('servers:token');
}

/** Returns a server as the caller may see it. */
function view(context: Context, caller: Caller, record: McpServer): z.input<typeof server> {
  const url = `${context.publicUrl}/mcp/${record.serverId}`;
  return {
    serverId: record.serverId,
    name: record.name,
    description: record.description,
    customInstructions: record.customInstructions,
    url,
    accessUrl: `${url}/${mayReveal(caller) ? openAccessToken(context, record) : '***'}`,
    restrictions: record.restrictions,
    hasRestrictions: isRestricting(record.restrictions),
    ownerUserId: record.ownerUserId,
    createdByUser: record.bound,
    toolMode: record.toolMode,
    codeMode: record.codeMode,
    enabled: record.enabled,
    pinTools: record.pinTools,
    budgets: record.budgets,
    duplicateGuard: record.duplicateGuard,
    circuit: record.circuit,
    tokenExpiresAt: isoTime(record.tokenExpiresAt),
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  };
}
