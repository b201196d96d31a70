import type { Base } from '../../base.ts';
import type { Context } from '../context.ts';
import type { Caller } from '../../identity/caller.ts';
import { userOfRequest } from '../../identity/visit.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { assertEnabled, assertServesUser } from '../../servers/access.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import type { Environment } from '../../store/environments.ts';
import { offeredTo } from './offered.ts';

/** The caller, the server and their rights. Each call gets it. */
export interface Grant {
  readonly environment: Environment;
  readonly live: LiveServer;
  /** The caller's label, for limits and records. */
  readonly caller: string;
  readonly userId: string | undefined;
  /** From the header x-credential-id. */
  readonly credentialHeader: string | undefined;
  /** From the header x-redirect-uri: where a person returns to after connecting an account. */
  readonly redirectUri: string | undefined;
  /** Expiry of its bearer or its user's JWT, whichever is first, epoch ms; Infinity when neither expires. */
  readonly endsAt: number;
}

/** The parties that a stored call or program is bound to. */
export interface Parties {
  environment: Environment;
  serverId: string;
  userId: string | undefined;
  caller: string;
}

/** An authenticated request: the server and the caller. grantFor() checks the user. */
export interface Authentication {
  live: LiveServer;
  caller: Caller;
}

/** The headers that name the user and the account of a request, apart from its bearer. */
interface UserHeaders {
  /** x-svc-userid */
  userId: string | undefined;
  /** The caller of x-svc-user-token, already verified. */
  token: Caller | undefined;
  /** x-credential-id */
  credential?: string | undefined;
  /** x-redirect-uri */
  redirectUri?: string | undefined;
}

/**
 * Finds the user of a request and checks that the server accepts the user (docs/policy.md). The user is the JWT's
 * subject, else x-svc-userid, else, with an access token, the server's owner.
 * @throws GatehouseError `user_id_missing`, `user_not_found` (400 here), `forbidden`, `restricted`.
 */
export async function grantFor(
  context: Pick<Context, 'db' | 'catalog' | 'credentialMemory'>,
  authentication: Authentication,
  headers: UserHeaders,
): Promise<Grant> {
  const { live, caller } = authentication;
  assertEnabled(live);
  const userId = await userOf(context, authentication, headers);
  assertServesUser(live, userId);
  return {
    environment: live.server.environment,
    live: await offeredTo(context, live, userId),
    caller: caller.label,
    userId,
    credentialHeader: headers.credential,
    redirectUri: headers.redirectUri,
    endsAt: Math.min(caller.endsAt ?? Infinity, headers.token?.endsAt ?? Infinity),
  };
}

/** Returns the parties of a grant. */
export function ownerOf({ environment, live, userId, caller }: Grant): Parties {
  return { environment, serverId: live.server.serverId, userId, caller };
}

async function userOf(
  context: Pick<Base, 'db'>,
  { live: { server }, caller }: Authentication,
  { userId: named, token }: UserHeaders,
): Promise<string | undefined> {
  if (token && token.environment !== server.environment) {
    throw new GatehouseError('forbidden', 'x-svc-user-token is for another environment than this server.');
  }
  const userId = await namedUser(context, server.environment, { callers: [caller, token], named });
  if (userId !== undefined) return userId;
  if (caller.kind !== 'api_key') return server.ownerUserId ?? undefined;
  throw new GatehouseError(
    'user_id_missing',
    'The header x-svc-userid is missing. A request with an API key must name its user.',
  );
}

/** Returns the user of the request. An unknown one is 400, because 404 is about the server here. */
async function namedUser(...request: Parameters<typeof userOfRequest>): Promise<string | undefined> {
  try {
    return await userOfRequest(...request);
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'user_not_found') throw error;
    throw new GatehouseError('invalid_request', `The header x-svc-userid: ${error.message}`, {
      details: { reason: 'user_not_found' },
      cause: error,
    });
  }
}
