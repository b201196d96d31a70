import type { Receiver } from './receiver.ts';
import { until } from './until.ts';
import type { Service } from './service.ts';

/** Ids of a seeded environment. */
export interface ConsoleSeed {
  userId: string;
  brokenUserId: string;
  serverId: string;
  subscriptionId: string;
  workflowId: string;
  failedRunId: string;
  failedExecutionId: string;
}

/** Fills an environment as a small company would have it: users, a server, calls, webhooks and workflows. */
export async function seedConsole(service: Service, receiver: Receiver): Promise<ConsoleSeed> {
  const userId = await connectedUser(service, 'ada@northwind.example');
  const brokenUserId = await connectedUser(service, 'bob@northwind.example');
  await service.context.db
    .updateTable('credentials')
    .set({ state: 'needs_reconnect', reason: 'The app refused the key: it was revoked.' })
    .where('user_id', '=', brokenUserId)
    .execute();
  const server = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: {
      name: 'Support desk',
      description: 'Reads orders and answers customers.',
      restrictions: { connectors: { mode: 'allowlist', allowedIds: ['sandbox'] } },
    },
  });
  for (const [actionId, input] of [
    ['list_products', {}],
    ['list_orders', { limit: 5 }],
    ['fail', { status: 503 }],
  ] as const)
    await run(service, { userId, actionId, input });
  const failedExecutionId = await failedExecution(service);
  const subscriptionId = await subscribe(service, userId, receiver);
  const { workflowId, failedRunId } = await failedWorkflow(service, userId);
  await service.call('POST', '/api/keys', { body: { name: 'reporting', scopes: ['executions:read'] } });
  return {
    userId,
    brokenUserId,
    serverId: server.text('serverId'),
    subscriptionId,
    workflowId,
    failedRunId,
    failedExecutionId,
  };
}

/** Creates a user with an account of the sandbox, and returns the user's id. */
export async function connectedUser(service: Service, username: string): Promise<string> {
  const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
  await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'sandbox', data: { apiKey: `sandbox_${username.split('@')[0]}` } },
  });
  return userId;
}

function run(
  service: Service,
  { userId, actionId, input }: { userId: string; actionId: string; input: object },
) {
  return service.call('POST', `/connectors/sandbox/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input },
  });
}

/** Executions are stored next to the calls, so the last one may come a moment later. */
async function failedExecution(service: Service): Promise<string> {
  let id: unknown;
  await until(async () => {
    id = (await service.call('GET', '/api/executions?outcome=failed')).at('data.0.executionId');
    return typeof id === 'string';
  });
  return String(id);
}

/** Subscribes a receiver that refuses its first delivery, which then waits for its next attempt. */
async function subscribe(service: Service, userId: string, receiver: Receiver): Promise<string> {
  receiver.answer = (_, res) => res.writeHead(500).end('the database of the receiver is down');
  const headers = { 'x-svc-userid': userId };
  const accounts = await service.call('GET', `/users/${userId}/credentials`, { headers });
  const made = await service.call(
    'POST',
    `/2023-03/one/webhooks?connectionId=${accounts.text('data.0.credentialId')}`,
    { headers, body: { scope: 'commerce/orders', address: receiver.url, events: ['created'] } },
  );
  const subscriptionId = made.text('subscriptionId');
  await service.call('POST', `/webhooks/${subscriptionId}/test`, { headers });
  await receiver.arrived(1);
  return subscriptionId;
}

async function failedWorkflow(service: Service, userId: string) {
  const definition = {
    trigger: { type: 'manual' },
    steps: [
      { stepId: 'products', connectorId: 'sandbox', actionId: 'list_products', input: { limit: 2 } },
      { stepId: 'broken', connectorId: 'sandbox', actionId: 'fail', input: { status: 422 } },
    ],
  };
  const made = await service.call('POST', '/workflows', { body: { name: 'Nightly report', definition } });
  const workflowId = made.text('workflowId');
  await service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body: { config: {} } });
  const begun = await service.call('POST', `/workflows/${workflowId}/run?userId=${userId}`, { body: {} });
  const failedRunId = begun.text('runId');
  await until(async () => {
    const found = await service.call('GET', `/workflows/${workflowId}/runs/${failedRunId}`);
    return found.at('status') === 'failed';
  });
  return { workflowId, failedRunId };
}
