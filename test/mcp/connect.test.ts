import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  ElicitationCompleteNotificationSchema,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rpc } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * An agent meets an app that its user has not connected.
 */
let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const listCustomers = {
  name: 'execute_action_svc',
  arguments: { connectorId: 'sandbox', actionId: 'list_customers', parameters: { limit: 1 } },
};

describe('without a session', () => {
  test('create_credential_svc returns a link, and calls succeed after it is used', async () => {
    const { accessUrl } = await serverOf('bare');
    const refused = await rpc(accessUrl, 'tools/call', listCustomers);
    expect(refused.at('result.isError')).toBe(true);
    expect(refused.at('result.structuredContent.error.code')).toBe('credential_required');
    const link = String(refused.at('result.structuredContent.error.details.connectUrl'));
    expect(refused.at('result.content.0.text')).toContain(link);

    const made = await rpc(accessUrl, 'tools/call', {
      name: 'create_credential_svc',
      arguments: { connectorId: 'sandbox' },
    });
    await follow(String(made.at('result.structuredContent.connectUrl')));
    const done = await rpc(accessUrl, 'tools/call', listCustomers);
    expect(done.at('result.structuredContent.pagination.hasMore')).toBe(true);
  });

  test('the link returns to x-redirect-uri when that is allowed', async () => {
    const { accessUrl } = await serverOf('redirect');
    const ask = (uri: string) =>
      rpc(
        accessUrl,
        'tools/call',
        { name: 'create_credential_svc', arguments: { connectorId: 'sandbox' } },
        { headers: { 'x-redirect-uri': uri } },
      );
    const refused = await ask('https://evil.example/');
    expect(refused.at('result.structuredContent.error.code')).toBe('redirect_not_allowed');
    const made = await ask('http://127.0.0.1:9/back');
    const back = await follow(String(made.at('result.structuredContent.connectUrl')));
    expect(back.at('returns')).toBe(true);
  });

  test.each([
    [{ connectorId: 'nothing' }, 'connector_not_found'],
    [{ connectorId: 'github' }, 'restricted'],
    [{ connectorId: 'gmail' }, 'oauth_app_missing'],
    [{}, 'invalid_request'],
  ])('create_credential_svc of %j is %s', async (args, code) => {
    const { accessUrl } = await serverOf(`refused ${code}`, {
      connectors: { allowedIds: ['sandbox', 'gmail'] },
    });
    const asked = await rpc(accessUrl, 'tools/call', { name: 'create_credential_svc', arguments: args });
    expect(asked.at('result.structuredContent.error.code')).toBe(code);
  });

  test('a server without a user returns an error that says so', async () => {
    const created = await service.call('POST', '/api/servers', { body: { name: 'nobody' } });
    const asked = await rpc(created.text('accessUrl'), 'tools/call', {
      name: 'create_credential_svc',
      arguments: { connectorId: 'sandbox' },
    });
    expect(asked.at('result.structuredContent.error.code')).toBe('user_id_missing');
  });
});

describe('in a session of a client that opens links', () => {
  test('a call gets -32042, a notification after connecting, and then succeeds', async () => {
    const { accessUrl } = await serverOf('session');
    const client = await linkClient(accessUrl, async () => ({ action: 'accept' }));
    const completed = new Promise<string>((resolve) => {
      client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
        resolve(params.elicitationId),
      );
    });
    const refused = await client.callTool(listCustomers).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(refused instanceof UrlElicitationRequiredError)) throw new Error('not asked for a link');
    const [elicitation] = refused.elicitations;
    expect(elicitation?.message).toContain('Sandbox');
    await follow(elicitation?.url ?? '');
    expect(await completed).toBe(elicitation?.elicitationId);
    const done = await client.callTool(listCustomers);
    expect(done.isError).toBeFalsy();
    await client.close();
  });

  test('create_credential_svc opens the link through the client or is declined', async () => {
    const { accessUrl } = await serverOf('elicited');
    const asked: unknown[] = [];
    const answers: ('accept' | 'decline')[] = ['decline', 'accept'];
    const client = await linkClient(accessUrl, async (params) => {
      asked.push(params);
      return { action: answers.shift() ?? 'cancel' };
    });
    const create = () =>
      client.callTool({ name: 'create_credential_svc', arguments: { connectorId: 'sandbox' } });
    expect((await create()).structuredContent).toMatchObject({ declined: true });
    const accepted = (await create()).structuredContent;
    expect(asked[1]).toMatchObject({ mode: 'url', message: 'Connect your Sandbox account.' });
    expect(accepted).toMatchObject({ connectUrl: expect.stringContaining('/connect/s/') });
    await client.close();
  });

  test('a client that does not open links gets one in the result', async () => {
    const { accessUrl } = await serverOf('plain session');
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(accessUrl)));
    const refused = await client.callTool(listCustomers);
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain('/connect/s/');
    await client.close();
  });
});

test('an API key sent by a page of another origin is rejected', async () => {
  const { userId } = await serverOf('page');
  const listed = await service.call('GET', '/api/servers', { headers: { 'x-svc-userid': userId } });
  const asked = await rpc(listed.text('servers.0.url'), 'tools/list', undefined, {
    headers: {
      authorization: `Bearer ${service.developmentKey}`,
      'x-svc-userid': userId,
      origin: 'http://localhost:5173',
    },
  });
  expect([asked.status, asked.at('error.code')]).toEqual([403, -32003]);
});

async function linkClient(
  url: string,
  answer: (params: unknown) => Promise<{ action: 'accept' | 'decline' | 'cancel' }>,
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { url: {} } } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

/** Creates a server of a user without accounts. */
async function serverOf(username: string, restrictions: object = {}) {
  const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
  const created = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: { name: `server of ${username}`, restrictions },
  });
  return { userId, accessUrl: created.text('accessUrl') };
}

/** Does what the page behind a link does when a user enters a key. */
async function follow(link: string) {
  const opened = await service.call('POST', `${new URL(link).pathname}/open`, { bearer: null, body: {} });
  const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';', 1);
  const submitted = await service.call('POST', `/connect/sessions/${opened.text('sessionId')}/credentials`, {
    bearer: null,
    headers: { cookie },
    body: { connectorId: 'sandbox', type: 'api_key', data: { apiKey: 'sandbox_followed' } },
  });
  expect(submitted.status).toBe(200);
  return opened;
}
