import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Answer, type Service } from '../support/service.ts';

let service: Service;
let receiver: Receiver;
let credentialId: string;
let subscriptionId: string;
let deliveryId: string;
/** JWTs of the owner and of another user. */
let ada: string;
let eve: string;

beforeAll(async () => {
  service = await startService();
  receiver = await startReceiver();
  const userOf = async (username: string) =>
    (await service.call('POST', '/users', { body: { username } })).text('userId');
  const tokenOf = async (userId: string) =>
    (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
  const owner = await userOf('ada');
  ada = await tokenOf(owner);
  eve = await tokenOf(await userOf('eve'));
  const headers = { 'x-svc-userid': owner };
  const body = { connectorId: 'sandbox', name: 'Shop', data: { apiKey: 'sandbox_portal' } };
  const made = await service.call('POST', `/users/${owner}/credentials`, { headers, body });
  credentialId = made.text('credentialId');
  const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${credentialId}`, {
    body: {
      scope: 'commerce/customers',
      address: `${receiver.url}/path-secret?token=query-secret`,
      headers: { authorization: 'header-secret' },
    },
  });
  subscriptionId = subscribed.text('subscriptionId');
  receiver.answer = (_, res) => res.writeHead(500).end('answer-secret');
  deliveryId = (await service.call('POST', `/webhooks/${subscriptionId}/test`)).text('deliveryId');
  await receiver.arrived(1);
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await service.stop();
});

const paths = () => {
  const deliveries = `/connect/portal/subscriptions/${subscriptionId}/deliveries`;
  return {
    check: `/connect/portal/accounts/${credentialId}/check`,
    deliveries,
    replay: `${deliveries}/${deliveryId}/replay`,
  };
};
const as = (bearer: string, method: string, path: string, headers = {}): Promise<Answer> =>
  service.call(method, path, { bearer, headers });

describe('a user’s own things', () => {
  test('accounts of a user have their apps, without a secret', async () => {
    const listed = await as(ada, 'GET', '/connect/portal/accounts');
    expect(listed.at('data')).toMatchObject([
      {
        credentialId,
        name: 'Shop',
        state: 'active',
        app: { name: 'Sandbox', iconUrl: expect.stringContaining('/connectors/sandbox/icon.svg') },
      },
    ]);
    expect(await as(ada, 'POST', paths().check)).toMatchObject({ body: { state: 'active', checked: true } });
  });

  test('subscriptions and deliveries of a user hide what belongs to the receiver', async () => {
    const subscriptions = await as(ada, 'GET', '/connect/portal/subscriptions');
    expect(subscriptions.at('data')).toMatchObject([
      { subscriptionId, account: 'Shop', receiver: new URL(receiver.url).host, status: 'active' },
    ]);
    await expect
      .poll(async () => (await as(ada, 'GET', paths().deliveries)).at('data.0.attempts.0.status'))
      .toBe(500);
    const deliveries = await as(ada, 'GET', paths().deliveries);
    expect(deliveries.at('data')).toMatchObject([{ deliveryId, status: 'waiting', event: 'test' }]);
    expect(JSON.stringify([subscriptions.body, deliveries.body])).not.toMatch(/secret|excerpt/);
    const only = (query: string) => as(ada, 'GET', `${paths().deliveries}?${query}`);
    expect((await only('status=dead')).at('data')).toEqual([]);
    expect((await only(`deliveryId=${deliveryId}`)).at('data')).toHaveLength(1);
    for (const id of ['msg_other', '%00', `msg_${'0'.repeat(22)}`])
      expect((await only(`deliveryId=${id}`)).at('data')).toEqual([]);
  });

  test('a delivery is sent again by its user, and the audit log names the user', async () => {
    receiver.answer = (_, res) => res.writeHead(200).end();
    expect((await as(ada, 'POST', paths().replay)).status).toBe(202);
    await expect
      .poll(async () => (await as(ada, 'GET', paths().deliveries)).at('data.0.status'))
      .toBe('succeeded');
    const audit = await service.call('GET', '/api/audit?operation=replayPortalDelivery');
    expect(audit.at('data.0')).toMatchObject({ caller: expect.stringMatching(/^jwt:usr_/), status: 202 });
  });
});

describe('a hostile caller', () => {
  test('another user sees nothing, and gets the answers of missing targets', async () => {
    const { check, deliveries, replay } = paths();
    for (const path of ['/connect/portal/accounts', '/connect/portal/subscriptions'])
      expect((await as(eve, 'GET', path)).at('data')).toEqual([]);
    expect((await as(eve, 'GET', '/connect/portal')).body).toMatchObject({ hasSubscriptions: false });
    for (const [method, path] of [
      ['POST', check],
      ['GET', deliveries],
      ['POST', replay],
    ] as const) {
      const absent = path.replace(credentialId, 'absent').replace(subscriptionId, 'absent');
      const [refused, missing] = [await as(eve, method, path), await as(eve, method, absent)];
      expect([refused.status, refused.text('code')]).toEqual([404, missing.text('code')]);
    }
    expect(await as(eve, 'GET', deliveries, { 'x-svc-userid': 'usr_ada' })).toMatchObject({ status: 403 });
  });

  test('a delivery is replayed only through its own subscription', async () => {
    const other = await service.call('POST', `/2023-03/one/webhooks?connectionId=${credentialId}`, {
      body: { scope: 'commerce/orders', address: receiver.url },
    });
    const path = paths().replay.replace(subscriptionId, other.text('subscriptionId'));
    expect(await as(ada, 'POST', path)).toMatchObject({ status: 404, body: { code: 'delivery_not_found' } });
  });

  test('the operator’s subscription is unknown to every user', async () => {
    await service.call('PUT', '/api/settings', { body: { eventsAddress: receiver.url } });
    const id = (await service.call('GET', '/api/settings')).text('eventsSubscriptionId');
    const path = paths().deliveries.replace(subscriptionId, id);
    expect((await as(ada, 'GET', path)).status).toBe(404);
  });

  test('keys, pages of other origins and pages of the other environment are refused', async () => {
    const path = paths().deliveries;
    expect((await as(service.developmentKey, 'GET', path)).status).toBe(403);
    expect((await as(ada, 'GET', path, { origin: 'https://evil.example' })).status).toBe(403);
    const production = await as(ada, 'GET', '/connect/portal?environment=production');
    expect([production.status, production.text('code')]).toEqual([403, 'forbidden']);
    expect((await as(ada, 'GET', `/webhooks/${subscriptionId}/deliveries`)).status).toBe(403);
  });
});
