import { expect, test } from 'vitest';
import { GatehouseError } from '../../src/lib/errors.ts';
import { markRefused } from '../../src/credentials/credential-end.ts';
import { requireConnection } from '../../src/credentials/credential-records.ts';
import { until } from '../support/until.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

interface Scene extends AsyncDisposable {
  service: Service;
  receiver: Receiver;
  userId: string;
  /** Resolves with the verified operator events after `count` arrived. */
  told(count: number): Promise<{ type: string; data: Record<string, unknown> }[]>;
  connect(apiKey?: string): Promise<string>;
}

async function start(): Promise<Scene> {
  const service = await startService();
  const receiver = await startReceiver();
  const settings = await service.call('PUT', '/api/settings', { body: { eventsAddress: receiver.url } });
  const secret = settings.text('eventsSecret');
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  return {
    service,
    receiver,
    userId,
    async told(count) {
      const received = await receiver.arrived(count);
      const inOrder = received.toSorted(
        (a, b) => Number(a.headers['x-svc-sequence']) - Number(b.headers['x-svc-sequence']),
      );
      return inOrder.map((one) => {
        verified(secret, one);
        expect(one.headers['x-svc-scope']).toBe('operator');
        expect(one.headers['x-svc-event']).toBe(JSON.parse(one.body).type);
        return JSON.parse(one.body);
      });
    },
    async connect(apiKey = 'sandbox_operator_events') {
      const made = await service.call('POST', `/users/${userId}/credentials`, {
        headers: { 'x-svc-userid': userId },
        body: { connectorId: 'sandbox', data: { apiKey } },
      });
      return made.text('credentialId');
    },
    async [Symbol.asyncDispose]() {
      await receiver[Symbol.asyncDispose]();
      await service.stop();
    },
  };
}

const REFUSED = new GatehouseError('credential_invalid', 'It was refused.');

test('the operator is notified once when a credential is made, refused or deleted', async () => {
  await using scene = await start();
  const { service, userId, told, connect } = scene;
  const credentialId = await connect();
  const facts = { credentialId, connectionId: credentialId, userId, connectorId: 'sandbox', type: 'api_key' };
  const headers = { 'x-svc-userid': userId };
  // The sandbox accepts each key with its prefix, so the test records the refusal as a call does.
  const key = { environment: 'development' as const, credentialId };
  const refuse = async () =>
    markRefused(service.context, await requireConnection(service.context.db, key), REFUSED);
  const path = `/users/${userId}/credentials/${credentialId}`;
  const state = async () => (await service.call('GET', path, { headers })).at('state');

  await refuse();
  await until(async () => (await state()) === 'needs_reconnect');
  await refuse();
  const events = await told(2);
  expect(events).toMatchObject([
    { type: 'credential.created', data: facts },
    { type: 'credential.needs_reconnect', data: { ...facts, state: 'needs_reconnect' } },
  ]);
  expect(events[1]?.data['reason']).toBeTypeOf('string');

  expect((await service.call('POST', `${path}/check`, { headers })).at('state')).toBe('active');
  await refuse();
  expect((await service.call('DELETE', path, { headers })).status).toBe(200);
  expect((await told(4)).map(({ type }) => type)).toEqual([
    'credential.created',
    'credential.needs_reconnect',
    'credential.needs_reconnect',
    'credential.deleted',
  ]);
  const said = JSON.stringify(await told(4));
  expect(said).not.toContain('sandbox_operator_events');
});

test('the operator is notified of credentials that are deleted with their user', async () => {
  await using scene = await start();
  const { service, userId, told, connect } = scene;
  const ids = [await connect('sandbox_one'), await connect('sandbox_two')];
  await service.call('DELETE', `/users/${userId}`);
  const events = await told(4);
  const deleted = events.filter(({ type }) => type === 'credential.deleted');
  expect(deleted.map(({ data }) => data['credentialId']).toSorted()).toEqual(ids.toSorted());
});

test('the operator is not notified of a credential that could not be stored', async () => {
  await using scene = await start();
  const { service, receiver, userId, connect, told } = scene;
  const refused = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'sandbox', data: { apiKey: 'not_of_the_sandbox' } },
  });
  expect(refused.text('code')).toBe('credential_invalid');
  await connect();
  expect((await told(1))[0]?.type).toBe('credential.created');
  expect(receiver.received.length).toBe(1);
});

test('a recovery sends the operator events missed while it was disabled', async () => {
  await using scene = await start();
  const { service, receiver, connect, told } = scene;
  const settings = await service.call('GET', '/api/settings');
  const path = `/webhooks/${settings.text('eventsSubscriptionId')}`;
  const since = new Date().toISOString();
  receiver.answer = (_, res) => res.writeHead(410).end();
  await connect();
  await until(async () => (await service.call('GET', path)).at('status') === 'disabled');
  const missed = await connect('sandbox_meanwhile');
  receiver.answer = (_, res) => res.writeHead(200).end();
  await service.call('POST', `${path}/enable`);
  const recover = () => service.call('POST', `${path}/recover`, { body: { since } });
  // Three events: the connection that got the 410, the disabling, and the connection after it.
  expect((await recover()).at('recovered')).toBe(3);
  const events = (await told(4)).slice(1);
  expect(events.map(({ type }) => type).toSorted()).toEqual([
    'credential.created',
    'credential.created',
    'subscription.disabled',
  ]);
  expect(events.map(({ data }) => data['credentialId'])).toContain(missed);
  expect((await recover()).at('recovered')).toBe(0);
});

test('a new events address does not inherit the pause of the old one', async () => {
  await using scene = await start();
  const { service, receiver, connect } = scene;
  receiver.answer = (_, res) => res.writeHead(429, { 'retry-after': '86400' }).end();
  await connect();
  await receiver.arrived(1);
  const held = () => service.context.db.selectFrom('subscriptions').select('hold_until').executeTakeFirst();
  await until(async () => (await held())?.hold_until !== null);
  await using other = await startReceiver();
  await service.call('PUT', '/api/settings', { body: { eventsAddress: other.url } });
  await connect('sandbox_after');
  expect((await other.arrived(1))[0]?.headers['x-svc-event']).toBe('credential.created');
});

test.each(STORE_KINDS)('the events address is set, changed and removed (%s)', async (kind) => {
  await using service = await startService({ kind });
  for (const eventsAddress of ['http://127.0.0.1:9/one', 'http://127.0.0.1:9/two', null]) {
    const put = await service.call('PUT', '/api/settings', { body: { eventsAddress } });
    expect([put.status, put.at('eventsAddress')]).toEqual([200, eventsAddress]);
  }
});
