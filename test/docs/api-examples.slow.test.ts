import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IS_FULL, sampled } from '../support/full.ts';
import { startService, type Service } from '../support/service.ts';
import { notesFile } from '../support/custom.ts';
import { blocksOf, pagesWithExamples, type Block } from './examples/blocks.ts';

/*
 * The requests of the API's reference. curl sends each of them to a service that has the records which they name. The types of
 * the TypeScript form are checked by typescript.test.ts.
 */

/** Refusals that requests of the reference get here, by code. They need more than a store with one record of each kind. */
const EXPECTED: Record<string, string> = {
  // No issuer of OAuth tokens is configured.
  'GET /.well-known/oauth-protected-resource/mcp/$SERVER_ID': '404 not_found',
  // The sandbox's customers can only be created in the unified form.
  'PATCH /2023-03/one/$CATEGORY/$MODEL/$ID': '400 invalid_request',
  // No definition has changed.
  'POST /api/tools/approve': '409 definition_changed',
  // The connector was made of a file, not of a document.
  'POST /api/connectors/$CONNECTOR_ID/reimport': '400 invalid_request',
  // The session has ended, or no consent has offered accounts.
  'POST /connect/sessions/$SESSION_ID/authorize': '404 connect_session_not_found',
  'POST /connect/sessions/$SESSION_ID/choice': '410 connect_session_expired',
  'POST /users/$USER_ID/connect-sessions/$SESSION_ID/choice': '400 invalid_request',
  // The call of the examples only read.
  'POST /executions/$EXECUTION_ID/undo': '404 undo_not_found',
  // No app has such an address.
  'POST /hooks/$CONNECTOR_ID/$TOKEN': '404 not_found',
  'POST /hooks/workflows/$TOKEN': '404 not_found',
  // The sandbox's webhooks are registered, not set up by hand.
  'POST /users/$USER_ID/credentials/$CREDENTIAL_ID/webhook': '400 invalid_request',
  'GET /users/$USER_ID/credentials/$CREDENTIAL_ID/webhook': '400 invalid_request',
  'DELETE /users/$USER_ID/credentials/$CREDENTIAL_ID/webhook': '400 invalid_request',
  // These records exist already.
  'POST /api/connectors': '409 connector_exists',
  'PUT /webhooks/$SUBSCRIPTION_ID': '409 subscription_exists',
  'POST /2023-12/users': '409 user_exists',
  'POST /workflow-starters/$STARTER_ID': '409 workflow_exists',
  // The user disconnected the account before.
  'DELETE /users/$USER_ID/credentials/$CREDENTIAL_ID': '404 credential_not_found',
  // The version that another example added has no configuration.
  'POST /workflows/$WORKFLOW_ID/install': '400 invalid_request',
  // The workflow has no trigger of a call, is published, and its run has succeeded.
  'POST /workflows/$WORKFLOW_ID/install/rotate-token': '400 invalid_request',
  'POST /workflows/$WORKFLOW_ID/versions/$VERSION/publish': '400 invalid_request',
  'POST /workflows/$WORKFLOW_ID/runs/$RUN_ID/cancel': '409 run_ended',
  'POST /workflows/$WORKFLOW_ID/runs/$RUN_ID/retry': '409 run_not_failed',
};

const requests = pagesWithExamples()
  .filter((page) => page.startsWith('docs/api/'))
  .flatMap(blocksOf)
  .filter(({ caption }) => caption === 'curl')
  // Its answer depends on the load of the machine.
  .filter(({ code }) => !code.includes('/ready"'));

let service: Service;
let folder: string;
let variables: Record<string, string>;

beforeAll(async () => {
  service = await startService();
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-examples-'));
  writeFileSync(join(folder, 'notes.txt'), 'A note.');
  variables = await createRecords(service);
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('each request of the reference is answered as documented', async () => {
  expect(requests.length).toBeGreaterThan(140);
  // Requests that only read need no other request before them, so some of them make a sample.
  const chosen = IS_FULL
    ? requests
    : sampled(
        requests.filter((one) => requestOf(one).startsWith('GET ')),
        3,
      );
  const answers = await send([...chosen].toSorted((one, other) => rank(one) - rank(other)));
  const refused = answers
    .filter(({ status }) => status >= 400)
    .map(({ block, status, body }) => [requestOf(block), `${status} ${codeOf(body)}`] as const);
  expect(Object.fromEntries(refused)).toEqual(
    Object.fromEntries(
      Object.entries(EXPECTED).filter(([one]) => chosen.some((block) => requestOf(block) === one)),
    ),
  );
});

/** Deletions come last: those of parts first, then accounts, then the user. The key of all requests ends at the very end. */
function rank({ code }: Block): number {
  if (code.includes('/keys/rotate')) return 5;
  if (/servers\/\$SERVER_ID\/token/.test(code)) return 1;
  if (code.includes('/tokens/revoke')) return 3.5;
  if (!code.includes('-X DELETE')) return 0;
  if (code.includes('/users/$USER_ID" ')) return 4;
  if (/\$CREDENTIAL_ID" /.test(code)) return 3;
  return 3 - (/"\$GATEHOUSE_URL([^"]*)"/.exec(code)?.[1] ?? '').length / 100;
}

interface Answered {
  block: Block;
  status: number;
  body: string;
}

/** Sends requests one after the other, in one shell. */
async function send(blocks: readonly Block[]): Promise<Answered[]> {
  const script = [
    'curl() { command curl -sS --max-time 20 -w "\\n@@%{http_code}@@\\n" "$@"; }',
    ...blocks.map(
      ({ page, code }) =>
        `CONNECTOR_ID=${page.includes('custom-') ? 'notes' : 'sandbox'}\n${onThisMachine(code)}`,
    ),
  ].join('\n');
  const run = promisify(execFile);
  const env = { PATH: process.env['PATH'], ...variables };
  const { stdout } = await run('bash', ['-c', script], { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 });
  const parts = stdout.split(/\n@@(\d+)@@\n/);
  return blocks.map((block, index) => ({
    block,
    body: parts[2 * index] ?? '',
    status: Number(parts[2 * index + 1] ?? 0),
  }));
}

/** Returns a request whose receiver is on this machine. Its deliveries fail later, which no example waits for. */
function onThisMachine(code: string): string {
  return code.replaceAll('https://app.example.com/hooks', 'http://127.0.0.1:9/hooks');
}

/** Returns `GET /users/$USER_ID`. */
function requestOf({ code }: Block): string {
  const [, method, path] = /curl -s (?:-X (\w+) )?"\$GATEHOUSE_URL([^"?]*)/.exec(code) ?? [];
  return `${method ?? (/ -d '|--data-binary/.test(code) ? 'POST' : 'GET')} ${path}`;
}

