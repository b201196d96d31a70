import { afterAll, beforeAll, expect, test } from 'vitest';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
let stranger: string;
beforeAll(async () => {
  service = await startService();
  one = await shop(service);
  stranger = (await service.call('POST', '/users', { body: { username: 'stranger' } })).text('userId');
});
afterAll(() => service.stop());

const simulate = (body: object, serverId = one.serverId) =>
  service.call('POST', `/api/servers/${serverId}/simulate`, { body });
const READ = { connectorId: 'sandbox', actionId: 'list_products' };
const DELETE = { connectorId: 'sandbox', actionId: 'delete_customer', input: { customerId: 'cus_1001' } };

test.each([
  [
    'nothing stands against it',
    {},
    () => ({ ...READ, userId: one.userId }),
    { outcome: 'runs', effect: 'read' },
  ],
  ['nobody is named: the owner', {}, () => READ, { outcome: 'runs' }],
  [
    'its effect is not allowed',
    { effects: { allowed: ['read'] } },
    () => ({ ...DELETE, userId: one.userId }),
    { outcome: 'denied', rule: 'effects.allowed', code: 'restricted', effect: 'destructive' },
  ],
  [
    'its user is asked first',
    { confirm: ['destructive'] },
    () => ({ ...DELETE, userId: one.userId }),
    { outcome: 'asks', rule: 'confirm', effect: 'destructive' },
  ],
  [
    'the action is blocked',
    { actions: { blockedActions: ['sandbox.list_*'] } },
    () => ({ ...READ, userId: one.userId }),
    { outcome: 'denied', rule: 'actions.blockedActions' },
  ],
  [
    'the user is not allowed',
    { users: { allowedIds: ['usr_x'] } },
    () => ({ ...READ, userId: one.userId }),
    { outcome: 'denied', rule: 'users.allowedIds' },
  ],
  [
    'the user has no account',
    {},
    () => ({ ...READ, userId: stranger }),
    { outcome: 'fails', code: 'credential_required' },
  ],
  [
    'the user is not there',
    {},
    () => ({ ...READ, userId: 'usr_x' }),
    { outcome: 'fails', code: 'user_not_found' },
  ],
  [
    'the action is not there',
    {},
    () => ({ ...READ, actionId: 'nope', userId: one.userId }),
    { outcome: 'fails', code: 'action_not_found' },
  ],
  [
    'the input is wrong',
    {},
    () => ({ ...DELETE, input: {}, userId: one.userId }),
    { outcome: 'fails', code: 'invalid_request' },
  ],
])('a simulated call returns its decision and a reason when %s', async (_, restrictions, body, expected) => {
  await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions } });
  const answer = await simulate(body());
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject(expected);
  expect(answer.text('reason')).not.toBe('');
});

test('a simulated call returns the account that it would use, and the failed check', async () => {
  await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions: {} } });
  const runs = await simulate({ ...READ, userId: one.userId });
  expect(runs.text('credentialId')).toBe(one.credentialId);
  const none = await simulate({ ...READ, userId: stranger });
  expect(none.at('checks')).toMatchObject([
    { check: 'server', passed: true },
    { check: 'user', passed: true },
    { check: 'action', passed: true },
    { check: 'credential', passed: false },
  ]);
});

test('a server that is disabled denies every call', async () => {
  const off = await shop(service);
  await service.call('PUT', `/api/servers/${off.serverId}`, { body: { enabled: false } });
  const answer = await simulate({ ...READ, userId: off.userId }, off.serverId);
  expect(answer.body).toMatchObject({ outcome: 'denied', code: 'forbidden' });
});

test('a simulated call sends no request and leaves no execution', async () => {
  const quiet = await shop(service);
  await simulate({ ...DELETE, userId: quiet.userId }, quiet.serverId);
  await service.context.executions.flush();
  const rows = await service.call('GET', `/api/executions?serverId=${quiet.serverId}`);
  expect(rows.at('data')).toEqual([]);
  const call = await rpc(quiet.accessUrl, 'tools/call', {
    name: 'execute_action_svc',
    arguments: { connectorId: 'sandbox', actionId: 'get_customer', parameters: { customerId: 'cus_1001' } },
  });
  expect(call.at('result.isError')).toBeUndefined();
});

test('a user’s own server reveals nothing about other users', async () => {
  const jwt = (await service.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
  const bound = await service.call('POST', '/api/servers', { bearer: jwt, body: { name: 'own' } });
  const ask = (userId: string) =>
    service.call('POST', `/api/servers/${bound.text('serverId')}/simulate`, {
      bearer: jwt,
      body: { ...READ, userId },
    });
  expect((await ask(one.userId)).body).toMatchObject({ outcome: 'runs' });
  expect((await ask(stranger)).body).toEqual((await ask('usr_never')).body);
});
