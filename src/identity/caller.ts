import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { hasControls } from '../lib/hidden-characters.ts';
import { isJsonObject, parseJson } from '../lib/json.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';
import type { Environment } from '../store/environments.ts';
import { findApiKey, labelOfKey, secretOf, type ApiKey } from './api-keys.ts';
import { findConsoleSession } from './console-sessions.ts';
import type { Issuers, OwnAudience } from './issuers.ts';
import type { KeyUses } from './key-uses.ts';
import type { Oidc } from './oidc.ts';
import { labelOfPerson, type Person } from './people.ts';
import { ROLE_SCOPES, USER_SCOPES, type Scope } from './scopes.ts';
import { createUser, findUser, findUserByName, usernameRule, type User } from './users.ts';
import { CLOCK_TOLERANCE_SECONDS, verifyUserToken } from './user-tokens.ts';

/** The authenticated sender of a request. Every 401 about keys and JWTs comes from this file. */
export interface Caller {
  kind: 'api_key' | 'person' | 'jwt' | 'access_token' | 'local';
  environment: Environment;
  /**
   * For records and limits: `key:<keyId>`, `person:<personId>`, `jwt:<userId>`, `token:<serverId>`, `stdio`. Never a
   * secret.
   */
  label: string;
  /** The user of a JWT; undefined for other callers. */
  userId: string | undefined;
  scopes: 'all' | ReadonlySet<Scope>;
  /** When its bearer expires, epoch ms; undefined for never. A session of the console has that of its key. */
  endsAt?: number;
}

/** A caller by a session of the console. */
export type SessionCaller = Caller & {
  /** The person who signed in; undefined where a key did. */
  person: Person | undefined;
  sessionEndsAt: number;
};

/** How long a revoked key, token or user may still be accepted, in ms. */
export const STALE_MS = 500;
const MAX_CACHED = 10_000;

type CallerContext = Pick<Base, 'db' | 'clock' | 'hashKey' | 'keys' | 'publicUrl'> & {
  keyUses: KeyUses;
  /** The provider of the console's people; undefined without one. */
  oidc: Oidc | undefined;
};

/** Resolves bearer texts to callers, cached for STALE_MS. */
export interface Callers {
  /**
   * Resolves an API key or a JWT, with `own` as a further audience.
   * @throws GatehouseError `unauthorized`, `token_expired`
   */
  fromBearer(bearer: string, own?: OwnAudience): Promise<Caller>;
  /** Resolves only a JWT, as in x-svc-user-token. @throws GatehouseError `unauthorized`, `token_expired` */
  fromJwt(jwt: string): Promise<Caller>;
  /**
   * Resolves the token of a session of the console to the API key or the person that signed in. A person chooses the
   * environment with each request; the default is development.
   * @throws GatehouseError `unauthorized`; `forbidden` for another environment than that of the key.
   */
  fromSession(token: string, environment?: Environment): Promise<SessionCaller>;
  /** Clears the cache, so that a revocation by this process takes effect at once here. */
  forget(): void;
}

export function createCallers(context: CallerContext & { issuers: Issuers }): Callers {
  const bounds = { ttlMs: STALE_MS, max: MAX_CACHED, clock: context.clock };
  const cached = createTtlCache<Caller>(bounds);
  const sessions = createTtlCache<SessionCaller>(bounds);
  const fromJwt = (jwt: string, own?: OwnAudience): Promise<Caller> =>
    cached.get(own ? `${jwt} ${own.resource}` : jwt, () => jwtCaller(context, jwt, own));
  return {
    fromJwt: (jwt) => fromJwt(jwt),
    fromSession: (token, environment) =>
      sessions.get(`${token} ${environment}`, () => sessionCaller(context, token, environment)),
    forget() {
      cached.clear();
      sessions.clear();
    },
    fromBearer: (bearer, own) =>
      looksLikeJwt(bearer) ? fromJwt(bearer, own) : cached.get(bearer, () => keyCaller(context, bearer)),
  };
}

/** Returns the credential of an Authorization header. @throws GatehouseError `unauthorized` when there is none. */
export function bearerOf(authorization: string | undefined): string {
  const match = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '');
  if (match?.[1]) return match[1];
  throw unauthorized(
    authorization
      ? 'The Authorization header must be: Bearer <API key or JWT>.'
      : 'The Authorization header is missing. Send: Authorization: Bearer <API key>.',
  );
}

/** Returns whether the caller's key or JWT has a scope. */
export function holdsScope({ scopes }: Caller, scope: Scope): boolean {
  return scopes === 'all' || scopes.has(scope);
}

/** @throws GatehouseError `forbidden` when the caller's key lacks the scope. */
export function assertScope(caller: Caller, scope: Scope): void {
  if (holdsScope(caller, scope)) return;
  throw new GatehouseError(
    'forbidden',
    `This needs the scope ${scope}, which the ${caller.kind === 'jwt' ? 'JWT' : 'key'} does not have.`,
    {
      details: { scope },
    },
  );
}

export function looksLikeJwt(text: string): boolean {
  return text.startsWith('ey') && text.split('.').length === 3;
}

