import type { WorkflowTables } from './schema-workflows.ts';
import type { Generated, Kysely, Transaction } from 'kysely';

/** Everything belongs to one of these two; a key of one never sees the other's rows. */
export type Environment = 'development' | 'production';
export const ENVIRONMENTS = ['development', 'production'] as const;

/*
 * One set of column types for both databases: times are epoch milliseconds, flags 0 or 1, JSON and sealed boxes text.
 */
export interface Tables extends WorkflowTables {
  secrets: { name: string; sealed: string; created_at: number };
  api_keys: {
    key_id: string;
    environment: Environment;
    hash: string;
    last_four: string;
    scopes: string | null;
    created_at: number;
    revoked_at: number | null;
  };
  signing_keys: {
    kid: string;
    public_jwk: string;
    sealed: string;
    created_at: number;
    retired_at: number | null;
  };
  settings: { environment: Environment; settings: string; updated_at: number };
  users: {
    user_id: string;
    environment: Environment;
    username: string;
    metadata: string;
    enabled: number;
    tokens_revoked_at: number | null;
    created_at: number;
    updated_at: number;
  };
  servers: {
    server_id: string;
    environment: Environment;
    name: string;
    name_key: string;
    description: string;
    custom_instructions: string;
    restrictions: string;
    tool_mode: 'auto' | 'direct' | 'discovery';
    owner_user_id: string | null;
    /** 1 when a JWT made it: then it is bound to its owner for good. */
    bound: number;
    token_hash: string;
    token_sealed: string;
    token_expires_at: number | null;
    enabled: number;
    /** 1: shows only definitions that are approved. */
    pin_tools: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  credentials: {
    credential_id: string;
    environment: Environment;
    user_id: string;
    connector_id: string;
    type: string;
    name: string;
    state: 'active' | 'needs_reconnect' | 'revoked';
    reason: string | null;
    /** The app's words about the reason; never part of ours. */
    app_message: string | null;
    account: string | null;
    sealed: string;
    expires_at: number | null;
    last_used_at: number | null;
    /** What was granted, as a JSON array; null where the scheme has no scopes. */
    scopes: string | null;
    /** Rises with each change of `sealed`: a renewal saves only over the values that it began with. */
    version: Generated<number>;
    /** From when on the access token is renewed, well before `expires_at`. */
    renew_at: number | null;
    /** Who is renewing the tokens, until when, and the fence that tells an owner that it was overtaken. While nobody
     *  is, `lease_until` says when the last attempt ended. */
    lease_token: string | null;
    lease_until: number | null;
    fence: Generated<number>;
    /** Renewals that failed in a row, and not before when the next is tried. */
    refresh_failures: Generated<number>;
    refresh_after: number | null;
    /** When idle tokens are renewed, so that they do not die of disuse. */
    refresh_by: number | null;
    /** Unique for a user and connector; null in rows of before it was. See credentials/account-key.ts. */
    account_key: string | null;
    /** 1 in at most one row of a user and connector. */
    is_default: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /** Where a process serves, and when it said so last, epoch ms; see connect/presence.ts. */
  presence: { name: string; public_url: string; seen_at: number };
  /** Tokens that a renewal received and could not save: never thrown away. */
  spare_tokens: {
    spare_id: string;
    credential_id: string;
    sealed: string;
    created_at: number;
  };
  oauth_apps: {
    environment: Environment;
    connector_id: string;
    client_id: string;
    sealed: string;
    scopes: string | null;
    /** Where it is registered, as JSON by field. */
    fields: Generated<string>;
    created_at: number;
    updated_at: number;
  };
  /** A person's way through connecting an account. Its link is found by hash; status and outcome are for who made it. */
  connect_sessions: {
    session_id: string;
    token_hash: string;
    environment: Environment;
    user_id: string;
    /** The connectors to choose from, as a JSON array; null: all. */
    connectors: string | null;
    /** The only way to authenticate that is offered; null: all of the app. */
    type: string | null;
    /** The credential whose account is connected anew, under its id. */
    credential_id: string | null;
    /** Sealed values of fields that the operator already gave: they are not asked for again. */
    prefill: string | null;
    redirect_uri: string | null;
    client_state: string | null;
    /** `modal`: its status is polled by the page that opened it. */
    via: 'link' | 'modal';
    /** The browser that opened it first; no other may go on. */
    browser_hash: string | null;
    status: 'open' | 'authorizing' | 'succeeded' | 'failed';
    /** `{credentialId}`, or `{error, message}`. */
    outcome: string | null;
    expires_at: number;
    created_at: number;
    updated_at: number;
  };
  /** What may be used once and was, until it would have ended anyway. */
  spent_tokens: { token_id: string; expires_at: number };
  /** What an operator approved of a connector: name → hash, and name → definition, both as JSON. */
  approved_definitions: {
    environment: Environment;
    connector_id: string;
    /** Of the whole connector, when nothing of it waits for approval. */
    fingerprint: string;
    hashes: string;
    definitions: string;
    /** Rises with each approval. */
    version: number;
    updated_at: number;
  };
  /** See changes.ts. */
  changes: {
    change_id: string;
    environment: Environment;
    kind: 'server' | 'user' | 'accounts' | 'environment';
    subject: string;
    at: number;
  };
  /** What was sent to an app's consent page, until it comes back once. */
  oauth_states: {
    state_hash: string;
    session_id: string;
    connector_id: string;
    type: string;
    /** PKCE verifier, and the fields that were asked for before the consent. */
    sealed: string;
    expires_at: number;
    created_at: number;
  };
  /** Where events of a connection come from: one for each credential and scope, however many subscribe. */
  sources: {
    source_id: string;
    environment: Environment;
    user_id: string;
    credential_id: string;
    connector_id: string;
    scope: string;
    kind: 'native' | 'polling';
    /** `suspended`: its credential does not work; it goes on where it stopped. `ending`: nobody listens any more. */
    status: 'active' | 'suspended' | 'ending';
    reason: string | null;
    /** The time of the app (epoch milliseconds) at which listening began; null before the baseline. */
    baseline_at: number | null;
    /** The time of the app (epoch milliseconds) up to which everything was seen; null before the baseline. */
    cursor_until: number | null;
    /** Where an interrupted pass goes on, as JSON. */
    continuation: string | null;
    next_poll_at: number;
    /** The interval now, which adapts. */
    interval_ms: number;
    next_reconcile_at: number | null;
    failures: Generated<number>;
    lease_token: string | null;
    lease_until: number | null;
    fence: Generated<number>;
    /** Native: the hash of the token in our address at the app, and what registering gave, sealed. */
    hook_hash: string | null;
    hook_sealed: string | null;
    hook_state: 'none' | 'wanted' | 'registered' | 'failed';
    created_at: number;
    updated_at: number;
  };
  /**
   * What a source has told already: by record for `created`, by record and version for `updated`. `state`: of a record
   * (`c:`), its newest version, seen at `seen_at`; null for what was seen by releases that kept none.
   */
  seen: { source_id: string; key: string; seen_at: number; state: string | null };
  /** Webhooks of apps as they arrived, once each. */
  inbox: {
    inbox_id: string;
    source_id: string;
    dedupe_key: string;
    topic: string;
    body: string;
    received_at: number;
    processed_at: number | null;
    /** Why it could not be processed, and when that is tried again. */
    attempts: Generated<number>;
    next_at: number;
    error: string | null;
  };
  subscriptions: {
    subscription_id: string;
    environment: Environment;
    /** `operator`: the environment's own events, with no user and no source. `listener`: `gatehouse listen`, which fetches. */
    kind: 'connection' | 'operator' | 'listener';
    user_id: string | null;
    credential_id: string | null;
    source_id: string | null;
    scope: string;
    address: string;
    /** A JSON array of created, updated, deleted; of event types for the operator's. */
    events: string;
    /** Headers that the subscriber wants on each delivery, sealed JSON. */
    headers_sealed: string | null;
    secret_sealed: string;
    /** Secrets before this one that still sign, each until its time: sealed JSON. */
    previous_secrets_sealed: string | null;
    status: 'active' | 'disabled';
    reason: string | null;
    rate_per_second: number | null;
    ordered: number;
    /** The number of the last delivery. */
    sequence: Generated<number>;
    /** The next slot of its rate: before this no further delivery begins, in whichever process. */
    next_slot_at: number | null;
    /** Before this the receiver wants nothing at all (Retry-After). */
    hold_until: number | null;
    /** Since when nothing but failures came back. */
    failing_since: number | null;
    backfill: 'none' | 'wanted' | 'running' | 'done';
    /** How far a running backfill came. */
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
    /** `waiting` for its time, or leased; the rest are ends. */
    status: 'waiting' | 'succeeded' | 'dead' | 'cancelled';
    /** Made so far, and how many of them count in the present schedule: a replay begins a new one. */
    attempts: Generated<number>;
    step: Generated<number>;
    /** When it may be taken. Taking it moves this to the end of the lease, so that a lease that ended is simply due. */
    next_at: number;
    /** Who has it; only that one may write what came of it. */
    lease_token: string | null;
    /** 1: handed over by who published it, and not heard of since. Set to 0 by whatever makes it wait for its time. */
    offered: Generated<0 | 1>;
    last_status: number | null;
    last_error: string | null;
    /** The first attempt as JSON when it succeeded; all others are rows of `delivery_attempts`. */
    first_attempt: Generated<string | null>;
    /** Extra headers of this delivery alone, as JSON: markers of a backfill, a test. */
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
    /** The beginning of the answer, without secrets. */
    excerpt: string | null;
  };
  /** Work that must survive a crash: registering at apps, backfills. */
  jobs: {
    job_id: string;
    kind: string;
    /** One live job of a kind for each key. */
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
  /** See probe.ts: removed right after they were written. */
  write_probes: { probe_id: string; at: number; filler: string };
  /** Custom fields of unified models: an operator's expressions for an environment, a connector or a credential. */
  field_mappings: {
    mapping_id: string;
    environment: Environment;
    connector_id: string | null;
    credential_id: string | null;
    scope: string;
    fields: string;
    created_at: number;
    updated_at: number;
  };
  executions: {
    execution_id: string;
    environment: Environment;
    at: number;
    request_id: string;
    caller: string;
    server_id: string | null;
    user_id: string | null;
    connector_id: string;
    action_id: string;
    credential_id: string | null;
    outcome: 'succeeded' | 'failed' | 'denied';
    rule: string | null;
    error_code: string | null;
    upstream_status: number | null;
    duration_ms: number;
  };
  audit: {
    audit_id: string;
    environment: Environment;
    at: number;
    request_id: string;
    caller: string;
    operation: string;
    target: string | null;
    status: number;
  };
  idempotency: {
    /** Hash of environment, user and the caller's key. */
    key_hash: string;
    request_hash: string;
    state: 'running' | 'done';
    status: number | null;
    body: string | null;
    /** A running row whose lease ended belongs to a process that died. */
    lease_until: number;
    expires_at: number;
  };
  page_positions: {
    /** Hash of credential, action and the input without limit and offset. */
    list_hash: string;
    credential_id: string;
    item_offset: number;
    position: string;
    expires_at: number;
  };
  /** Results too large to inline, for whom they were made and of which action. */
  results: {
    result_id: string;
    environment: Environment;
    server_id: string;
    user_id: string | null;
    caller: string;
    connector_id: string | null;
    action_id: string | null;
    bytes: number;
    pages: number;
    expires_at: number;
    created_at: number;
  };
  result_pages: {
    result_id: string;
    /** From 1 on. */
    page: number;
    sealed: string;
  };
  search_documents: {
    /** Hash of what it says. */
    document: string;
    terms: string;
    used_at: number;
  };
  schema_versions: { version: Generated<number>; name: string; applied_at: number };
}

export type Db = Kysely<Tables>;
/** A database or an open transaction: what storage functions take. */
export type DbOrTx = Db | Transaction<Tables>;
