import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { earlierHome, type EarlierHome } from '../support/earlier-release.ts';
import { connectClient } from '../support/mcp.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { PATIENCE_MS } from '../support/until.ts';

describe.each(STORE_KINDS)('the store of an earlier release on %s', (kind) => {
  let earlier: EarlierHome;
  let service: Service;
  let receiver: Receiver;
  const call: Service['call'] = (method, path, options) =>
    service.call(method, path, { bearer: earlier.developmentKey, ...options });

  beforeAll(async () => {
    earlier = await earlierHome(kind);
    receiver = await startReceiver();
    service = await startService({ kind, env: earlier.env });
  });
  afterAll(async () => {
    await service.stop();
    await receiver[Symbol.asyncDispose]();
    await earlier[Symbol.asyncDispose]();
  });

  test('is migrated at the start, and its API key and audit log hold', async () => {
    expect((await call('GET', '/ready')).status).toBe(200);
    expect((await call('GET', `/users/${earlier.userId}`)).at('username')).toBe('alice');
    const audit = await call('GET', '/api/audit');
    expect([audit.status, audit.at('data.0.operation')]).toEqual([200, expect.any(String)]);
  });

  test('opens credentials, seals of an OAuth app and settings', async () => {
    const path = `/users/${earlier.userId}/credentials/${earlier.connectionId}/check`;
    expect((await call('POST', path, { headers: { 'x-svc-userid': earlier.userId } })).at('state')).toBe(
      'active',
    );
    expect((await call('GET', '/api/connectors/github/oauth-app')).at('clientId')).toBe('fixture-client');
    expect((await call('GET', '/api/settings')).at('origins')).toEqual(['https://app.example.com']);
  });

  test(
    'serves MCP at the access URLs of clients, pinned tools once approved',
    async () => {
      const changes = (await call('GET', '/api/tools/changes?connectorId=sandbox')).at('data');
      const tools = z.array(z.looseObject({})).min(1).parse(changes).map(nameOf);
      expect((await call('POST', '/api/tools/approve', { body: { tools } })).status).toBe(200);
      for (const path of [earlier.demonstrationPath, earlier.serverPath]) {
        const client = await connectClient(service.url + path);
        const listed = await client.listTools();
        expect(listed.tools.map(({ name }) => name)).toContain('sandbox_list_orders');
        const called = await client.callTool({ name: 'sandbox_list_orders', arguments: { limit: 2 } });
        expect([called.isError ?? false, JSON.stringify(called)]).toEqual([
          false,
          expect.stringContaining('ord_'),
        ]);
        await client.close();
      }
    },
    PATIENCE_MS,
  );

  test('keeps the restrictions of a server', async () => {
    const { body } = await call('POST', `/api/servers/${earlier.serverId}/simulate`, {
      body: { userId: earlier.userId, connectorId: 'sandbox', actionId: 'send_message' },
    });
    expect(JSON.stringify(body)).toContain('"outcome":"denied"');
  });

  test('delivers events with the secret that the receiver has', async () => {
    const path = `/webhooks/${earlier.subscriptionId}`;
    expect((await call('PUT', path, { body: { address: receiver.url } })).status).toBe(200);
    expect((await call('POST', `${path}/test`, { body: {} })).status).toBe(202);
    const [delivery] = await receiver.arrived(1);
    if (!delivery) throw new Error('no delivery');
    expect(verified(earlier.webhookSecret, delivery)).toMatchObject({ test: true });
  });

  test(
    'runs an installed workflow',
    async () => {
      const path = `/workflows/${earlier.workflowId}`;
      const user = `?userId=${earlier.userId}`;
      const runId = (await call('POST', `${path}/run${user}`, { body: {} })).text('runId');
      const status = async () => (await call('GET', `${path}/runs/${runId}${user}`)).at('status');
      await expect.poll(status, { timeout: PATIENCE_MS }).toBe('succeeded');
    },
    PATIENCE_MS,
  );
});

/** Returns what approves a change: the name of its definition, and the hash that was read. */
function nameOf(change: Record<string, unknown>): object {
  const { connectorId, actionId, promptId, resourceId, hash } = change;
  return { connectorId, actionId, promptId, resourceId, hash };
}
