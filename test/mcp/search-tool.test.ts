import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

  test('shows the arguments, effect and connection state of each hit', async () => {
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

  test('shows only allowed actions, and follows a change within a second', async () => {
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

  test('suggests a next step when no action fits', async () => {
    const { accessUrl } = await shop(service);
    const next = expect.stringContaining('list_connectors_svc');
    expect(await search(accessUrl, { query: 'xqzzy' })).toEqual({ actions: [], next });
  });
});