function codeOf(body: string): string {
  return /"code":"?([\w-]+)/.exec(body)?.[1] ?? '';
}

/** Creates a record of each kind, and returns the variables of the examples. */
async function createRecords({ call, url, developmentKey }: Service): Promise<Record<string, string>> {
  const userId = (await call('POST', '/users', { body: { username: 'reader' } })).text('userId');
  const headers = { 'x-svc-userid': userId };
  const credential = await call('POST', `/users/${userId}/credentials`, {
    headers,
    body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_reader' } },
  });
  const connectionId = credential.text('connectionId');
  const stored = await call('POST', '/api/connectors', {
    body: { definition: notesFile('https://api.example.com') },
  });
  expect(stored.status).toBe(201);
  await call('PUT', '/api/connectors/notes', {
    body: { definition: notesFile('https://api.example.com', { description: 'Lists all notes.' }) },
  });
  const server = await call('POST', '/api/servers', { headers, body: { name: 'Reader' } });
  const run = await call('POST', '/connectors/sandbox/actions/list_customers/execute', {
    headers,
    body: { input: { limit: 1 } },
  });
  const subscription = await call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: `${url}/health`, scope: 'commerce/orders' },
  });
  const subscriptionId = subscription.text('subscriptionId');
  await call('POST', `/webhooks/${subscriptionId}/test`);
  const deliveries = await call('GET', `/webhooks/${subscriptionId}/deliveries`);
  const workflow = await call('POST', '/workflow-starters/low-stock-message', { body: {} });
  const workflowId = workflow.text('workflowId');
  await call('POST', `/workflows/${workflowId}/install?userId=${userId}`, {
    body: { config: { recipient: 'me@example.com', threshold: 20 } },
  });
  const started = await call('POST', `/workflows/${workflowId}/run?userId=${userId}`, { body: {} });
  const session = await call('POST', `/users/${userId}/connect-sessions`, { body: {} });
  const file = await call('POST', `/files?userId=${userId}&name=a.txt`, {
    rawBody: 'A file.',
    headers: { 'content-type': 'text/plain' },
  });
  const key = await call('POST', '/api/keys', { body: { name: 'reader', scopes: ['servers:read'] } });
  const mapping = await call('PUT', '/api/field-mappings', {
    body: { scope: 'commerce/orders', fields: { note: 'note' } },
  });
  const customers = await call('GET', `/2023-03/one/commerce/customers?connectionId=${connectionId}`);
  const executions = await call('GET', '/api/executions');
  expect(run.status).toBe(200);
  return {
    GATEHOUSE_URL: url,
    GATEHOUSE_KEY: developmentKey,
    USER_TOKEN: (await call('GET', `/2023-12/user/${userId}/token`)).text('token'),
    USER_ID: userId,
    ACTION_ID: 'list_customers',
    CONNECTION_ID: connectionId,
    CREDENTIAL_ID: connectionId,
    SERVER_ID: server.text('serverId'),
    ACCESS_TOKEN: server.text('accessToken'),
    SUBSCRIPTION_ID: subscriptionId,
    DELIVERY_ID: deliveries.text('data.0.deliveryId'),
    WORKFLOW_ID: workflowId,
    RUN_ID: started.text('runId'),
    STARTER_ID: 'low-stock-message',
    VERSION: '1',
    A: '1',
    B: '1',
    SESSION_ID: session.text('sessionId'),
    LINK: session.text('url').split('/').at(-1) ?? '',
    FILE_ID: file.text('fileId'),
    KEY_ID: key.text('keyId'),
    MAPPING_ID: mapping.text('mappingId'),
    EXECUTION_ID: executions.text('data.0.executionId'),
    CATEGORY: 'commerce',
    MODEL: 'customers',
    ID: customers.text('data.0.id'),
    ENVIRONMENT: 'development',
    NAME: 'page.css',
    TOKEN: 'none',
  };
}
