import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';
import { startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';

/*
 * npm run release-store <version>: fills a new store with this checkout, over REST and MCP, and writes its backup and its
 * facts to test/fixtures/release-<version>. Run it for a release before the first migration that follows it.
 */

const version = z.string().parse(process.argv[2]);
const folder = join(import.meta.dirname, `../fixtures/release-${version}`);
const KEYS = { development: newApiKey('development'), production: newApiKey('production') };
let url = '';
await fill();

async function fill(): Promise<void> {
  using home = tempHome();
  const env = cliEnv(home.path, {
    GATEHOUSE_DEVELOPMENT_KEY: KEYS.development,
    GATEHOUSE_PRODUCTION_KEY: KEYS.production,
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
  });
  await using service = await startCli(env);
  url = service.url;
  const user = await newUser('alice');
  await newUser('bob');
  const server = await newServer(user.userId);
  const subscription = await subscribe(user);
  const workflowId = await runWorkflow(user.userId);
  await call('PUT', '/api/settings', { origins: ['https://app.example.com'] });
  await call('PUT', '/api/connectors/github/oauth-app', {
    clientId: 'fixture-client',
    clientSecret: 'secret',
  });
  await call('PUT', '/api/field-mappings', {
    scope: 'commerce/orders',
    connectorId: 'sandbox',
    fields: { cents: 'totalCents' },
  });
  await service.stop();

  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'store.backup');
  rmSync(file, { force: true });
  const { code, err } = await runCli(['backup', file], env);
  if (code !== 0) throw new Error(err);
  const facts = { developmentKey: KEYS.development, ...user, ...server, ...subscription, workflowId };
  writeFileSync(join(folder, 'facts.json'), `${JSON.stringify(facts, undefined, 2)}\n`);
}

type User = Awaited<ReturnType<typeof newUser>>;

/** Creates a user with an account of the sandbox. */
async function newUser(username: string) {
  const userId = textOf('userId', await call('POST', '/users', { username }));
  const account = { connectorId: 'sandbox', data: { apiKey: `sandbox_${username}` } };
  const connectionId = textOf(
    'credentialId',
    await call('POST', `/users/${userId}/credentials`, account, userId),
  );
  return { userId, connectionId };
}

/** Creates a server that allows reads alone, and makes a call that succeeds and one that it refuses. */
async function newServer(userId: string) {
  const restrictions = {
    actions: { mode: 'allowlist', allowedActions: ['sandbox.list_*', 'sandbox.get_*'] },
  };
  const body = { name: 'Read only', toolMode: 'direct', restrictions };
  const made = await call('POST', '/api/servers', body, userId);
  const serverPath = new URL(textOf('accessUrl', made)).pathname;
  for (const [name, input] of [
    ['sandbox_list_orders', { limit: 2 }],
    ['sandbox_send_message', { to: 'a@example.com', subject: 'Hello', text: 'Hello' }],
  ])
    await call('POST', serverPath, {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: input },
    });
  return { serverId: textOf('serverId', made), serverPath };
}

/** Subscribes a receiver, and delivers a test event to it. */
async function subscribe({ userId, connectionId }: User) {
  await using receiver = await startReceiver();
  const path = `/2023-03/one/webhooks?connectionId=${connectionId}`;
  const made = await call('POST', path, { scope: 'commerce/orders', address: receiver.url }, userId);
  const subscriptionId = textOf('subscriptionId', made);
  await call('POST', `/webhooks/${subscriptionId}/test`, {});
  await receiver.arrived(1);
  return { subscriptionId, webhookSecret: textOf('secret', made) };
}

/** Creates a workflow, installs it, and waits for the end of a run. */
async function runWorkflow(userId: string): Promise<string> {
  const definition = {
    trigger: { type: 'manual' },
    steps: [
      { stepId: 'products', connectorId: 'sandbox', actionId: 'list_products', input: { limit: 2 } },
      { stepId: 'count', map: '{"count": $count(steps.products.data)}' },
    ],
  };
  const path = `/workflows/${textOf('workflowId', await call('POST', '/workflows', { name: 'Stock', definition }))}`;
  await call('POST', `${path}/install?userId=${userId}`, { config: {} });
  const runId = textOf('runId', await call('POST', `${path}/run?userId=${userId}`, {}));
  await until(async () => textOf('status', await call('GET', `${path}/runs/${runId}`)) === 'succeeded');
  return path.slice('/workflows/'.length);
}

async function call(method: string, path: string, body?: unknown, userId?: string): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: {
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${KEYS.development}`,
      'content-type': 'application/json',
      'x-api-version': '2025-09',
      ...(userId === undefined ? {} : { 'x-svc-userid': userId }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text.startsWith('{') ? JSON.parse(text) : text;
}

function textOf(name: string, answer: unknown): string {
  return z.string().parse(z.looseObject({}).parse(answer)[name]);
}
