import type { PriorDiscovery } from '@modelcontextprotocol/client';
import { MINUTE, type Clock } from '../../lib/clock.ts';
import { createExpiring } from '../../lib/ttl-cache.ts';

/** How long a version counts. A server that was updated is then used with its newer version. */
const KNOWN_MS = 10 * MINUTE;
const MAX_KNOWN = 2000;

/** A server, and the account and definition with which it is called; undefined without an account. */
interface Place {
  url: string;
  key: string | undefined;
}

/** The versions of MCP that servers speak, so that a new session need not ask for them. */
export interface KnownVersions {
  of(place: Place): PriorDiscovery | undefined;
  remember(place: Place, version: PriorDiscovery): void;
  forget(place: Place): void;
}

export function createKnownVersions(clock: Clock): KnownVersions {
  const known = createExpiring<PriorDiscovery>({ max: MAX_KNOWN, ttlMs: KNOWN_MS, clock });
  // A server may describe itself to each account in another way. An older version describes nothing.
  const ofAccount = ({ url, key = '' }: Place) => `${url} ${key}`;
  return {
    of: (place) => known.get(place.url) ?? known.get(ofAccount(place)),
    remember(place, version) {
      known.set(version.kind === 'legacy' ? place.url : ofAccount(place), version);
    },
    forget(place) {
      known.delete(ofAccount(place));
    },
  };
}
