import type { ExecutionSummary, OpenCircuit, Overview } from './api-types.ts';
import { some } from './parts/values.tsx';

/** Something that the operator should look at. */
export interface Note {
  text: string;
  /** The next step. */
  todo: string;
  color: 'red' | 'orange' | 'gate' | 'gray';
  /** The page that helps, and the text of its link. */
  to?: string;
  link?: string;
}

/** Share of failed calls from which the page reports them. */
const MANY_FAILURES = 0.2;
const LEAST_CALLS = 5;

/** Returns what is broken, the worst first. */
export function attentionOf(
  overview: Overview,
  summary: ExecutionSummary | undefined,
  stopped: readonly OpenCircuit[],
): Note[] {
  const { connectors, credentials, deliveries, runs, servers, subscriptions } = overview;
  const notes: Note[] = [];
  const { succeeded = 0, failed = 0 } = summary?.total ?? {};
  if (succeeded + failed >= LEAST_CALLS && failed / (succeeded + failed) >= MANY_FAILURES)
    notes.push({
      text: `${some(failed, 'call')} of ${succeeded + failed} failed`,
      todo: 'Look at the reasons. Often one account or one app causes most of them.',
      color: 'red',
      to: '/executions?outcome=failed',
      link: 'Failed calls',
    });
  const [first] = stopped;
  if (first)
    notes.push({
      text: `Calls of ${some(stopped.length, 'action')} are stopped`,
      todo: `${first.connectorId}.${first.actionId} failed ${first.failures} times in a row. Look at the status of the app.`,
      color: 'red',
      to: `/executions?outcome=failed&connectorId=${encodeURIComponent(first.connectorId)}`,
      link: 'Its failed calls',
    });
  if (credentials.needsReconnect > 0)
    notes.push({
      text: `${some(credentials.needsReconnect, 'account')} must be reconnected`,
      todo: 'The app refuses them. Send their users a link to reconnect; ids and settings stay.',
      color: 'red',
      to: '/accounts',
      link: 'Accounts to reconnect',
    });
  if (subscriptions.disabled > 0)
    notes.push({
      text: `${some(subscriptions.disabled, 'webhook subscription')} disabled`,
      todo: 'The receiver failed for too long, or an operator disabled them. They collect no deliveries.',
      color: 'red',
      to: '/webhooks?state=disabled',
      link: 'Disabled webhooks',
    });
  if (subscriptions.failing > 0)
    notes.push({
      text: `${some(subscriptions.failing, 'webhook receiver')} failing for 15 minutes or longer`,
      todo: 'Every attempt failed. Look at the answers of the receiver. Deliveries are retried, and given up after some days.',
      color: 'orange',
      to: '/webhooks?state=failing',
      link: 'Failing webhooks',
    });
  if (deliveries.dead > 0)
    notes.push({
      text: `${some(deliveries.dead, 'delivery').replace('deliverys', 'deliveries')} given up`,
      todo: 'Every attempt failed. The attempts show the answers of the receiver. Replay them when it works again.',
      color: 'orange',
      to: '/webhooks',
      link: 'Webhooks with deliveries given up',
    });
  if (runs.failed > 0)
    notes.push({
      text: `${some(runs.failed, 'workflow run')} failed in the last 24 hours`,
      todo: 'Read the step that failed, fix the cause, and retry the run.',
      color: 'orange',
      to: '/workflows/runs?status=failed',
      link: 'Failed runs',
    });
  if (connectors.changed > 0)
    notes.push({
      text: `${some(connectors.changed, 'connector')} with definitions to approve`,
      todo: 'They differ from what was approved. Servers with pinned tools show them only after the approval.',
      color: 'orange',
      to: '/definition-changes',
      link: 'Definition changes',
    });
  if (servers.disabled > 0)
    notes.push({
      text: `${some(servers.disabled, 'MCP server')} switched off`,
      todo: 'Their clients are refused until they are switched on.',
      color: 'gray',
      to: '/servers',
      link: 'Servers',
    });
  return notes;
}

/**
 * Returns what a new environment still lacks, in the order in which it is set up. `hasSandbox`: not in production.
 */
export function nextSteps(
  overview: Overview,
  summary: ExecutionSummary | undefined,
  hasSandbox: boolean,
): Note[] {
  const steps: Note[] = [];
  if (overview.servers.enabled + overview.servers.disabled === 0)
    steps.push({
      text: 'Create an MCP server',
      todo: 'It decides which tools an agent sees.',
      color: 'gate',
      to: '/servers/new',
      link: 'New server',
    });
  if (overview.users.enabled === 0)
    steps.push({
      text: 'Create an end user',
      todo: 'Accounts of apps belong to users.',
      color: 'gate',
      to: '/users',
      link: 'Users',
    });
  if (overview.credentials.active === 0)
    steps.push({
      text: 'Connect an account',
      todo: `The page of a user makes a link for the user.${hasSandbox ? ' The sandbox needs no real account.' : ''}`,
      color: 'gate',
      to: '/users',
      link: 'Users',
    });
  const calls = summary ? summary.total.succeeded + summary.total.failed + summary.total.denied : undefined;
  if (calls === 0)
    steps.push({
      text: 'Make the first call',
      todo: 'Add the access URL of a server to an MCP client and ask it for something.',
      color: 'gate',
    });
  return steps;
}
