import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Restrictions } from '../../src/servers/restrictions.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * The matrix: mode × list × place, for connectors, actions and users. A place is where a rule must hold: in every list, in
 * every read of a schema, and at the call itself.
 */
let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, { toolMode: 'direct' });
});
afterAll(() => service.stop());

const restrict = async (restrictions: Restrictions) => {
  const answer = await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions } });
  expect(answer.status).toBe(200);
};
const tool = (name: string, args: object) => rpc(one.accessUrl, 'tools/call', { name, arguments: args });

/** Returns the outcome of each list, read and call for the sandbox and one of its actions. */
async function seen() {
  const text = async (method: string, params: object = {}) =>
    JSON.stringify((await rpc(one.accessUrl, method, params)).body);
  const tools = await text('tools/list');
  const executed = await tool('execute_action_svc', {
    connectorId: 'sandbox',
    actionId: 'list_products',
    parameters: { limit: 1 },
  });
  const direct = await tool('sandbox_list_products', { limit: 1 });
  const action = await rpc(one.accessUrl, 'resources/read', {
    uri: 'svc://connectors/sandbox/actions/list_products',
  });
  const described = await tool('get_action_svc', {
    actions: [{ connectorId: 'sandbox', actionId: 'list_products' }],
  });
  const searched = await tool('search_actions_svc', { query: 'list products', connectorId: 'sandbox' });
  return {
    directTool: tools.includes('"sandbox_list_products"'),
    listedConnector: JSON.stringify((await tool('list_connectors_svc', {})).body).includes('"sandbox'),
    resource: (await text('resources/list')).includes('svc://connectors/sandbox'),
    prompt: (await text('prompts/list')).includes('sandbox_review_open_orders'),
    searched: JSON.stringify(searched.at('result.structuredContent.actions') ?? []).includes(
      '"list_products"',
    ),
    read: action.at('error.code') ?? 'shown',
    described: described.at('result.structuredContent.error.code') ?? 'shown',
    executed: executed.at('result.structuredContent.error.code') ?? 'done',
    direct: direct.at('error.code') ?? 'done',
    rule: direct.at('error.data.rule'),
  };
}

const ALLOWED = {
  directTool: true,
  listedConnector: true,
  resource: true,
  prompt: true,
  searched: true,
  read: 'shown',
  described: 'shown',
  executed: 'done',
  direct: 'done',
  rule: undefined,
};
const ACTION_DENIED = {
  ...ALLOWED,
  directTool: false,
  searched: false,
  read: -32003,
  described: 'restricted',
  executed: 'restricted',
  direct: -32003,
};
const CONNECTOR_DENIED = { ...ACTION_DENIED, listedConnector: false, resource: false, prompt: false };

describe.each([
  ['no restrictions', {}, ALLOWED],
  [
    'an allowlist with the connector',
    { connectors: { mode: 'allowlist', allowedIds: ['sandbox'] } },
    ALLOWED,
  ],
  [
    'an allowlist without the connector',
    { connectors: { mode: 'allowlist', allowedIds: ['github'] } },
    { ...CONNECTOR_DENIED, rule: 'connectors.allowedIds' },
  ],
  [
    'an empty allowlist of connectors',
    { connectors: { mode: 'allowlist', allowedIds: [] } },
    { ...CONNECTOR_DENIED, rule: 'connectors.allowedIds' },
  ],
  [
    'an allowlist without a list',
    { connectors: { mode: 'allowlist' } },
    { ...CONNECTOR_DENIED, rule: 'connectors.allowedIds' },
  ],
  [
    'a blocklist with the connector',
    { connectors: { mode: 'blocklist', blockedIds: ['sandbox'] } },
    { ...CONNECTOR_DENIED, rule: 'connectors.blockedIds' },
  ],
  [
    'a blocklist without the connector',
    { connectors: { mode: 'blocklist', blockedIds: ['github'] } },
    ALLOWED,
  ],
  [
    'a list of connectors without mode',
    { connectors: { blockedIds: ['sandbox'] } },
    { ...CONNECTOR_DENIED, rule: 'connectors.blockedIds' },
  ],
  [
    'an allowlist with the action',
    { actions: { mode: 'allowlist', allowedActions: ['list_products'] } },
    ALLOWED,
  ],
  [
    'an allowlist with the whole connector',
    { actions: { mode: 'allowlist', allowedActions: ['sandbox.*'] } },
    ALLOWED,
  ],
  [
    'an allowlist with another action of it',
    { actions: { mode: 'allowlist', allowedActions: ['sandbox.list_orders'] } },
    { ...ACTION_DENIED, rule: 'actions.allowedActions' },
  ],
  [
    'a blocklist with the action',
    { actions: { mode: 'blocklist', blockedActions: ['sandbox.list_products'] } },
    { ...ACTION_DENIED, rule: 'actions.blockedActions' },
  ],
  [
    'a blocklist with a pattern',
    { actions: { mode: 'blocklist', blockedActions: ['*.list_*'] } },
    { ...ACTION_DENIED, rule: 'actions.blockedActions' },
  ],
  [
    'a blocklist with all its actions',
    { actions: { blockedActions: ['sandbox.*'] } },
    { ...CONNECTOR_DENIED, rule: 'actions.blockedActions' },
  ],
  ['effects with that of the action', { effects: { allowed: ['read'] } }, ALLOWED],
  [
    'effects without that of the action',
    { effects: { allowed: ['write', 'destructive'] } },
    { ...ACTION_DENIED, rule: 'effects.allowed' },
  ],
  ['no effects at all', { effects: { allowed: [] } }, { ...CONNECTOR_DENIED, rule: 'effects.allowed' }],
  [
    'effects and actions together',
    { actions: { blockedActions: ['create_*'] }, effects: { allowed: ['read'] } },
    ALLOWED,
  ],
] satisfies [string, Restrictions, object][])('%s', (_, restrictions, expected) => {
  test('a restriction holds in every list, every read and every call', async () => {
    await restrict(restrictions);
    expect(await seen()).toEqual(expected);
  });
});

