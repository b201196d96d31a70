import type { JWTVerifyGetKey } from 'jose';
import type { JwtIssuer } from '../config.ts';
import type { Base } from '../base.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Environment } from '../store/environments.ts';
import { CLOCK_TOLERANCE_SECONDS, jwtRefusal } from './user-tokens.ts';

/** Asymmetric only: with a shared secret, everyone who verifies could also sign. */
const ALGORITHMS = [
  'EdDSA',
  'Ed25519',
  'ES256',
  'ES384',
  'ES512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
];
const MAX_LIFETIME_MS = DAY;
/** How far an issuer's clock may be ahead of ours. */
const TOLERANCE_MS = CLOCK_TOLERANCE_SECONDS * SECOND;
const JWKS_TIMEOUT_MS = 5 * SECOND;
/** Requests within this time of a failure fail at once instead of waiting for another one. */
const FAILURE_HOLDS_MS = 5 * SECOND;
const JWKS_MAX_BYTES = 256 * 1024;

/** The user that a token of a trusted issuer names. */
export interface IssuedName {
  issuer: JwtIssuer;
  username: string;
  /** Earliest possible time of issue, epoch ms; the issuer's clock may be ahead. */
  issuedAt: number;
  expiresAt: number;
}

/**
 * An audience that is accepted in addition to the configured ones, for issuers of one environment: an MCP server's
 * address (RFC 8707).
 */
export interface OwnAudience {
  resource: string;
  environment: Environment;
}

/** Verifies JWTs of GATEHOUSE_JWT_ISSUERS and caches each issuer's key set. */
export interface Issuers {
  trusts(issuer: string): boolean;
  /** @throws GatehouseError `token_expired`, `unauthorized`, or `unavailable` when the keys cannot be fetched. */
  verify(issuer: string, token: string, own?: OwnAudience): Promise<IssuedName>;
}

export function createIssuers(trusted: JwtIssuer[], context: Pick<Base, 'outbound' | 'clock'>): Issuers {
  const keySets = new Map<JwtIssuer, JWTVerifyGetKey>();
  const keySetOf = async (issuer: JwtIssuer): Promise<JWTVerifyGetKey> => {
    const { createRemoteJWKSet, customFetch } = await import('jose');
    const known = keySets.get(issuer);
    if (known) return known;
    const keySet = createRemoteJWKSet(new URL(issuer.jwksUrl), {
      timeoutDuration: JWKS_TIMEOUT_MS,
      [customFetch]: keyFetcher(context),
    });
    keySets.set(issuer, keySet);
    return keySet;
  };

  return {
    trusts: (name) => trusted.some((issuer) => issuer.issuer === name),
    async verify(issuer, token, own) {
      let refusal: unknown;
      // One issuer may serve both environments under different audiences.
      for (const candidate of trusted.filter((one) => one.issuer === issuer)) {
        try {
          const audience =
            own?.environment === candidate.environment
              ? [candidate.audience, own.resource]
              : candidate.audience;
          const keySet = await keySetOf(candidate);
          return await verifyWith(candidate, keySet, { token, audience, now: context.clock.now() });
        } catch (error) {
          refusal ??= error;
        }
      }
      throw jwtRefusal(refusal);
    },
  };
}

async function verifyWith(
  issuer: JwtIssuer,
  keySet: JWTVerifyGetKey,
  { token, audience, now }: { token: string; audience: string | string[]; now: number },
): Promise<IssuedName> {
  const { jwtVerify } = await import('jose');
  const { payload } = await jwtVerify(token, keySet, {
    algorithms: ALGORITHMS,
    issuer: issuer.issuer,
    audience,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(now),
    requiredClaims: ['exp'],
  });
  const expiresAt = (payload.exp ?? 0) * SECOND;
  const issuedAt = issueTime(payload.iat, now);
  if (expiresAt - issuedAt > MAX_LIFETIME_MS) {
    throw new GatehouseError(
      'unauthorized',
      'The JWT lives longer than 24 hours. Have its issuer shorten it.',
    );
  }
  const username = payload[issuer.userClaim];
  if (typeof username !== 'string' || username === '') {
    throw new GatehouseError(
      'unauthorized',
      `The JWT has no claim "${issuer.userClaim}" that names its user.`,
    );
  }
  // The issuer's clock may be ahead; otherwise a token issued before a revocation could look newer than it.
  return { issuer, username, issuedAt: issuedAt - TOLERANCE_MS, expiresAt };
}

/**
 * Returns the time of issue. Without a bounded `iat`, the token could not be revoked and its lifetime would have no
 * limit.
 */
function issueTime(iat: number | undefined, now: number): number {
  if (iat === undefined) {
    throw new GatehouseError(
      'unauthorized',
      'The JWT has no claim "iat". Have its issuer say when it was issued.',
    );
  }
  if (iat * SECOND > now + TOLERANCE_MS) {
    throw new GatehouseError(
      'unauthorized',
      'The JWT was issued more than 30 seconds ahead of our clock (iat). Set the clock of its issuer.',
    );
  }
  return iat * SECOND;
}

/** Fetches the keys of one issuer. */
function keyFetcher({ outbound, clock }: Pick<Base, 'outbound' | 'clock'>) {
  let failed: { cause: unknown; until: number } | undefined;
  return async (url: string): Promise<Response> => {
    if (failed && clock.now() < failed.until) throw keysUnavailable(failed.cause);
    try {
      const answer = await outbound.request({
        method: 'GET',
        url,
        headers: { accept: 'application/json' },
        timeoutMs: JWKS_TIMEOUT_MS,
        maxBytes: JWKS_MAX_BYTES,
      });
      return new Response(new Uint8Array(answer.body), { status: answer.status });
    } catch (cause) {
      failed = { cause, until: clock.now() + FAILURE_HOLDS_MS };
      throw keysUnavailable(cause);
    }
  };
}

function keysUnavailable(cause: unknown): GatehouseError {
  return new GatehouseError(
    'unavailable',
    'The keys of the JWT issuer cannot be read at the moment. Try again.',
    { cause, retryAfterSeconds: FAILURE_HOLDS_MS / SECOND },
  );
}
