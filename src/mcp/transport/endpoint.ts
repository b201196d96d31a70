import type { IncomingMessage } from 'node:http';
import type { Context } from '../context.ts';
import { isAccessToken } from '../../crypto/tokens.ts';
import { assertScope, bearerOf, looksLikeJwt, type Caller } from '../../identity/caller.ts';
import { isLoopback } from '../../lib/addresses.ts';
import { assertAllowedPage } from '../../identity/visit.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { protectedResourceOf } from '../../servers/protected-resource.ts';
import { serverNotFound } from '../../servers/server-records.ts';
import { ENVIRONMENTS } from '../../store/environments.ts';
import { grantFor, type Authentication, type Grant } from '../scope/grant.ts';
import { headerText } from '../../lib/http/header-text.ts';

/** A path below /mcp/: a server's id, with or without its token. */
export interface McpPath {
  serverId: string;
  accessToken: string | undefined;
}

/** Returns the parts of the request's path, or undefined when it is no MCP path. */
export function mcpPathOf(url: string): McpPath | undefined {
  const end = url.indexOf('?');
  const [, , serverId, accessToken, ...rest] = (end === -1 ? url : url.slice(0, end)).split('/');
  if (!serverId || rest.length > 0 || accessToken === '') return undefined;
  return { serverId, accessToken };
}

/**
 * Authenticates a request by the token in the path, or by a bearer that is an API key, a JWT or the server's own
 * token. On the token URL an unknown server and a wrong token give the same answer.
 * @throws GatehouseError `unauthorized`, `token_expired`, `forbidden` (scope), `server_not_found`.
 */
export async function authenticate(
  context: Context,
  req: IncomingMessage,
  path: McpPath,
): Promise<Authentication> {
  if (path.accessToken !== undefined)
    return await byToken(context, { serverId: path.serverId, accessToken: path.accessToken });
  try {
    return await byBearer(context, req, path);
  } catch (error) {
    throw await withMetadata(context, path.serverId, error);
  }
}

async function byBearer(context: Context, req: IncomingMessage, path: McpPath): Promise<Authentication> {
  const bearer = bearerOf(req.headers.authorization);
  if (isAccessToken(bearer))
    return byToken(
      context,
      { serverId: path.serverId, accessToken: bearer },
      { 'WWW-Authenticate': 'Bearer' },
    );
  const own = looksLikeJwt(bearer) ? await protectedResourceOf(context, path.serverId) : undefined;
  const caller = await context.callers.fromBearer(bearer, own);
  assertScope(caller, 'mcp:use');
  const live = await context.servers.byId(caller.environment, path.serverId);
  if (!live) throw serverNotFound(path.serverId);
  return { live, caller };
}

/**
 * Adds the address of the resource metadata to a 401. It names the issuers whose tokens we accept (RFC 9728 section
 * 5.1).
 */
async function withMetadata(context: Context, serverId: string, error: unknown): Promise<unknown> {
  if (!(error instanceof GatehouseError) || error.status !== 401) return error;
  const found = await protectedResourceOf(context, serverId);
  if (!found) return error;
  const challenge = error.headers['WWW-Authenticate'] ?? 'Bearer';
  const metadata = `resource_metadata="${found.metadataUrl}"`;
  return new GatehouseError(error.code, error.message, {
    headers: {
      ...error.headers,
      'WWW-Authenticate': `${challenge}${challenge.includes(' ') ? ',' : ''} ${metadata}`,
    },
    ...(error.details ? { details: error.details } : {}),
    cause: error,
  });
}

async function byToken(
  { servers, clock }: Context,
  { serverId, accessToken }: { serverId: string; accessToken: string },
  headers: Record<string, string> = {},
): Promise<Authentication> {
  const live = isAccessToken(accessToken) ? await servers.byToken(accessToken) : undefined;
  if (live?.server.serverId !== serverId) {
    throw new GatehouseError(
      'unauthorized',
      'The access token is not valid for this address. It may have been rotated.',
      { headers },
    );
  }
  const { tokenExpiresAt, environment } = live.server;
  if (tokenExpiresAt !== null && tokenExpiresAt <= clock.now()) {
    throw new GatehouseError(
      'token_expired',
      'The access token has expired. Ask the operator for a new address.',
      { headers },
    );
  }
  const caller: Caller = {
    kind: 'access_token',
    environment,
    label: `token:${serverId}`,
    userId: undefined,
    scopes: new Set(['mcp:use']),
    ...(tokenExpiresAt === null ? {} : { endsAt: tokenExpiresAt }),
  };
  return { live, caller };
}

/**
 * Returns the rights of the request: the user of its headers, checked against the server.
 * @throws as grantFor, and 401 for a bad JWT.
 */
export async function grantOf(
  context: Context,
  req: IncomingMessage,
  authentication: Authentication,
): Promise<Grant> {
  const jwt = headerText(req, 'x-svc-user-token');
  const token = jwt === undefined ? undefined : await userToken(context, jwt);
  return await grantFor(context, authentication, {
    userId: headerText(req, 'x-svc-userid'),
    token,
    credential: headerText(req, 'x-credential-id'),
    redirectUri: headerText(req, 'x-redirect-uri'),
  });
}

async function userToken({ callers }: Context, jwt: string): Promise<Caller> {
  try {
    return await callers.fromJwt(jwt);
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.status !== 401) throw error;
    throw new GatehouseError(error.code, `The header x-svc-user-token: ${error.message}`, {
      headers: error.headers,
      cause: error,
    });
  }
}

/**
 * Checks that a browser page of this origin may call the endpoint. Gatehouse's own origin and the environment's `origins`
 * may. Pages of this machine may while Gatehouse listens only on loopback.
 * @throws GatehouseError `forbidden`
 */
export async function assertOrigin(
  context: Context,
  origin: string,
  authentication: Authentication | undefined,
): Promise<void> {
  if (origin === new URL(context.publicUrl).origin) return;
  // A preflight carries no key, so its environment is unknown. An origin of either environment is allowed.
  const environments = authentication ? [authentication.live.server.environment] : ENVIRONMENTS;
  const page = { origin, environments, local: isLoopback(context.config.host) };
  await assertAllowedPage(context, page, {
    caller: authentication?.caller,
    instead: 'a token URL',
    refusal:
      'Pages of this origin may not call the MCP endpoints. An operator can add the origin to the settings.',
  });
}
