import { z } from 'zod';
import { endListening } from '../../subscriptions/end-listening.ts';
import {
  createUser,
  listUsers,
  requireUser,
  revokeTokens,
  updateUser,
  usernameRule,
  type User,
} from '../../identity/users.ts';
import { issueUserToken } from '../../identity/user-tokens.ts';
import { isoTime } from '../../lib/clock.ts';
import { deleteFilesOf } from '../../files/delete-files.ts';
import { deleteUserWithCredentials } from '../../credentials/user-gone.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, deleted, pageOf, time, toCursorPage } from '../server/shapes.ts';

const username = usernameRule.meta({
  description: 'Name of the user in your application; unique in the environment.',
});
const MAX_METADATA_BYTES = 64 * 1024;
const metadata = z
  .record(z.string(), z.json())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA_BYTES, 'must be 64 KiB at most')
  .meta({ description: 'Data of your application about the user, at most 64 KiB of JSON.' });
/** Properties of the routes of one user. */
const ofUser = {
  tag: 'Users',
  auth: 'api_key',
  apiVersion: true,
  params: z.strictObject({ userId: z.string() }),
} as const;
const user = z
  .object({
    userId: z.string(),
    username: z.string(),
    metadata: z.record(z.string(), z.unknown()),
    enabled: z.boolean(),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'User', description: 'An end user.' });

const createUserAt = (path: string, operationId: string, apiVersion: boolean) =>
  defineRoute({
    method: 'POST',
    path,
    operationId,
    tag: 'Users',
    summary: 'Create an end user',
    auth: 'api_key',
    scope: 'users:write',
    apiVersion,
    body: z.strictObject({ username, metadata: metadata.optional() }),
    success: { status: 201, description: 'The user.', schema: user },
    errors: ['user_exists'],
    audited: true,
    handler: async ({ context, caller, body }) => ({
      body: view(await createUser(context, { environment: caller.environment, ...body })),
    }),
  });

export const createUserRoute = createUserAt('/users', 'createUser', true);
export const createUnifiedUserRoute = createUserAt('/2023-12/users', 'createUnifiedUser', false);

export const listUsersRoute = defineRoute({
  method: 'GET',
  path: '/users',
  operationId: 'listUsers',
  tag: 'Users',
  summary: 'List end users',
  auth: 'api_key',
  scope: 'users:read',
  apiVersion: true,
  query: z.strictObject({
    ...cursorQuery,
    username: z.string().optional(),
    search: z.string().max(200).meta({ description: 'A part of the username, in any case.' }).optional(),
    userIds: z
      .string()
      .regex(/^usr_\w{1,60}(,usr_\w{1,60}){0,49}$/, 'must be 1 to 50 ids of users, with commas between them')
      .transform((text) => text.split(','))
      .meta({ type: 'string', description: 'Only these users: up to 50 ids with commas between them.' })
      .optional(),
  }),
  success: { status: 200, description: 'A page of users, oldest first.', schema: pageOf(user) },
  async handler({ context, caller, query }) {
    const { users, ...end } = await listUsers(context.db, caller.environment, query);
    return { body: toCursorPage(users.map(view), end) };
  },
});

export const getUserRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/users/{userId}',
  operationId: 'getUser',
  summary: 'Read an end user',
  scope: 'users:read',
  success: { status: 200, description: 'The user.', schema: user },
  errors: ['user_not_found'],
  handler: async ({ context, caller, params: { userId } }) => ({
    body: view(await requireUser(context.db, caller.environment, userId)),
  }),
});

export const updateUserRoute = defineRoute({
  ...ofUser,
  method: 'PUT',
  path: '/users/{userId}',
  operationId: 'updateUser',
  summary: 'Change an end user',
  description: 'Changes only the given members. A disabled user has no access until enabled again.',
  scope: 'users:write',
  body: z.strictObject({
    username: username.optional(),
    metadata: metadata.optional(),
    enabled: z.boolean().optional(),
  }),
  success: { status: 200, description: 'The user as it is now.', schema: user },
  errors: ['user_not_found', 'user_exists'],
  audited: true,
  async handler({ context, caller, params: { userId }, body }) {
    const changed = await updateUser(context, { environment: caller.environment, userId }, body);
    context.callers.forget();
    return { body: view(changed) };
  },
});

export const deleteUserRoute = defineRoute({
  ...ofUser,
  method: 'DELETE',
  path: '/users/{userId}',
  operationId: 'deleteUser',
  summary: 'Delete an end user',
  description:
    'Also deletes credentials, files, owned MCP servers and stored results. Tokens are revoked where the app supports it. ' +
    'Executions keep only the id.',
  scope: 'users:write',
  success: deleted('userId', 'The user is deleted.'),
  errors: ['user_not_found'],
  audited: true,
  async handler({ context, caller, params: { userId } }) {
    await requireUser(context.db, caller.environment, userId);
    await endListening(context, { userId });
    await deleteFilesOf(context.db, { environment: caller.environment, userId });
    await deleteUserWithCredentials(context, caller.environment, userId);
    context.callers.forget();
    context.servers.forget();
    return { body: { message: 'The user was deleted.', userId } };
  },
});

export const getUserTokenRoute = defineRoute({
  method: 'GET',
  path: '/2023-12/user/{userId}/token',
  operationId: 'getUserToken',
  tag: 'Users',
  summary: 'Issue a JWT for an end user',
  description: 'Valid for one hour. Verify it with the keys at /.well-known/jwks.json.',
  auth: 'api_key',
  scope: 'users:token',
  params: ofUser.params,
  success: { status: 200, description: 'The JWT.', schema: z.object({ token: z.string() }) },
  errors: ['user_not_found', 'forbidden'],
  audited: true,
  async handler({ context, caller, params: { userId } }) {
    const found = await requireUser(context.db, caller.environment, userId);
    if (!found.enabled) throw new GatehouseError('forbidden', `The user "${userId}" is disabled.`);
    const token = await issueUserToken(context, caller.environment, userId);
    return { body: { token } };
  },
});

export const revokeUserTokensRoute = defineRoute({
  ...ofUser,
  method: 'POST',
  path: '/users/{userId}/tokens/revoke',
  operationId: 'revokeUserTokens',
  summary: 'Revoke the JWTs of an end user',
  description: 'Every JWT issued until now is rejected within a second.',
  scope: 'users:token',
  success: {
    status: 200,
    description: 'The JWTs are revoked.',
    schema: z.object({ userId: z.string(), revokedAt: time }),
  },
  errors: ['user_not_found'],
  audited: true,
  async handler({ context, caller, params: { userId } }) {
    const revokedAt = await revokeTokens(context, caller.environment, userId);
    context.callers.forget();
    return { body: { userId, revokedAt: isoTime(revokedAt) } };
  },
});

function view(record: User) {
  return {
    userId: record.userId,
    username: record.username,
    metadata: record.metadata,
    enabled: record.enabled,
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  };
}
