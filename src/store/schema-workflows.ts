import type { Generated } from 'kysely';
import type { Environment } from './schema.ts';

/** Workflows, their installations and runs. */
export interface WorkflowTables {
  workflows: {
    workflow_id: string;
    environment: Environment;
    name: string;
    name_key: string;
    created_at: number;
    updated_at: number;
  };
  /** Published ones never change; the draft, which has the highest number, is replaced by the next. */
  workflow_versions: {
    workflow_id: string;
    version: number;
    definition: string;
    draft: number;
    created_at: number;
    updated_at: number;
  };
  /** A workflow as an end user has it. What its trigger needs stands beside it, as its version says. */
  workflow_installations: {
    installation_id: string;
    environment: Environment;
    workflow_id: string;
    user_id: string;
    version: number;
    /** Where rollback goes. */
    previous_version: number | null;
    enabled: number;
    config_sealed: string;
    /** A JSON object, connectorId → credentialId. */
    credentials: string;
    trigger_type: 'event' | 'schedule' | 'manual' | 'call';
    /** Runs at a time. */
    concurrency: number;
    /** Event: the source, gone with its credential, and a JSON array of created, updated, deleted. */
    source_id: string | null;
    events: string | null;
    /** Schedule: what `fire_at` was reckoned by. */
    schedule: string | null;
    fire_at: number | null;
    /** Call: the hash of the token in its address. */
    hook_hash: string | null;
    created_at: number;
    updated_at: number;
  };
  workflow_runs: {
    run_id: string;
    environment: Environment;
    workflow_id: string;
    /** null: uninstalled since, or a try of a draft by who has not installed it. */
    installation_id: string | null;
    user_id: string;
    version: number;
    /** Of a draft, which may be replaced while it runs. */
    definition: string | null;
    status: 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';
    trigger_type: 'event' | 'schedule' | 'manual' | 'call';
    /** The value `trigger` of expressions, as JSON. */
    trigger: string;
    config_sealed: string;
    /** Of a try: connectorId → credentialId. null: those of the installation, as they are at each step. */
    credentials: string | null;
    /** The MCP server that it was started through: its restrictions hold for each step. */
    server_id: string | null;
    caller: string;
    request_id: string;
    /** The step that is next, or under way. */
    position: Generated<number>;
    /** When somebody has to look: the time that it waits for, or the end of the lease of who runs it. */
    next_at: number;
    /** Rises with each holder of the lease: who has an older one changes nothing any more. */
    fence: Generated<number>;
    /** Name of the occasion within the installation: one run each. Null: every occasion makes a run. */
    dedupe: string | null;
    /** Hash of the request that an Idempotency-Key named; null without a key. */
    request_hash: string | null;
    /** 1 when the operator was notified of a failure of this run. */
    failure_reported: Generated<number>;
    error: string | null;
    started_at: number | null;
    ended_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /** What became of a step of a run (`item` -1) and of each item of a for-each. */
  workflow_steps: {
    run_id: string;
    position: number;
    item: number;
    step_id: string;
    status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'skipped' | 'cancelled';
    attempts: Generated<number>;
    /** Part of the idempotency key: rises when a refused attempt is made anew. */
    generation: Generated<number>;
    /** For the log, without secrets. */
    input: string | null;
    /** The very input, while it may have to be sent again; the items of a for-each. */
    sealed: string | null;
    /** For the log, without secrets. */
    output: string | null;
    /** The very output, where the log's is another: later steps are given this one. */
    output_sealed: string | null;
    error: string | null;
    started_at: number;
    ended_at: number | null;
  };
}
