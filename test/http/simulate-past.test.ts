import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

const answered = z.object({
  unused: z.array(z.object({ connectorId: z.string(), actionId: z.string() })),
  proposal: z.looseObject({}),
});

describe.each(STORE_KINDS)('restrictions over the recorded calls of a server, on %s', (kind) => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService({ kind });
    one = await shop(service);
    const call = async (actionId: string, parameters: object) => {
      const args = { connectorId: 'sandbox', actionId, parameters };
      await rpc(one.accessUrl, 'tools/call', { name: 'execute_action_svc', arguments: args });
    };
    for (let made = 0; made < 3; made++) await call('list_customers', { limit: 1 });
    await call('create_customer', { name: 'Ada', email: 'ada@example.com' });
    await service.context.executions.flush();
  });
  afterAll(() => service.stop());

  const past = (restrictions: object, more: object = {}) =>
    service.call('POST', `/api/servers/${one.serverId}/simulate-past`, { body: { restrictions, ...more } });

  test('restrictions over recorded calls say which calls they would have denied, and why', async () => {
    const answer = await past({ effects: { allowed: ['read'] } });
    expect(answer.body).toMatchObject({
      checked: 4,
      denied: [
        {
          connectorId: 'sandbox',
          actionId: 'create_customer',
          userId: one.userId,
          rule: 'effects.allowed',
          count: 1,
        },
      ],
      confirmed: [],
    });
    const ofUsers = await past({ users: { allowedIds: ['usr_x'] } });
    expect(ofUsers.at('denied')).toMatchObject([
      { actionId: 'list_customers', rule: 'users.allowedIds', count: 3 },
      { actionId: 'create_customer', count: 1 },
    ]);
    expect((await past({}, { since: new Date(Date.now() + 60_000).toISOString() })).at('checked')).toBe(0);
  });

  test('restrictions over recorded calls say which calls would have asked the user', async () => {
    const answer = await past({ confirm: ['write'] });
    expect(answer.at('denied')).toEqual([]);
    expect(answer.at('confirmed')).toMatchObject([
      { actionId: 'create_customer', rule: 'confirm', count: 1 },
    ]);
  });

  test('restrictions over recorded calls are proposed narrowed, and PUT takes them', async () => {
    const { unused, proposal } = answered.parse((await past({ confirm: ['destructive'] })).body);
    expect(unused).toContainEqual({ connectorId: 'sandbox', actionId: 'delete_customer' });
    expect(unused).not.toContainEqual({ connectorId: 'sandbox', actionId: 'list_customers' });
    expect(proposal).toEqual({
      confirm: ['destructive'],
      connectors: { mode: 'allowlist', allowedIds: ['sandbox'] },
      actions: { mode: 'allowlist', allowedActions: ['sandbox.create_customer', 'sandbox.list_customers'] },
    });
    const body = { restrictions: proposal };
    expect((await service.call('PUT', `/api/servers/${one.serverId}`, { body })).status).toBe(200);
    expect((await past(proposal)).body).toMatchObject({ denied: [], unused: [] });
  });

  test('restrictions over recorded calls that contradict themselves are refused', async () => {
    const refused = await past({ actions: { mode: 'allowlist', blockedActions: ['a.b'] } });
    expect([refused.status, refused.text('code')]).toEqual([400, 'invalid_request']);
  });
});
