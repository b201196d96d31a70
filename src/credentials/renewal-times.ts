import type { TokenScheme } from '../connectors/format/format.ts';
import { DAY, MINUTE, SECOND } from '../lib/clock.ts';
import { fullJitter } from '../runtime/backoff.ts';
import type { Credential } from './credential.ts';

/** Assumed lifetime of refresh tokens without a known one; they are used at least every half of it. */
const UNKNOWN_LIFETIME_DAYS = 60;
/** The largest share of its life that an access token may lose by early renewal. */
const MOST_EARLY = 0.25;

/**
 * Returns when an access token is renewed, epoch ms; null for tokens without expiry.
 * The lead is a tenth of its life and at least a minute, but at most a quarter.
 * The quarter keeps calls with short-lived tokens from renewing each time.
 * The lead is scattered by a fifth, so that tokens granted together are not renewed together.
 */
export function renewAtOf(expiresAt: number | undefined, now: number): number | null {
  if (expiresAt === undefined) return null;
  const lifetimeMs = Math.max(0, expiresAt - now);
  const earlyMs = Math.min(Math.max(MINUTE, lifetimeMs / 10), lifetimeMs * MOST_EARLY);
  return Math.round(expiresAt - earlyMs + fullJitter(0.2 * earlyMs));
}

/**
 * Returns when unused tokens are renewed, epoch ms: at half the life of the refresh token.
 * The answer names that life, else the scheme does.
 */
export function refreshByOf(
  scheme: TokenScheme,
  tokens: { refreshToken?: string | undefined; refreshExpiresAt?: number | undefined },
  now: number,
): number | undefined {
  if (tokens.refreshToken === undefined) return undefined;
  if (tokens.refreshExpiresAt !== undefined) return Math.round((now + tokens.refreshExpiresAt) / 2);
  const days = (scheme.type === 'oauth2' ? scheme.refreshTokenDays : undefined) ?? UNKNOWN_LIFETIME_DAYS;
  return now + (days * DAY) / 2;
}

/** Returns the whole seconds until a time in epoch ms, at least 1, for Retry-After. */
export function secondsUntil(at: number, now: number): number {
  return Math.max(1, Math.ceil((at - now) / SECOND));
}

/** A version whose access token a third party rejected before its expiry. */
export interface Refused {
  version: number;
}

/** Returns whether tokens need renewal: they are due or were rejected. */
export function isDue(credential: Credential, now: number, refused?: Refused): boolean {
  if (isRefused(credential, refused)) return true;
  const at = credential.renewAt ?? credential.expiresAt;
  return at !== null && now >= at;
}

/** Returns whether a call may use these tokens when there are no newer ones. */
export function isUsable(credential: Credential, now: number, refused?: Refused): boolean {
  return !isRefused(credential, refused) && (credential.expiresAt === null || now < credential.expiresAt);
}

function isRefused({ version }: Credential, refused: Refused | undefined): boolean {
  return refused !== undefined && version <= refused.version;
}
