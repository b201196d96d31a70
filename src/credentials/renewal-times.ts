import type { OAuth } from '../connectors/format.ts';
import { DAY, MINUTE, SECOND } from '../lib/clock.ts';
import type { Credential } from './credential.ts';

/** Refresh tokens of unknown lifetime are used at least every half of this. */
const UNKNOWN_LIFETIME_DAYS = 60;
/** How much of its life an access token may lose by early renewal, however short it is. */
const MOST_EARLY = 0.25;

/**
 * From when on an access token is renewed, in epoch milliseconds: a tenth of its life before its end, a minute at
 * least, but never more than a quarter of it, else calls with short-lived tokens would do nothing but renew. Scattered
 * by a fifth, so that what was granted together is not renewed together. Null for tokens without an end.
 */
export function renewAtOf(expiresAt: number | undefined, now: number): number | null {
  if (expiresAt === undefined) return null;
  const lifetimeMs = Math.max(0, expiresAt - now);
  const earlyMs = Math.min(Math.max(MINUTE, lifetimeMs / 10), lifetimeMs * MOST_EARLY);
  return Math.round(expiresAt - earlyMs * (1 - 0.2 * Math.random()));
}

/**
 * When unused tokens are renewed: at half the life of the refresh token, which the answer tells, or else the scheme.
 * Epoch milliseconds.
 */
export function refreshByOf(
  scheme: OAuth,
  tokens: { refreshToken?: string | undefined; refreshExpiresAt?: number | undefined },
  now: number,
): number | undefined {
  if (tokens.refreshToken === undefined) return undefined;
  if (tokens.refreshExpiresAt !== undefined) return Math.round((now + tokens.refreshExpiresAt) / 2);
  const days = (scheme.type === 'oauth2' ? scheme.refreshTokenDays : undefined) ?? UNKNOWN_LIFETIME_DAYS;
  return now + (days * DAY) / 2;
}

/** Whole seconds until a time in epoch milliseconds, one at least: what Retry-After says. */
export function secondsUntil(at: number, now: number): number {
  return Math.max(1, Math.ceil((at - now) / SECOND));
}

/** The version whose access token a third party refused, although its time was not over. */
export interface Refused {
  version: number;
}

/** Whether tokens should be renewed: their time has come, or they were refused. */
export function isDue(credential: Credential, now: number, refused?: Refused): boolean {
  if (isRefused(credential, refused)) return true;
  const at = credential.renewAt ?? credential.expiresAt;
  return at !== null && now >= at;
}

/** Whether a call may go with what is there, if there is nothing newer. */
export function isUsable(credential: Credential, now: number, refused?: Refused): boolean {
  return !isRefused(credential, refused) && (credential.expiresAt === null || now < credential.expiresAt);
}

function isRefused({ version }: Credential, refused: Refused | undefined): boolean {
  return refused !== undefined && version <= refused.version;
}
