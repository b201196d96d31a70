import type { Generated } from 'kysely';
import type { Environment } from './environments.ts';

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
  /** A published version never changes. The draft has the highest number, and the next draft replaces it. */
  workflow_versions: {
    workflow_id: string;
    version: number;
    definition: string;
    draft: number;
    created_at: number;
    updated_at: number;
  };
  /** An end user's installation of a workflow. The columns of its trigger repeat the definition of its version. */
  workflow_installations: {
    installation_id: string;
    environment: Environment;
    workflow_id: string;
    user_id: string;
    version: number;
    /** The version that rollback returns to. */
    previous_version: number | null;
    enabled: number;
    config_sealed: string;
    /** A JSON object, connectorId → credentialId. */
    credentials: string;
    trigger_type: 'event' | 'schedule' | 'manual' | 'call';
    /** Number of runs at the same time. */
    concurrency: number;
    /** Event trigger: the source, deleted with its credential, and a JSON array of created, updated, deleted. */
    source_id: string | null;
    events: string | null;
    /** Schedule trigger: the schedule that `fire_at` was computed from. */
    schedule: string | null;
    fire_at: number | null;
    /** Call trigger: the hash of the token in its address. */
    hook_hash: string | null;
    created_at: number;
    updated_at: number;
  };
  workflow_runs: {
    run_id: string;
    environment: Environment;
    workflow_id: string;
    /** Null when the workflow was uninstalled since, or for a test run by a user without an installation. */
    installation_id: string | null;
    user_id: string;
    version: number;
    /** The only step of a run that tests a step; null for a run of all steps. */
    step_id: string | null;
    /** The definition of a draft run, because the draft may be replaced during the run; null otherwise. */
    definition: string | null;
    status: 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';
    trigger_type: 'event' | 'schedule' | 'manual' | 'call';
    /** The value `trigger` of expressions, as JSON. */
    trigger: string;
    config_sealed: string;
    /** Test run: connectorId → credentialId. Null: the credentials of the installation, as they are at each step. */
    credentials: string | null;
    /** The MCP server that started the run; its restrictions apply to each step. */
    server_id: string | null;
    caller: string;
    request_id: string;
    /** Index of the step that is next or in progress. */
    position: Generated<number>;
    /** When a process must claim the run: the time that it waits for, or the end of its lease. */
    next_at: number;
    /** Rises with each holder of the lease; writes of a holder with an older fence are refused. */
    fence: Generated<number>;
    /** Name of the occasion within the installation: one run each. Null: every occasion makes a run. */
    dedupe: string | null;
    /** Hash of the request that an Idempotency-Key named; null without a key. */
    request_hash: string | null;
    /** Runs before this one that caused each other by their writes. */
    chain: Generated<number>;
    /** 1 when the operator was notified of a failure of this run. */
    failure_reported: Generated<number>;
    error: string | null;
    started_at: number | null;
    ended_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /** Records that steps wrote. Their events continue the chain of runs. */
  workflow_writes: {
    /** Hash of the user, the app and the record's id. */
    record_hash: string;
    /** The place in the chain of a run that the record's event starts. */
    chain: number;
    /** When the call of the step began, epoch ms. */
    began_at: number;
    expires_at: number;
  };
  /** The result of a step of a run (`item` -1) and of each item of a for-each. */
  workflow_steps: {
    run_id: string;
    position: number;
    item: number;
    step_id: string;
    /** `given`: the result of an earlier step, in the test of a step. */
    status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'skipped' | 'cancelled' | 'given';
    attempts: Generated<number>;
    /** Part of the idempotency key; rises when a refused attempt is repeated. */
    generation: Generated<number>;
    /** For the log, without secrets. */
    input: string | null;
    /** The complete input, while it may be sent again; the items of a for-each. */
    sealed: string | null;
    /** For the log, without secrets. */
    output: string | null;
    /** The complete output, where it differs from the log's; later steps get this one. */
    output_sealed: string | null;
    error: string | null;
    started_at: number;
    ended_at: number | null;
  };
}