function unauthorized(message: string): GatehouseError {
  return new GatehouseError('unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

async function keyCaller(context: CallerContext, text: string): Promise<Caller> {
  const secret = secretOf(context, text);
  const key = secret && (await findApiKey(context, secret));
  // An ended key gets the answer of an unknown one, so that its holder learns nothing. The operator's audit log has it.
  if (key?.ended) context.keyUses.refused(key);
  if (!key || key.ended) throw unknownKey();
  return callerOfKey(context, key, key.endsAt);
}

/** Returns the error for a key that is unknown or ended. */
export function unknownKey(): GatehouseError {
  return unauthorized(
    'The API key is unknown, was rotated, or is incomplete. Check that it was copied whole.',
  );
}

async function sessionCaller(
  context: CallerContext,
  token: string,
  wanted: Environment | undefined,
): Promise<SessionCaller> {
  const session = await findConsoleSession(context, token);
  if (!session) throw sessionEnded();
  const { expiresAt: sessionEndsAt } = session;
  if ('key' in session) {
    const { key, environment } = session;
    if (wanted !== undefined && wanted !== environment)
      throw new GatehouseError(
        'forbidden',
        `You are signed in with a key of ${environment}, and this page is of ${wanted}. Sign in with a key of ${wanted}.`,
      );
    return { ...callerOfKey(context, key, key.endsAt), person: undefined, sessionEndsAt };
  }
  const { person } = session;
  // The setting may name another provider since, which does not know this person.
  if (person.issuer !== context.oidc?.settings.issuer) throw sessionEnded();
  return {
    kind: 'person',
    environment: wanted ?? 'development',
    label: labelOfPerson(person.personId),
    userId: undefined,
    scopes: ROLE_SCOPES[person.role],
    person,
    sessionEndsAt,
  };
}

function sessionEnded(): GatehouseError {
  return unauthorized('The session of the console has ended. Sign in again.');
}

function callerOfKey({ keyUses }: CallerContext, key: ApiKey, endsAt: number | undefined): Caller {
  keyUses.used(key);
  return {
    kind: 'api_key',
    environment: key.environment,
    label: labelOfKey(key.keyId),
    userId: undefined,
    scopes: key.scopes,
    ...(endsAt === undefined ? {} : { endsAt }),
  };
}

async function jwtCaller(
  context: CallerContext & { issuers: Issuers },
  jwt: string,
  own: OwnAudience | undefined,
): Promise<Caller> {
  try {
    const { user, expiresAt } = await userOfJwt(context, jwt, own);
    const { environment, userId } = user;
    const endsAt = expiresAt + CLOCK_TOLERANCE_SECONDS * SECOND;
    return { kind: 'jwt', environment, label: `jwt:${userId}`, userId, scopes: USER_SCOPES, endsAt };
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.status !== 401) throw error;
    const challenge = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
    throw new GatehouseError(error.code, error.message, { headers: challenge, cause: error });
  }
}

async function userOfJwt(
  context: CallerContext & { issuers: Issuers },
  jwt: string,
  own: OwnAudience | undefined,
): Promise<{ user: User; expiresAt: number }> {
  const issuer = issuerOf(jwt);
  if (context.issuers.trusts(issuer)) {
    const issued = await context.issuers.verify(issuer, jwt, own);
    const { environment, createUsers } = issued.issuer;
    const username = issued.username.toWellFormed();
    // PostgreSQL compares no text with a NUL.
    const found = hasControls(username) ? undefined : await findUserByName(context.db, environment, username);
    const user = found ?? (createUsers ? await createOrFind(context, environment, username) : undefined);
    return { user: enabledUser(user, issued.issuedAt), expiresAt: issued.expiresAt };
  }
  const claims = await verifyUserToken(context, jwt);
  const user = await findUser(context.db, claims.environment, claims.userId);
  return { user: enabledUser(user, claims.issuedAt), expiresAt: claims.expiresAt };
}

function issuerOf(jwt: string): string {
  try {
    const payload = parseJson(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const issuer = isJsonObject(payload) ? payload['iss'] : undefined;
    return typeof issuer === 'string' ? issuer : '';
  } catch (error) {
    throw new GatehouseError('unauthorized', 'The bearer is not a JWT.', { cause: error });
  }
}

/**
 * Creates the user. Two first requests may race; the loser finds the user that the winner created.
 * @throws GatehouseError `unauthorized` for a name that a user must not have.
 */
async function createOrFind(
  context: CallerContext,
  environment: Environment,
  username: string,
): Promise<User | undefined> {
  const { data, error: fault } = usernameRule.safeParse(username);
  // A name with blanks around it must not become the user of the name without.
  if (data !== username) {
    const rule = fault?.issues[0]?.message ?? 'must not begin or end with a blank';
    throw new GatehouseError(
      'unauthorized',
      `The JWT names a user who cannot be created: the username ${rule}.`,
    );
  }
  try {
    return await createUser(context, { environment, username });
  } catch (error) {
    if (error instanceof GatehouseError && error.code === 'user_exists') {
      return findUserByName(context.db, environment, username);
    }
    throw error;
  }
}

function enabledUser(user: User | undefined, issuedAt: number): User {
  if (!user?.enabled)
    throw new GatehouseError('unauthorized', 'The user of this JWT is unknown here or disabled.');
  if (user.tokensRevokedAt !== null && issuedAt <= user.tokensRevokedAt) {
    throw new GatehouseError('unauthorized', 'The tokens of this user were revoked. Request a new one.');
  }
  return user;
}
