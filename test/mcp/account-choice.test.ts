import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  ElicitationCompleteNotificationSchema,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { startConsentApp, type ConsentApp } from '../support/consent-app.ts';

const FILE = `baseUrl: '{origin}/{siteId}'
authentication:
  - type: oauth2
    authorizeUrl: '{origin}/authorize'
    tokenUrl: '{origin}/token'
    lookup: {url: '{origin}/sites', choose: {id: id, label: name}}
    capture: {siteId: {from: 'lookup:id'}}
actions:
  get_me: {description: The user behind the token., request: GET /me}
`;
const SITES = [
  { id: 'site-1', name: 'Alpha' },
  { id: 'site-2', name: 'Beta' },
];

let consents: ConsentApp | undefined;
afterEach(() => consents?.[Symbol.asyncDispose]());

test('the link of an agent ends with the choice of the account, not with the consent', async () => {
  consents = await startConsentApp(FILE);
  const { app } = consents;
  consents.api = ({ path }) => ({ body: path === '/sites' ? SITES : { path } });
  const made = await app.call('POST', '/api/servers', { name: 'agent' });
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { url: {} } } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept' }));
  const completed: string[] = [];
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
    completed.push(params.elicitationId);
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(made.text('accessUrl'))));
  const call = () =>
    client.callTool({
      name: 'execute_action_svc',
      arguments: { connectorId: 'app', actionId: 'get_me', parameters: {} },
    });
  const refused = await call().catch((error: unknown) => error);
  if (!(refused instanceof UrlElicitationRequiredError)) throw new Error('not asked for a link');
  const [elicitation] = refused.elicitations;
  const browser = createBrowser();
  const opened = await browser.request(`${elicitation?.url}/open`, {});
  const at = { browser, sessionId: String(valueAt(opened.body, 'sessionId')) };
  await consents.consent(at);
  expect((await consents.session(at)).at('status')).toBe('choosing');
  await expect(call()).rejects.toThrow(UrlElicitationRequiredError);
  expect(completed).toEqual([]);
  expect((await consents.choose(at, 'site-2')).status).toBe(200);
  await expect.poll(() => completed, { timeout: 20_000 }).toContain(elicitation?.elicitationId);
  expect((await call()).structuredContent).toMatchObject({ data: { path: '/site-2/me' } });
  await client.close();
});
