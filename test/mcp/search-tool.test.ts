import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { estimateTokens } from '../../src/lib/token-estimate.ts';
import { notesFile } from '../support/custom.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('search_actions_svc on %s', (kind) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ kind });
  });
  afterAll(async () => {
    await service.stop();
  });

  const search = async (url: string, args: object) => {
    const client = await connectClient(url);
    const { structuredContent } = await client.callTool({
      name: 'search_actions_svc',
      arguments: { ...args },
    });
    await client.close();
    return structuredContent;
  };

  test('search_actions_svc shows the arguments, effect and connection state of each hit', async () => {
    const { accessUrl } = await shop(service);
    const found = await search(accessUrl, { query: 'who is this shopper', connectorId: 'sandbox', limit: 2 });
    expect(found).toMatchObject({
      actions: [{ connectorId: 'sandbox' }, { connectorId: 'sandbox' }],
    });
    expect(JSON.stringify(found)).toContain('"required":["customerId: string"]');
    expect(await search(accessUrl, { query: 'pay somebody back', effect: 'write', limit: 1 })).toMatchObject({
      actions: [{ effect: 'write', connected: false }],
    });
  });

  test('search_actions_svc shows only allowed actions, within a second of a change', async () => {
    const one = await shop(service, { restrictions: { connectors: { allowedIds: ['gmail', 'sandbox'] } } });
    const query = { query: 'send an email', limit: 10 };
    const first = JSON.stringify(await search(one.accessUrl, query));
    expect(first).toContain('"gmail"');
    expect(first).not.toContain('"microsoft-outlook"');
    const restrictions = { connectors: { blockedIds: ['gmail'] } };
    await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions } });
    const second = JSON.stringify(await search(one.accessUrl, query));
    expect(second).not.toContain('"gmail"');
    expect(second).toContain('"microsoft-outlook"');
  });

  test('search_actions_svc proposes the nearest connectors when no action fits', async () => {
    const { accessUrl } = await shop(service);
    const found = await search(accessUrl, { query: 'xqzzy' });
    expect(found).toMatchObject({ actions: [], next: expect.stringContaining('get_connector_svc') });
    expect(found).toHaveProperty('connectors.0', {
      connectorId: 'sandbox',
      name: 'Sandbox',
      connected: true,
    });
    expect(found).toHaveProperty('connectors.length', 5);
  });

  test('search_actions_svc returns the parameters and an example of the first two hits', async () => {
    const { accessUrl } = await shop(service);
    const found = await search(accessUrl, { query: 'look up a customer', connectorId: 'sandbox' });
    const actions = Object(found)['actions'];
    expect(actions[0]).toMatchObject({ inputSchema: { type: 'object' } });
    expect(actions[1]).toHaveProperty('inputSchema.properties');
    expect(actions[2]).not.toHaveProperty('inputSchema');
    const shown = actions.slice(0, 2);
    expect(shown.some((hit: object) => 'example' in hit)).toBe(true);
    expect(JSON.stringify(shown)).not.toContain('$ref');
  });

  test('search_actions_svc says which tool connects an account that is missing', async () => {
    const { accessUrl } = await shop(service);
    expect(await search(accessUrl, { query: 'unpaid invoices in Xero', limit: 1 })).toMatchObject({
      actions: [{ connectorId: 'xero', connected: false }],
      next: expect.stringContaining('create_credential_svc'),
    });
    expect(await search(accessUrl, { query: 'orders', connectorId: 'sandbox' })).not.toHaveProperty('next');
  });

  test('search_actions_svc numbers the hits of each step', async () => {
    const { accessUrl } = await shop(service);
    const query = 'find the unpaid invoices in Xero and post the total to #finance in Slack';
    expect(await search(accessUrl, { query, limit: 2 })).toMatchObject({
      actions: [
        { connectorId: 'xero', actionId: 'list_invoices', step: 1 },
        { connectorId: 'slack', actionId: 'send_message', step: 2 },
      ],
    });
  });

  test.each([
    ['create a ticket in Zendesk', ['Zendesk']],
    ['move the Trello card, then tell #ops in Slack', ['Trello']],
    ['Aufgabe in monday.com anlegen, und in ASANA', ['monday.com', 'Asana']],
    ['upload the file to azure   devops', ['Azure DevOps']],
    ['jira', ['Jira']],
  ])('a search for %j says that there is no connector for %j', async (query, apps) => {
    const { accessUrl } = await shop(service);
    const advice = `This server has no actions of ${apps.join(', ')}. Ask the user before you use another app instead.`;
    expect(await search(accessUrl, { query })).toMatchObject({
      missingApps: apps,
      next: expect.stringContaining(advice),
    });
  });

  test.each([
    ['unpaid invoices in QuickBooks', ['QuickBooks Online']],
    ['copy the Shopify orders into xero', ['Xero']],
    ['a meeting in the Google calendar', ['Google Calendar']],
  ])('a search for %j says that the server hides %j', async (query, apps) => {
    const restrictions = { connectors: { allowedIds: ['shopify', 'google-drive'] } };
    const { accessUrl } = await shop(service, { restrictions });
    expect(await search(accessUrl, { query })).toMatchObject({ missingApps: apps });
  });

  test.each([
    'upload it to Google',
    'write to ada@gmail.com, bob@zoho.com',
    'discard the Shopify draft order',
    'ouvre le tableau des congés',
  ])('a search for %j names no app that is missing', async (query) => {
    const restrictions = { connectors: { allowedIds: ['shopify', 'google-drive'] } };
    const { accessUrl } = await shop(service, { restrictions });
    expect(await search(accessUrl, { query })).not.toHaveProperty('missingApps');
  });

  test.each([
    ['create a page in Confluence', 'create_page'],
    ['write a LinkedIn post', 'send_message'],
  ])('a search for %j finds %s, as without the name of the missing app', async (query, actionId) => {
    const { accessUrl } = await shop(service);
    expect(await search(accessUrl, { query })).toHaveProperty('actions.0.actionId', actionId);
  });

  test('search_actions_svc knows an app without a connector by actions that mention it', async () => {
    const description = 'Lists the notes of a Jira issue.';
    const definition = notesFile('https://api.notes.example.com', { description });
    expect((await service.call('POST', '/api/connectors', { body: { definition } })).status).toBe(201);
    const { accessUrl } = await shop(service);
    const found = await search(accessUrl, { query: 'list the notes of a jira issue' });
    expect(found).toHaveProperty('actions.0.connectorId', 'notes');
    expect(found).not.toHaveProperty('missingApps');
  });

  test('search_actions_svc keeps five hits below 1,500 tokens', async () => {
    const { accessUrl } = await shop(service);
    for (const query of ['create an invoice in Xero', 'send a mail in Outlook', 'new customer in Stripe']) {
      expect(estimateTokens(JSON.stringify(await search(accessUrl, { query })))).toBeLessThan(1500);
    }
  });
});
