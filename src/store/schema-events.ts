import type { Generated } from 'kysely';
import type { Environment } from './environments.ts';

/** Sources, subscriptions, the outbox and the jobs. */
export interface EventTables {
  /** Sources of a connection's events: one for each credential and scope, however many subscribe. */
  sources: {
    source_id: string;
    environment: Environment;
    user_id: string;
    credential_id: string;
    connector_id: string;
    scope: string;
    kind: 'native' | 'polling';
    /**
     * `suspended`: the credential does not work; the source later continues where it stopped. `ending`: no
     * subscription uses it any more.
     */
    status: 'active' | 'suspended' | 'ending';
    reason: string | null;
    /** The time of the app (epoch milliseconds) at which listening began; null before the baseline. */
    baseline_at: number | null;
    /** The time of the app (epoch milliseconds) up to which everything was seen; null before the baseline. */
    cursor_until: number | null;
    /** Where an interrupted page walk continues, as JSON. */
    continuation: string | null;
    next_poll_at: number;
    /** The current interval, which adapts. */
    interval_ms: number;
    next_reconcile_at: number | null;
    failures: Generated<number>;
    lease_token: string | null;
    lease_until: number | null;
    fence: Generated<number>;
    /** Native: the hash of the token in our address at the app, and the sealed result of the registration. */
    hook_hash: string | null;
    hook_sealed: string | null;
    /** `manual`: webhooks that a person set up at the app arrive. */
    hook_state: 'none' | 'wanted' | 'registered' | 'failed' | 'manual';
    created_at: number;
    updated_at: number;
  };
  /** Webhooks that a person set up at an app: one address for each connection. */
  manual_hooks: {
    credential_id: string;
    environment: Environment;
    /** The hash of the token in the address. */
    hook_hash: string;
    /** Token and secrets as JSON, sealed. */
    sealed: string;
    /** The time of the last genuine webhook, up to a minute late; null before the first. */
    last_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /**
   * Changes that a source has already reported: by record for `created`, by record and version for `updated`. `state`
   * of a record (`c:`): its newest version, seen at `seen_at`; null in rows of versions. `silent`: 0,
   * its event was published; 1, the first listing stored it without one; 2, a later observation did.
   */
  seen: {
    source_id: string;
    key: string;
    seen_at: number;
    state: string | null;
    silent: Generated<0 | 1 | 2>;
  };
  /** Webhooks of apps as they arrived, each once. */
  inbox: {
    inbox_id: string;
    source_id: string;
    dedupe_key: string;
    topic: string;
    body: string;
    received_at: number;
    processed_at: number | null;
    /** Failed tries to process it, and when the next one is due. */
    attempts: Generated<number>;
    next_at: number;
    error: string | null;
  };
  subscriptions: {
    subscription_id: string;
    environment: Environment;
    /**
     * `operator`: the environment's own events, without user and source. `listener`: `gatehouse listen`, which
     * fetches.
     */
    kind: 'connection' | 'operator' | 'listener';
    user_id: string | null;
    credential_id: string | null;
    source_id: string | null;
    scope: string;
    address: string;
    /** A JSON array of created, updated, deleted; of event types for the operator's subscription. */
    events: string;
    /** Headers that the subscriber wants on each delivery, sealed JSON. */
    headers_sealed: string | null;
    secret_sealed: string;
    /** Earlier secrets that still sign, each until its time: sealed JSON. */
    previous_secrets_sealed: string | null;
    status: 'active' | 'disabled';
    reason: string | null;
    rate_per_second: number | null;
    ordered: number;
    /** Sequence number of the last delivery. */
    sequence: Generated<number>;
    /** Next slot of its rate; no process starts a delivery before it. */
    next_slot_at: number | null;
    /** The receiver takes no delivery before this time (Retry-After). */
    hold_until: number | null;
    /** When the current series of failures began; null after a success. */
    failing_since: number | null;
    backfill: 'none' | 'wanted' | 'running' | 'done';
    /** Position of a running backfill. */
    backfill_after: string | null;
    created_at: number;
    updated_at: number;
  };
  events: {
    event_id: string;
    environment: Environment;
    source_id: string | null;
    scope: string;
    event: string;
    record_id: string;
    body: string;
    created_at: number;
  };
  deliveries: {
    delivery_id: string;
    subscription_id: string;
    event_id: string;
    sequence: number;
    /** `waiting`: waits for its time, or is leased. The other values are final. */
    status: 'waiting' | 'succeeded' | 'dead' | 'cancelled';
    /** Attempts made, and how many of them count in the current schedule; a replay begins a new schedule. */
    attempts: Generated<number>;
    step: Generated<number>;
    /** When a process may claim it. A claim moves this to the end of the lease, so an expired lease makes it due. */
    next_at: number;
    /** Lease of the process that sends it; only that process may write the result. */
    lease_token: string | null;
    /** 1: handed over by its publisher, without a report since. Set to 0 when the delivery waits for its time. */
    offered: Generated<0 | 1>;
    last_status: number | null;
    last_error: string | null;
    /** The first attempt as JSON when it succeeded; all others are rows of `delivery_attempts`. */
    first_attempt: Generated<string | null>;
    /** Extra headers of this delivery alone, as JSON: markers of a backfill or a test. */
    marks: string | null;
    created_at: number;
    updated_at: number;
  };
  delivery_attempts: {
    delivery_id: string;
    number: number;
    at: number;
    duration_ms: number;
    status: number | null;
    error: string | null;
    /** The beginning of the response, without secrets. */
    excerpt: string | null;
  };
  /** Work that must survive a crash: registrations at apps, backfills. */
  jobs: {
    job_id: string;
    kind: string;
    /** Unique among the live jobs of a kind. */
    key: string;
    payload: string;
    attempts: Generated<number>;
    next_at: number;
    lease_token: string | null;
    lease_until: number | null;
    error: string | null;
    created_at: number;
    updated_at: number;
  };
}
