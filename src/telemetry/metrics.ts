import { createCounter, createGauge, createHistogram, gaugeOf, type Family } from './series.ts';

/** Upper bounds of durations, seconds. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Actions that are counted one by one. The catalogue has fewer; custom connectors may add many. */
const MAX_ACTIONS = 5000;

/** Label value in place of a name that the catalogue does not have, because callers choose such names. */
export const UNKNOWN = 'unknown';

/** The counts of a process. Labels hold no ids of users, servers or credentials. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates the counts of a process. Nothing is loaded or computed until a reader asks for the families. */
export function createMetrics() {
  const counts = { ...requestMetrics(), ...callMetrics(), ...workMetrics() };
  return {
    ...counts,
    /** Returns every family of this process. */
    families: (): Family[] => Object.values(counts),
  };
}

/** Returns the metric that names the release. */
export function buildInfo(version: string): Family {
  const name = 'gatehouse_build_info';
  const help = 'Release of Gatehouse and of Node.js. The value is always 1.';
  return gaugeOf({ name, help, labels: ['version', 'node'] }, [[1, version, process.versions.node]]);
}

/** Metrics of requests to Gatehouse. */
function requestMetrics() {
  return {
    httpRequests: createCounter({
      name: 'gatehouse_http_requests_total',
      help: 'HTTP requests, by route template, method and status.',
      labels: ['route', 'method', 'status'],
    }),
    httpDuration: createHistogram(
      {
        name: 'gatehouse_http_request_duration_seconds',
        help: 'Time until an HTTP request was answered, or its event stream was opened.',
        labels: ['route', 'method'],
      },
      DURATIONS,
    ),
    mcpRequests: createCounter({
      name: 'gatehouse_mcp_requests_total',
      help: 'MCP requests, by method and outcome: succeeded, tool_failed, input_required, failed or cancelled.',
      labels: ['method', 'outcome'],
    }),
    mcpDuration: createHistogram(
      {
        name: 'gatehouse_mcp_request_duration_seconds',
        help: 'Time until an MCP request was answered.',
        labels: ['method'],
      },
      DURATIONS,
    ),
    mcpSessions: createGauge({
      name: 'gatehouse_mcp_sessions_open',
      help: 'Sessions of MCP clients that this process holds.',
    }),
    mcpStreams: createGauge({
      name: 'gatehouse_mcp_streams_open',
      help: 'Event streams that MCP clients keep open to receive notifications.',
    }),
    rateLimited: createCounter({
      name: 'gatehouse_rate_limited_requests_total',
      help: 'Requests answered 429 by a limit of Gatehouse: mcp, user or address.',
      labels: ['limit'],
    }),
  };
}

/** Metrics of calls to apps. */
function callMetrics() {
  return {
    actions: createCounter({
      name: 'gatehouse_actions_total',
      help: 'Calls of actions over REST, MCP and workflows, by outcome: succeeded, failed or denied.',
      labels: ['connector', 'action', 'outcome'],
      maxSeries: MAX_ACTIONS,
    }),
    actionDuration: createHistogram(
      {
        name: 'gatehouse_action_duration_seconds',
        help: 'Time of a call of an action, with waits and repetitions.',
        labels: ['connector', 'outcome'],
      },
      DURATIONS,
    ),
    actionErrors: createCounter({
      name: 'gatehouse_action_errors_total',
      help: 'Calls of actions that failed or were denied, by error code.',
      labels: ['connector', 'code'],
    }),
    upstreamAttempts: createCounter({
      name: 'gatehouse_upstream_attempts_total',
      help: 'Requests to apps, by HTTP status, or by error code where the app gave no answer.',
      labels: ['connector', 'status'],
    }),
    upstreamDuration: createHistogram(
      {
        name: 'gatehouse_upstream_attempt_duration_seconds',
        help: 'Time of one request to an app.',
        labels: ['connector'],
      },
      DURATIONS,
    ),
    upstreamRetries: createCounter({
      name: 'gatehouse_upstream_retries_total',
      help: 'Repetitions of requests to apps after a temporary failure.',
      labels: ['connector'],
    }),
    upstreamRateLimited: createCounter({
      name: 'gatehouse_upstream_rate_limited_total',
      help: 'Answers of apps that refuse a request because of their rate limit.',
      labels: ['connector'],
    }),
    circuitsOpened: createCounter({
      name: 'gatehouse_circuits_opened_total',
      help: 'Times that calls to an action of an account were stopped because they failed in a row, failed trials included.',
      labels: ['connector'],
    }),
    tokenRefreshes: createCounter({
      name: 'gatehouse_token_refreshes_total',
      help: 'Renewals of access tokens, by outcome: succeeded, failed (will be tried again) or ended (the account must be connected again).',
      labels: ['connector', 'outcome'],
    }),
  };
}

/** Metrics of background work. */
function workMetrics() {
  return {
    deliveries: createCounter({
      name: 'gatehouse_delivery_attempts_total',
      help: 'Attempts to deliver events, by outcome: succeeded, retried or dead.',
      labels: ['outcome'],
    }),
    deliveryDuration: createHistogram(
      {
        name: 'gatehouse_delivery_attempt_duration_seconds',
        help: 'Time of an attempt to deliver an event.',
        labels: ['outcome'],
      },
      DURATIONS,
    ),
    polls: createCounter({
      name: 'gatehouse_polls_total',
      help: 'Polls of event sources, by outcome: succeeded, failed or interrupted.',
      labels: ['connector', 'outcome'],
    }),
    workflowRuns: createCounter({
      name: 'gatehouse_workflow_runs_ended_total',
      help: 'Workflow runs that ended, by status.',
      labels: ['status'],
    }),
    jobs: createCounter({
      name: 'gatehouse_job_runs_total',
      help: 'Runs of background jobs, by kind and outcome: succeeded, failed or interrupted.',
      labels: ['kind', 'outcome'],
    }),
    leasesLost: createCounter({
      name: 'gatehouse_leases_lost_total',
      help: 'Results that were dropped because the lease of the work had expired.',
      labels: ['work'],
    }),
  };
}
