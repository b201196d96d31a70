import type { AgentTables } from './schema-agents.ts';
import type { ConnectorTables } from './schema-connectors.ts';
import type { EventTables } from './schema-events.ts';
import type { FileTables } from './schema-files.ts';
import type { WorkflowTables } from './schema-workflows.ts';
import type { Generated, Kysely, Transaction } from 'kysely';
import type { Environment } from './environments.ts';

/*
 * One set of column types for both databases: times are epoch milliseconds, flags 0 or 1, JSON and sealed boxes text.
 */
export interface Tables extends AgentTables, ConnectorTables, EventTables, FileTables, WorkflowTables {
  secrets: { name: string; sealed: string; created_at: number };
  wrapped_keys: {
    /** From 1; the first key seals. */
    position: number;
    /** The public name of the master key. */
    key_id: string;
    /** The master key as the key provider wrapped it. */
    wrapped: string;
    created_at: number;
  };
  api_keys: {
    key_id: string;
    environment: Environment;
    hash: string;
    last_four: string;
    /** Null for the keys of the environments, which have all scopes. */
    scopes: string | null;
    created_at: number;
    revoked_at: number | null;
    /** Null for the keys of the environments. */
    name: string | null;
    /** The name in lower case while the key is not revoked; unique in the environment. */
    name_key: string | null;
    expires_at: number | null;
    last_used_at: number | null;
    /** The hash before the last rotation; valid until `previous_expires_at`. */
    previous_hash: string | null;
    previous_expires_at: number | null;
  };
  /** Signed-in browsers of the console. */
  console_sessions: {
    /** Hash of the cookie's value. */
    session_hash: string;
    /** The environment of the key; null for a person, who chooses it with each request. */
    environment: Environment | null;
    /** The `hash` of the API key that signed in. The session ends with that secret. Null for a person. */
    key_hash: string | null;
    /** The person who signed in by OpenID Connect; null for a key. */
    person_id: string | null;
    /** The sealed ID token of a person's sign-in, with which the session at the provider ends. */
    id_token: string | null;
    created_at: number;
    /** Time of the last request by a person, up to a minute early; the session ends some time after it. */
    used_at: number;
    /** The latest end of the session, whatever its use. */
    expires_at: number;
  };
  /** People who signed in to the console by OpenID Connect. */
  console_people: {
    person_id: string;
    issuer: string;
    /** The claim `sub`: what the provider calls the person, unique and for ever. */
    subject: string;
    name: string | null;
    email: string | null;
    /** The role that the claims of the last sign-in gave. */
    role: string;
    created_at: number;
    signed_in_at: number;
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
    /** Whether programs are offered; `auto`: for many actions. */
    code_mode: Generated<'auto' | 'on' | 'off'>;
    owner_user_id: string | null;
    /** 1 when a JWT made it; it then stays bound to its owner. */
    bound: number;
    token_hash: string;
    token_sealed: string;
    token_expires_at: number | null;
    enabled: number;
    /** 1: shows only approved definitions. */
    pin_tools: Generated<number>;
    /** The limits of its calls, as a JSON array. */
    budgets: Generated<string>;
    /** Whether a repeated write over MCP is held. */
    duplicate_guard: Generated<'on' | 'off'>;
    /** When calls that fail in a row stop, as JSON; the JSON null turns it off. */
    circuit: Generated<string>;
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
    /** The app's message about the reason. */
    app_message: string | null;
    account: string | null;
    sealed: string;
    /**
     * The origins of a custom connector that the values may be sent to, as a JSON array; empty for a shipped one. The
     * seal is bound to them.
     */
    origins: Generated<string>;
    expires_at: number | null;
    last_used_at: number | null;
    /** The granted scopes, as a JSON array; null where the scheme has no scopes. */
    scopes: string | null;
    /** Rises with each change of `sealed`. A renewal saves only over the version that it began with. */
    version: Generated<number>;
    /** Time from which the access token is renewed, well before `expires_at`; epoch ms. */
    renew_at: number | null;
    /**
     * Lease of the process that renews the tokens, and the fence that shows an owner that it lost the lease. Without a
     * holder, `lease_until` is when the last attempt ended.
     */
    lease_token: string | null;
    lease_until: number | null;
    fence: Generated<number>;
    /** Number of renewals that failed in a row, and the earliest time of the next try. */
    refresh_failures: Generated<number>;
    refresh_after: number | null;
    /** Time when idle tokens are renewed, so that they do not expire from disuse. */
    refresh_by: number | null;
    /** Unique for a user and connector; null when another record holds the account. See credentials/account-key.ts. */
    account_key: string | null;
    /** 1 in at most one row of a user and connector. */
    is_default: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  /** Address of the running process, and when it last reported, epoch ms; see connect/presence.ts. */
  presence: { name: string; public_url: string; seen_at: number };
  /** Tokens that a renewal received and could not save; they are never deleted unused. */
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
    /** As those of a credential, for the secret. */
    origins: Generated<string>;
    scopes: string | null;
    /** Where the app is registered, as JSON by field. */
    fields: Generated<string>;
    created_at: number;
    updated_at: number;
  };
  /**
   * A person's progress through connecting an account. Its link is found by hash; status and outcome are for the
   * caller who made it.
   */
  connect_sessions: {
    session_id: string;
    token_hash: string;
    environment: Environment;
    user_id: string;
    /** The connectors to choose from, as a JSON array; null: all. */
    connectors: string | null;
    /** The only authentication type that is offered; null: all of the app. */
    type: string | null;
    /** The credential whose account is reconnected; it keeps its id. */
    credential_id: string | null;
    /** Scopes that a sign-in requests in addition to those of the connector or its OAuth app, as a JSON array. */
    scopes: string | null;
    /** Sealed values of fields that the operator already gave; the page does not ask for them. */
    prefill: string | null;
    redirect_uri: string | null;
    client_state: string | null;
    /** `modal`: the page that opened the session polls its status. */
    via: 'link' | 'modal';
    /** Hash of the first browser that opened it; other browsers are refused. */
    browser_hash: string | null;
    status: 'open' | 'authorizing' | 'choosing' | 'succeeded' | 'failed';
    /** `{credentialId}`, or `{error, message}`. */
    outcome: string | null;
    expires_at: number;
    created_at: number;
    updated_at: number;
  };
  /** Used single-use tokens, stored until they would have expired. */
  spent_tokens: { token_id: string; expires_at: number };
  /** An operator's approval of a connector: name → hash, and name → definition, both as JSON. */
  approved_definitions: {
    environment: Environment;
    connector_id: string;
    /** Fingerprint of the whole connector, when none of its definitions waits for approval. */
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
    /**
     * `server`, `user`: the object with this id. `accounts`: the accounts of this user, and the workflows that they
     * have installed. `environment`: all of it; the subject says what changed.
     */
    kind: 'server' | 'user' | 'accounts' | 'environment';
    subject: string;
    at: number;
  };
  /** States sent to an app's consent page; each may come back once. */
  oauth_states: {
    state_hash: string;
    session_id: string;
    connector_id: string;
    type: string;
    /** PKCE verifier, and the fields that were asked for before the consent. */
    sealed: string;
    /** When it came back, epoch ms; null before. */
    used_at: number | null;
    expires_at: number;
    created_at: number;
  };
  /** Tokens of a consent that reaches several accounts, until the person has chosen one. */
  unchosen_grants: {
    session_id: string;
    connector_id: string;
    /** Tokens, entered fields, the accounts to choose from, and the origins of the connector. */
    sealed: string;
    expires_at: number;
    created_at: number;
  };
  /** See write-probe.ts: each row is removed right after it was written. */
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
    /** Requests to the app as JSON, where there were several; see Attempt. */
    attempts: string | null;
    /** The program that made the call; null for other calls. */
    program_id: string | null;
    /** The execution that this one undoes; null for other calls. */
    undo_of: string | null;
  };
  /** Executions that were written together, as a link in the chain of their process; see execution-chain.ts. */
  execution_batches: {
    chain_id: string;
    /** Position in the chain, from 1. */
    sequence: number;
    /** Their ids, as a JSON list. */
    executions: string;
    /** Times of the oldest and the newest of them. */
    first_at: number;
    at: number;
    /** `at` of the batch before it; null in the first one. */
    previous_at: number | null;
    /** Hash of all columns of the executions. */
    content_hash: string;
    /** Hash of the batch before it; empty in the first one. */
    previous_hash: string;
    hash: string;
  };
  execution_payloads: {
    execution_id: string;
    /** The user of the call; null for a call without a user. */
    user_id: string | null;
    /** Input and output as JSON, sealed. */
    sealed: string;
    expires_at: number;
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
    /** The chain of the process that wrote it. It and the next three are null only in a row that Gatehouse did not write. */
    chain_id: string | null;
    /** Position in the chain, from 1. */
    sequence: number | null;
    /** Hash of the entry before it; empty in the first one. */
    previous_hash: string | null;
    hash: string | null;
  };
  audit_checkpoints: {
    /** From 1, without gaps. */
    sequence: number;
    at: number;
    /** JSON: the last entry of each chain that grew since the checkpoint before. */
    heads: string;
    previous_signature: string;
    signature: string;
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
  schema_versions: { version: Generated<number>; name: string; applied_at: number };
}

export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;
/** A database or an open transaction, the argument of storage functions. */
export type DbOrTx = Db | Tx;
