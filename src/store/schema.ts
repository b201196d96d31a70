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
