import type { LRUCache } from 'lru-cache';
import { STALE_MS } from '../identity/caller.ts';
import { SECOND, systemClock, type Clock } from '../lib/clock.ts';
import type { Secret } from '../lib/secret.ts';
import { createExpiring, createTtlCache, type TtlCache } from '../lib/ttl-cache.ts';
import type { Credential } from './credential.ts';

const MAX_CHOICES = 10_000;
/** How long opened values are cached: opening costs 35 µs, and each call of a busy credential opens it. */
const OPENED_MS = SECOND;
const MAX_OPENED = 1000;
/** How long a probe's result is cached. A client that repeats a forbidden call probes twice a minute. */
const VERDICT_MS = 30 * SECOND;
const MAX_VERDICTS = 1000;

/** The values about credentials that a process caches. */
export interface CredentialMemory {
  /** A user's credentials for a connector. */
  readonly choices: TtlCache<Credential[]>;
  readonly connected: TtlCache<ConnectedMeans>;
  /** Opened values by binding and sealed text. A changed box has another key, so nothing needs invalidation. */
  readonly opened: LRUCache<string, Readonly<Record<string, Secret>>>;
  /** Running renewals by credential; concurrent callers share them. */
  readonly renewals: Map<string, Promise<Credential>>;
  /** Probes after rejected calls, by credential and version. */
  readonly probes: LRUCache<string, Probed>;
  /** Empties the caches of choices, so that the next call sees a credential that this process changed. */
  forgetChoices(): void;
}

/** Types of a user's active credentials, by connector id. */
export type ConnectedMeans = ReadonlyMap<string, readonly string[]>;

/** The ids of the connectors to which a user is connected. */
export type Connected = Pick<ReadonlySet<string>, 'has'>;

/** The result of a probe. `unknown`: the app gave no definite answer. `none`: the connector has no probe. */
export type Verdict = 'works' | 'refused' | 'unknown' | 'none';

/** A probe, whose verdict is set once it has answered. */
export interface Probed {
  asked: Promise<Verdict>;
  verdict?: Verdict;
}

export function createCredentialMemory({ clock }: { clock: Clock }): CredentialMemory {
  const lifetime = { ttlMs: STALE_MS, max: MAX_CHOICES, clock: systemClock };
  const choices = createTtlCache<Credential[]>(lifetime);
  const connected = createTtlCache<ConnectedMeans>(lifetime);
  return {
    choices,
    connected,
    opened: createExpiring({ ttlMs: OPENED_MS, max: MAX_OPENED, clock }),
    renewals: new Map(),
    probes: createExpiring({ ttlMs: VERDICT_MS, max: MAX_VERDICTS, clock }),
    forgetChoices() {
      choices.clear();
      connected.clear();
    },
  };
}
