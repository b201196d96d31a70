import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config, RateLimit } from '../config.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** A caller's remaining limit as response headers. */
export type LimitHeaders = Record<string, string>;

/** Gatehouse's own limits, counted in this process. */
export interface Limits {
  /**
   * Counts `cost` requests of a caller on an MCP endpoint and answers with the RateLimit headers.
   * @throws GatehouseError `rate_limited` with Retry-After.
   */
  mcp(key: string, cost: number): Promise<LimitHeaders>;
  /**
   * Counts a REST call by a JWT of a user and answers with the RateLimit headers.
   * @throws GatehouseError `rate_limited` with Retry-After.
   */
  user(key: string): Promise<LimitHeaders>;
  /** Counts a 401 of a client address. */
  refused(address: string): void;
  /** @throws GatehouseError `rate_limited` when this address got too many 401 responses in the last minute. */
  assertNotBlocked(address: string): Promise<void>;
}

const REFUSALS_PER_MINUTE = 30;
const NONE: LimitHeaders = {};

export function createLimits(
  { mcpRateLimit, userRateLimit }: Pick<Config, 'mcpRateLimit' | 'userRateLimit'>,
  { rateLimited }: Pick<Metrics, 'rateLimited'>,
): Limits {
  const mcp = counter(mcpRateLimit, 'Too many requests on this MCP server.', () => rateLimited.count('mcp'));
  const user = counter(userRateLimit, 'Too many requests by JWTs of this user.', () =>
    rateLimited.count('user'),
  );
  const refusals = new RateLimiterMemory({ points: REFUSALS_PER_MINUTE, duration: 60 });

  return {
    mcp,
    user: (key) => user(key, 1),
    refused: (address) => void refusals.penalty(address, 1),
    async assertNotBlocked(address) {
      const state = await refusals.get(address);
      if (!state || state.consumedPoints < REFUSALS_PER_MINUTE) return;
      rateLimited.count('address');
      throw tooMany('Too many refused requests from this address.', headersOf(REFUSALS_PER_MINUTE, state));
    },
  };
}

/** Counts calls by key. An undefined limit turns the count off. */
function counter(
  limit: RateLimit | undefined,
  refusal: string,
  onRefusal: () => void,
): (key: string, cost: number) => Promise<LimitHeaders> {
  if (!limit) return async () => NONE;
  const { points, windowSeconds } = limit;
  const limiter = new RateLimiterMemory({ points, duration: windowSeconds });
  return async (key, cost) => {
    try {
      return headersOf(points, await limiter.consume(key, cost));
    } catch (rejected) {
      if (!(rejected instanceof RateLimiterRes)) throw rejected;
      onRefusal();
      throw tooMany(refusal, headersOf(points, rejected));
    }
  };
}

/** Returns the header fields of the IETF draft "RateLimit header fields for HTTP", in seconds. */
function headersOf(points: number, { remainingPoints, msBeforeNext }: RateLimiterRes): LimitHeaders {
  return {
    'RateLimit-Limit': String(points),
    'RateLimit-Remaining': String(Math.max(0, remainingPoints)),
    'RateLimit-Reset': String(Math.ceil(msBeforeNext / 1000)),
  };
}

function tooMany(what: string, headers: LimitHeaders): GatehouseError {
  const seconds = headers['RateLimit-Reset'] ?? '60';
  return new GatehouseError('rate_limited', `${what} Try again in ${seconds} s.`, {
    headers,
    retryAfterSeconds: Number(seconds),
  });
}
