import { z } from 'zod';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * The client of a conformance scenario: a Gatehouse that adds the MCP server of the scenario, signs a user in and calls its
 * tools. The suite starts it with the server's address. Ends with 1 when Gatehouse refuses the server.
 */

const MAX_ATTEMPTS = 100;
const toolCall = z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) });
const given = z.looseObject({ toolCalls: z.array(toolCall).default([]) });
const [url = ''] = process.argv.slice(2);
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context: unknown = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}');

// The scenario expects this address as the client id.
const hosted = { GATEHOUSE_CLIENT_METADATA_URL: 'https://conformance-test.local/client-metadata.json' };
const env = { LOG_LEVEL: 'silent', ...(scenario === 'auth/basic-cimd' ? hosted : {}) };
await using service = await startService({ env });
const isOpen = !scenario.startsWith('auth/');
const authentication = isOpen ? { type: 'none' } : { type: 'oauth2' };
const made = await service.call('POST', '/api/connectors', {
  body: { mcp: { connectorId: 'scenario', url, authentication } },
});
if (made.status === 201) await run(service);
else {
  console.error(JSON.stringify(made.body));
  process.exitCode = 1;
}

async function run({ call }: Service): Promise<void> {
  const userId = (await call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  if (!isOpen) {
    const { client_id: clientId, client_secret: clientSecret } = Object(context);
    if (clientId !== undefined)
      await call('PUT', '/api/connectors/scenario/oauth-app', { body: { clientId, clientSecret } });
    await signIn(userId);
  }
  // A server may refuse the first account, because it moved to another authorization server in between.
  if (!(await areToolsRead()) && !isOpen) {
    await signIn(userId);
    await areToolsRead();
  }
  const { body } = await call('GET', '/connectors/scenario/actions');
  for (const { actionId } of Object(body).data) {
    const answer = await callTool(userId, actionId);
    const needed = answer.at('details.needed');
    // The operator lets the connector ask for more scopes, or reads the changed metadata of the server.
    const wider = typeof needed === 'string' ? { scopes: needed.split(' ') } : {};
    if (isOpen || (needed === undefined && answer.at('code') !== 'credential_invalid')) continue;
    await call('PUT', '/api/connectors/scenario', {
      body: { mcp: { connectorId: 'scenario', url, authentication: { type: 'oauth2', ...wider } } },
    });
    await signIn(userId);
    await callTool(userId, actionId);
  }
}

/** Waits until the tools are known. */
async function areToolsRead(): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const read = await service.call('GET', '/api/connectors/scenario');
    if (read.at('remote.pending') === false) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

async function callTool(userId: string, actionId: string) {
  const answer = await service.call('POST', `/connectors/scenario/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input: inputOf(actionId) },
  });
  console.log(actionId, answer.status, JSON.stringify(answer.body));
  return answer;
}

/** Returns the input of a call: the arguments that the scenario names, where it does. */
function inputOf(actionId: string): object {
  const named = given.parse(context).toolCalls.find(({ name }) => name === actionId);
  return named?.arguments ?? (actionId === 'add_numbers' ? { a: 5, b: 3 } : {});
}

/** Signs the user in, as a browser does. The scenario's authorization server consents at once. */
async function signIn(userId: string): Promise<void> {
  const wish = { body: { connectors: ['scenario'] } };
  const link = (await service.call('POST', `/users/${userId}/connect-sessions`, wish)).text('url');
  const browser = createBrowser();
  const opened = await browser.request(`${link}/open`, {});
  const session = `${service.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}`;
  const asked = await browser.request(`${session}/authorize`, {
    connectorId: 'scenario',
    type: 'oauth2',
    data: {},
  });
  const page = await browser.open(String(valueAt(asked.body, 'authorizationUrl')));
  console.log('signed in', page.status);
}