describe('users', () => {
  test.each([
    ['allowlist with the user', () => ({ mode: 'allowlist' as const, allowedIds: [one.userId] }), 200],
    ['allowlist without the user', () => ({ mode: 'allowlist' as const, allowedIds: ['usr_other'] }), 403],
    ['empty allowlist', () => ({ mode: 'allowlist' as const, allowedIds: [] }), 403],
    ['blocklist with the user', () => ({ mode: 'blocklist' as const, blockedIds: [one.userId] }), 403],
    ['blocklist without the user', () => ({ mode: 'blocklist' as const, blockedIds: ['usr_other'] }), 200],
  ])('users are restricted by a list: %s', async (_, users, status) => {
    await restrict({ users: users() });
    const key = { authorization: `Bearer ${service.developmentKey}`, 'x-svc-userid': one.userId };
    for (const method of ['tools/list', 'resources/list', 'prompts/list', 'initialize']) {
      const params = method === 'initialize' ? { protocolVersion: '2025-11-25' } : {};
      const byToken = await rpc(one.accessUrl, method, params);
      const byKey = await rpc(one.url, method, params, { headers: key });
      expect([byToken.status, byKey.status]).toEqual([status, status]);
      const refusal = status === 403 ? [-32003, 'restricted'] : [undefined, undefined];
      expect([byToken.at('error.code'), byKey.at('error.data.code')]).toEqual(refusal);
    }
  });

  test('an allowlist rejects requests without a user', async () => {
    const nobody = await service.call('POST', '/api/servers', {
      body: { name: 'nobody', restrictions: { users: { allowedIds: ['usr_x'] } } },
    });
    expect((await rpc(nobody.text('accessUrl'), 'tools/list')).status).toBe(403);
  });
});

test('REST with an API key is not restricted', async () => {
  await restrict({ connectors: { allowedIds: [] } });
  const answer = await service.call('POST', '/connectors/sandbox/actions/list_products/execute', {
    headers: { 'x-svc-userid': one.userId },
    body: { input: { limit: 1 } },
  });
  expect(answer.status).toBe(200);
});

test('userServerRestrictions limit exactly the servers that a JWT created', async () => {
  await restrict({});
  const jwt = (await service.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
  const bound = await service.call('POST', '/api/servers', {
    bearer: jwt,
    body: { name: 'own', toolMode: 'direct' },
  });
  await service.call('PUT', '/api/settings', {
    body: { userServerRestrictions: { connectors: { allowedIds: ['github'] } } },
  });
  const listed = JSON.stringify((await rpc(bound.text('accessUrl'), 'tools/list')).body);
  expect(listed).not.toContain('"sandbox_list_products"');
  expect(JSON.stringify((await rpc(one.accessUrl, 'tools/list')).body)).toContain('"sandbox_list_products"');
  const refused = await rpc(bound.text('accessUrl'), 'tools/call', {
    name: 'sandbox_list_products',
    arguments: {},
  });
  expect(refused.at('error.data.rule')).toBe('userServerRestrictions.connectors.allowedIds');
  await service.call('PUT', '/api/settings', { body: { userServerRestrictions: {} } });
  expect(JSON.stringify((await rpc(bound.text('accessUrl'), 'tools/list')).body)).toContain(
    '"sandbox_list_products"',
  );
});

test('every decision is recorded with caller, target and rule', async () => {
  await restrict({ actions: { blockedActions: ['delete_customer'] } });
  await tool('execute_action_svc', {
    connectorId: 'sandbox',
    actionId: 'delete_customer',
    parameters: { customerId: 'cus_1001' },
  });
  await tool('execute_action_svc', {
    connectorId: 'sandbox',
    actionId: 'create_ticket',
    parameters: { title: 'A', body: 'secret words' },
  });
  await service.context.executions.flush();
  const rows = await service.call('GET', `/api/executions?serverId=${one.serverId}&limit=2`);
  expect(rows.body).toMatchObject({
    data: [
      {
        actionId: 'create_ticket',
        outcome: 'succeeded',
        userId: one.userId,
        credentialId: one.credentialId,
        upstreamStatus: 201,
      },
      { actionId: 'delete_customer', outcome: 'denied', rule: 'actions.blockedActions' },
    ],
  });
  expect(JSON.stringify(rows.body)).not.toContain('secret words');
});
