import type { Environment } from './environments.ts';

/** Tables about what agents do: their limits, results and programs, and the problems that they report. */
export interface AgentTables {
  /** The calls that budgets counted. */
  call_windows: {
    /** Hash of what is counted: the server, the kind of budget, its window, and the user, connector or action. */
    window_hash: string;
    /** JSON array: for each entry its first time, the milliseconds to its last one, and its calls. */
    calls: string;
    /** When the newest call leaves the window. */
    expires_at: number;
  };
  /** Calls that fail in a row. */
  circuits: {
    circuit_id: string;
    environment: Environment;
    /** The credential of the calls; the server and the user for calls without one. */
    account: string;
    connector_id: string;
    action_id: string;
    user_id: string | null;
    /** Null for calls without a credential. */
    credential_id: string | null;
    /** Failures in a row. */
    failures: number;
    /** Time of the last failure. */
    failed_at: number;
    /** When a trial call is possible; null while calls are sent. */
    open_until: number | null;
    /** When a trial call that has not ended is given up; null without one. */
    trial_until: number | null;
  };
  /** Searches of actions that wait for executions. */
  searches: {
    search_id: string;
    environment: Environment;
    server_id: string;
    user_id: string | null;
    caller: string;
    at: number;
    /** See actions/query-text.ts. */
    query: string;
    /** JSON: the words of each step of the query. */
    words: string;
    /** JSON: the step of each found action, by its name. */
    hits: string;
    /** Executions up to this time have been counted. */
    read_until: number;
    /** 1: an execution followed. */
    followed: number;
  };
  /** How often executions followed a word. */
  search_words: {
    environment: Environment;
    word: string;
    connector_id: string;
    action_id: string;
    /** Keyed hash of the user. */
    contributor: string;
    /** Begin of the day, epoch ms. */
    day: number;
    count: number;
  };
  /** Queries that no execution followed. */
  fruitless_searches: {
    search_id: string;
    environment: Environment;
    query: string;
    count: number;
    last_at: number;
  };
  /** Problems that agents reported. */
  problem_reports: {
    report_id: string;
    environment: Environment;
    at: number;
    server_id: string;
    user_id: string | null;
    caller: string;
    tool: string | null;
    execution_id: string | null;
    message: string;
  };
  /** Results too large to inline, with the caller and action that they belong to. */
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
    /** Counts from 1. */
    page: number;
    sealed: string;
  };
  /** Programs that wait or have waited for the agreement of their user. */
  programs: {
    program_id: string;
    environment: Environment;
    server_id: string;
    user_id: string | null;
    caller: string;
    /** `running` from its continuation on, and `ended` after it. */
    status: 'waiting' | 'running' | 'ended';
    /** Code, answers of its calls and the question as JSON, sealed; null once it goes on. */
    sealed: string | null;
    expires_at: number;
    created_at: number;
  };
  /** Calls over MCP that run on after the answer to their request. */
  tasks: {
    task_id: string;
    environment: Environment;
    server_id: string;
    user_id: string | null;
    caller: string;
    status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
    /** JSON array: the actions that the call ran, as `connector.action`. */
    actions: string;
    /** 1: the call may have changed data of an app. */
    may_write: number;
    /**
     * While the call runs, its questions and their answers as JSON; later its result or its error. Sealed; null without
     * either.
     */
    sealed: string | null;
    /** Size of the result, in bytes; 0 while the call runs. */
    bytes: number;
    /** Counts the changes of the row. */
    version: number;
    /** Until when the process that runs the call is taken as alive; null once the call has ended. */
    lease_until: number | null;
    expires_at: number;
    created_at: number;
    updated_at: number;
  };
  /** How calls are undone. */
  undos: {
    /** The call that can be undone. */
    execution_id: string;
    environment: Environment;
    /** The MCP server of the call; null for REST. */
    server_id: string | null;
    user_id: string | null;
    /** Keyed hash of the undoToken. */
    token_hash: string;
    connector_id: string;
    /** The action that undoes the call. */
    action_id: string;
    /** The account of the call; null for an app without accounts. */
    credential_id: string | null;
    /** Input of that action, and the claim of the call in the guard of repeated writes, as sealed JSON. */
    sealed: string;
    expires_at: number;
  };
  /** Writes to the sandbox's accounts, in the order of `position`. */
  sandbox_writes: {
    account_id: string;
    position: number;
    /** Kind of record, `webhook` or `answer` (the response of an Idempotency-Key). */
    kind: string;
    record_id: string;
    /** The record's new state as JSON; null when it was deleted. */
    body: string | null;
    /** Epoch ms; rows count for 24 hours, except those of webhooks. */
    written_at: number;
  };
}
