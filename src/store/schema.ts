import type { Generated, Kysely, Transaction } from 'kysely';

/** Everything belongs to one of these two; a key of one never sees the other's rows. */
export type Environment = 'development' | 'production';
export const ENVIRONMENTS = ['development', 'production'] as const;

/*
 * One set of column types for both databases: times are epoch milliseconds, flags 0 or 1, JSON and sealed boxes text.
 */
export interface Tables {
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
    account: string | null;
    sealed: string;
    expires_at: number | null;
    last_used_at: number | null;
    /** What was granted, as a JSON array; null where the scheme has no scopes. */
    scopes: string | null;
    /** Rises with each change of `sealed`: a renewal saves only over the values that it began with. */
    version: Generated<number>;
    /** Who is renewing the tokens, until when, and the fence that tells an owner that it was overtaken. */
    lease_token: string | null;
    lease_until: number | null;
    fence: Generated<number>;
    /** Renewals that failed in a row, and not before when the next is tried. */
    refresh_failures: Generated<number>;
    refresh_after: number | null;
    /** When idle tokens are renewed, so that they do not die of disuse. */
    refresh_by: number | null;
    created_at: number;
    updated_at: number;
  };
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
  results: {
    result_id: string;
    environment: Environment;
    user_id: string | null;
    server_id: string;
    content: string;
    expires_at: number;
    created_at: number;
  };
  schema_versions: { version: Generated<number>; name: string; applied_at: number };
}

export type Db = Kysely<Tables>;
/** A database or an open transaction: what storage functions take. */
export type DbOrTx = Db | Transaction<Tables>;
