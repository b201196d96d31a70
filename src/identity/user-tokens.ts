import type { JWK } from 'jose';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { newId } from '../lib/ids.ts';
import { DAY, HOUR, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import { boundTo } from '../store/sealed-columns.ts';

type TokenContext = Pick<Base, 'db' | 'clock' | 'keys' | 'publicUrl'>;

/** Loaded when the first token is issued or verified, so that a start does not wait for it. */
const jose = () => import('jose');

const AUDIENCE = 'gatehouse';
const ALGORITHM = 'EdDSA';
const LIFETIME_SECONDS = 3600;
export const CLOCK_TOLERANCE_SECONDS = 30;
/** How long a key signs. A new key then replaces it, and the old one only verifies. */
const SIGNING_PERIOD_MS = 30 * DAY;
const VERIFYING_AFTERWARDS_MS = 2 * HOUR;

const claims = z.object({
  sub: z.string().min(1),
  env: z.enum(ENVIRONMENTS),
  /** `iat` in milliseconds, because a token issued right after a revocation must stay valid. */
  issuedAtMs: z.number(),
  exp: z.number(),
  scope: z.literal('user'),
});

/** Issues a JWT of one user, valid for one hour. */
export async function issueUserToken(
  context: TokenContext,
  environment: Environment,
  userId: string,
): Promise<string> {
  const { kid, privateJwk } = await signingKey(context);
  const { importJWK, SignJWT } = await jose();
  const issuedAtMs = context.clock.now();
  const now = Math.floor(issuedAtMs / SECOND);
  return new SignJWT({ env: environment, scope: 'user', issuedAtMs })
    .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
    .setIssuer(context.publicUrl)
    .setAudience(AUDIENCE)
    .setSubject(userId)
    .setIssuedAt(now)
    .setExpirationTime(now + LIFETIME_SECONDS)
    .setJti(newId('key').slice('key_'.length))
    .sign(await importJWK(privateJwk, ALGORITHM));
}

/**
 * Verifies a token and returns its claims, times in epoch ms. The caller checks whether its user still exists.
 * @throws GatehouseError `token_expired`, `unauthorized`
 */
export async function verifyUserToken(context: TokenContext, token: string) {
  const { createLocalJWKSet, jwtVerify } = await jose();
  const keySet = createLocalJWKSet(await publicKeys(context));
  try {
    const { payload } = await jwtVerify(token, keySet, {
      algorithms: [ALGORITHM],
      issuer: context.publicUrl,
      audience: AUDIENCE,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(context.clock.now()),
      requiredClaims: ['sub', 'iat', 'exp', 'jti'],
    });
    const { sub, env, issuedAtMs, exp } = claims.parse(payload);
    return { userId: sub, environment: env, issuedAt: issuedAtMs, expiresAt: exp * SECOND };
  } catch (error) {
    throw jwtRefusal(error);
  }
}

/** Returns the GatehouseError for an error of jose. */
export function jwtRefusal(error: unknown): GatehouseError {
  if (error instanceof GatehouseError) return error;
  if (error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED') {
    return new GatehouseError('token_expired', 'The JWT has expired. Request a new one.', { cause: error });
  }
  return new GatehouseError(
    'unauthorized',
    'The JWT is not valid here: its signature, issuer or claims do not hold.',
    {
      cause: error,
    },
  );
}

const jwk = z.looseObject({ kty: z.string() });

/**
 * Returns the public keys that verify live tokens, as a JWK Set (RFC 7517).
 * It is never empty: a client that caches it before the first token needs the key of that token.
 */
export async function publicKeys(context: TokenContext): Promise<{ keys: JWK[] }> {
  const live = await verifyingKeys(context);
  // A key is created at its first use, and again when the newest is due for replacement.
  const isCurrent = live.some(
    ({ retired_at, created_at }) =>
      retired_at === null && context.clock.now() - created_at < SIGNING_PERIOD_MS,
  );
  if (!isCurrent) await signingKey(context);
  const rows = isCurrent ? live : await verifyingKeys(context);
  return { keys: rows.map((row) => jwk.parse(JSON.parse(row.public_jwk))) };
}

const keysRetiredAfter = perDatabase((db) =>
  db
    .selectFrom('signing_keys')
    .select(['public_jwk', 'created_at', 'retired_at'])
    .where((e) => e.or([e('retired_at', 'is', null), e('retired_at', '>', 0)]))
    .orderBy('created_at', 'desc')
    .compile(),
);

async function verifyingKeys({ db, clock }: Pick<TokenContext, 'db' | 'clock'>) {
  const { rows } = await runPrepared(db, keysRetiredAfter(db), [clock.now() - VERIFYING_AFTERWARDS_MS]);
  return rows;
}

async function signingKey({ db, clock, keys }: TokenContext): Promise<{ kid: string; privateJwk: JWK }> {
  const now = clock.now();
  const newest = await db
    .selectFrom('signing_keys')
    .selectAll()
    .where('retired_at', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (newest && now - newest.created_at < SIGNING_PERIOD_MS) {
    const shape = z.looseObject({ kty: z.string() });
    return {
      kid: newest.kid,
      privateJwk: keys.openJson(shape, newest.sealed, boundTo('signing_keys.sealed', newest)),
    };
  }
  const { exportJWK, generateKeyPair } = await jose();
  const pair = await generateKeyPair(ALGORITHM, { extractable: true });
  const kid = newId('key');
  const privateJwk = await exportJWK(pair.privateKey);
  const publicJwk = { ...(await exportJWK(pair.publicKey)), kid, alg: ALGORITHM, use: 'sig' };
  await db.transaction().execute(async (tx) => {
    await tx
      .insertInto('signing_keys')
      .values({
        kid,
        public_jwk: JSON.stringify(publicJwk),
        sealed: keys.sealJson(privateJwk, boundTo('signing_keys.sealed', { kid })),
        created_at: now,
        retired_at: null,
      })
      .execute();
    await tx
      .updateTable('signing_keys')
      .set({ retired_at: now })
      .where('retired_at', 'is', null)
      .where('created_at', '<', now - SIGNING_PERIOD_MS)
      .execute();
  });
  return { kid, privateJwk };
}
