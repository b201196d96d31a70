import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/http/server/route.ts';
import { restRoutes } from '../../src/rest.ts';
import { createApiKey } from '../../src/identity/api-keys.ts';
import { isScope, SCOPES } from '../../src/identity/scopes.ts';
import { eventsCatalog } from '../support/events.ts';
import { until } from '../support/until.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Answer, type Service } from '../support/service.ts';

/*
 * Every route with every caller that has no access. The routes come from the code, so a new one is covered when it is added, or fails
 * here until its body is given below.
 */
const routes: Route[] = restRoutes({ publicUrl: 'http://127.0.0.1:3000' });
const named = (operationId: string): [string, Route][] =>
  routes.filter((route) => route.spec.operationId === operationId).map((route) => [operationId, route]);
const takesKeys = (route: Route): boolean => !/^(none|jwt)/.test(route.spec.auth);
const label = (route: Route): [string, Route] => [`${route.method} ${route.path}`, route];

const WORKFLOW = { trigger: { type: 'manual' }, steps: [{ stepId: 'one', map: '1' }] };

/** A valid body for each operation, so that the caller is rejected and not the body. */
const BODIES: Record<string, unknown> = {
  createServer: { name: 'isolation' },
  updateServer: { description: 'changed' },
  rotateServerToken: {},
  simulateCall: { connectorId: 'sandbox', actionId: 'list_customers' },
  simulatePast: { restrictions: {} },
  callServerTool: { name: 'list_connectors_svc' },
  approveDefinitions: { tools: [{ connectorId: 'sandbox', actionId: 'absent', hash: null }] },
  createCustomConnector: { definition: {} },
  putCustomConnector: { definition: {} },
  createUser: { username: 'somebody' },
  createUnifiedUser: { username: 'somebody else' },
  updateUser: { metadata: {} },
  putSettings: {},
  createKey: { name: 'isolation', scopes: ['servers:read'] },
  putFieldMapping: { scope: 'commerce/orders', fields: {} },
  createConnectSession: {},
  createModalSession: {},
  markAccount: { default: true },
  submitConnectForm: { connectorId: 'sandbox', type: 'api_key', data: {} },
  authorizeConnect: { connectorId: 'sandbox', type: 'oauth2' },
  createCredential: { connectorId: 'sandbox', data: { apiKey: 'sandbox_isolation' } },
  updateCredential: { name: 'changed' },
  putOAuthApp: { clientId: 'isolation' },
  executeAction: { input: {} },
  executeBatch: { calls: [{ connectorId: 'sandbox', actionId: 'list_products' }] },
  createSubscription: { address: 'http://127.0.0.1:9/hook', scope: 'commerce/orders' },
  updateSubscription: { ordered: true },
  createWorkflow: { name: 'isolation', definition: WORKFLOW },
  addWorkflowVersion: { definition: WORKFLOW },
  tryWorkflowVersion: {},
  installWorkflow: {},
  updateInstallation: { enabled: true },
  upgradeAllInstallations: {},
  runWorkflow: {},
  createWorkflowFromStarter: {},
  recoverDeliveries: { since: '2026-01-01T00:00:00Z' },
};

let service: Service;
let userId: string;
let serverId: string;
let credentialId: string;
let connectionId: string;
let subscriptionId: string;
let workflowId: string;
let runId: string;
let keyId: string;

beforeAll(async () => {
  service = await startService({
    env: { GATEHOUSE_TRUST_PROXY: '127.0.0.0/8' },
    catalogFolder: eventsCatalog(),
  });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  serverId = (
    await service.call('POST', '/api/servers', {
      body: { name: 'ada server' },
      headers: { 'x-svc-userid': userId },
    })
  ).text('serverId');
  credentialId = (
    await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: BODIES['createCredential'],
    })
  ).text('credentialId');
  connectionId = (
    await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'shop', data: { token: 'shop_0123456789' } },
    })
  ).text('credentialId');
  subscriptionId = await newSubscription('http://127.0.0.1:9/kept');
  keyId = await newKey();
  workflowId = await newWorkflow();
  await service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body: {} });
  const run = await service.call('POST', `/workflows/${workflowId}/run?userId=${userId}`);
  runId = run.text('runId');
});
afterAll(() => service.stop());

describe('without a key', () => {
  test.each(routes.filter((route) => route.spec.auth !== 'none').map(label))(
    'a request without a key to %s is 401',
    async (_, route) => {
      const answer = await request(route, { bearer: null, from: '198.51.100.' + routes.indexOf(route) });
      expect(answer.status).toBe(401);
      expect(answer.text('code')).toBe('unauthorized');
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    },
  );
});

describe('with a key that lacks the scope', () => {
  const scoped = routes.filter((route) => route.spec.scope !== undefined && takesKeys(route));
  test.each(scoped.map(label))(
    'a key that lacks the scope gets a 403 from %s that names it',
    async (_, route) => {
      const scopes = Object.keys(SCOPES)
        .filter(isScope)
        .filter((scope) => scope !== route.spec.scope);
      const bearer = await createApiKey(service.context, { environment: 'development', scopes });
      const answer = await request(route, { bearer });
      expect(answer.status).toBe(403);
      expect(answer.at('details.scope')).toBe(route.spec.scope);
    },
  );

  test('every route that is not open to all names a scope', () => {
    const without = routes
      .filter((route) => route.spec.auth !== 'none' && !route.spec.scope)
      .map((route) => route.path);
    expect(without).toEqual([]);
  });
});

describe('with the JWT of a user', () => {
  test.each(routes.filter((route) => route.spec.auth === 'api_key').map(label))(
    'a JWT of a user is refused by %s',
    async (_, route) => {
      const bearer = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
      const answer = await request(route, { bearer });
      expect(answer.status).toBe(403);
      expect(answer.text('code')).toBe('forbidden');
    },
  );
});

/** Owned things: their path parameter, and ids that other callers try. */
const OWNED = [
  'serverId',
  'userId',
  'credentialId',
  'subscriptionId',
  'deliveryId',
  'workflowId',
  'runId',
  'keyId',
];
describe.each(OWNED)('a %s that is not the caller’s', (parameter) => {
  const owned = routes.filter((route) => takesKeys(route) && lastParameter(route) === parameter);

  test.each(owned.map(label))('%s answers as for a missing target', async (_, route) => {
    const unknown = await request(route, { id: 'absent' });
    // Optional headers are omitted. Otherwise the user of the other environment would be what is not found.
    const stranger = {
      bearer: service.productionKey,
      ...(route.spec.user === 'existing' ? { user: null } : {}),
    };
    const otherEnvironment = await request(route, stranger);
    const nowhere = await request(route, { ...stranger, nowhere: true });
    const deleted = await request(route, { id: await deletedId(parameter) });
    expect(unknown.status).toBe(404);
    expect(otherEnvironment.status).toBe(404);
    expect(neutral(otherEnvironment)).toEqual(neutral(nowhere));
    expect(neutral(deleted)).toEqual(neutral(unknown));
  });
});

test('an account of another user is 404 for a JWT, as an absent one', async () => {
  const other = (await service.call('POST', '/users', { body: { username: 'trent' } })).text('userId');
  const bearer = (await service.call('GET', `/2023-12/user/${other}/token`)).text('token');
  for (const [, route] of [...named('markAccount'), ...named('disconnectAccount')]) {
    const absent = await request(route, { bearer, user: null, id: 'absent' });
    expect(absent.status).toBe(404);
    expect(neutral(await request(route, { bearer, user: null }))).toEqual(neutral(absent));
  }
});

test('a server of another owner is 404 for x-svc-userid and for a JWT', async () => {
  const other = (await service.call('POST', '/users', { body: { username: 'bob' } })).text('userId');
  const jwt = (await service.call('GET', `/2023-12/user/${other}/token`)).text('token');
  for (const [, route] of [
    ...named('getServer'),
    ...named('updateServer'),
    ...named('deleteServer'),
    ...named('rotateServerToken'),
    ...named('simulateCall'),
  ]) {
    const absent = await request(route, { id: 'absent' });
    expect(neutral(await request(route, { user: other }))).toEqual(neutral(absent));
    expect(neutral(await request(route, { bearer: jwt, user: null }))).toEqual(neutral(absent));
  }
});

test('a subscription needs a connection of the caller’s environment and user', async () => {
  const body = BODIES['createSubscription'];
  const path = (id: string) => `/2023-03/one/webhooks?connectionId=${id}`;
  const absent = await service.call('POST', path('absent'), { body });
  expect(absent.status).toBe(404);
  const foreign = await service.call('POST', path(connectionId), { body, bearer: service.productionKey });
  expect(neutral(foreign)).toEqual(neutral(absent));
  const other = (await service.call('POST', '/users', { body: { username: 'dora' } })).text('userId');
  const headers = { 'x-svc-userid': other };
  expect(neutral(await service.call('POST', path(connectionId), { body, headers }))).toEqual(neutral(absent));
  expect(neutral(await service.call('GET', path(connectionId), { headers }))).toEqual(neutral(absent));
});

describe('a subscription, with x-svc-userid', () => {
  const ofSubscription = routes.filter(
    (route) => takesKeys(route) && route.path.includes('{subscriptionId}'),
  );
  let receiver: Receiver;
  let other: string;
  beforeAll(async () => {
    receiver = await startReceiver();
    other = (await service.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
  });
  afterAll(() => receiver[Symbol.asyncDispose]());

  /** Returns a subscription with finished deliveries. */
  const told = async () => {
    const ids = { subscriptionId: await newSubscription(`${receiver.url}/${Math.random()}`), deliveryId: '' };
    ids.deliveryId = (await service.call('POST', `/webhooks/${ids.subscriptionId}/test`)).text('deliveryId');
    await until(async () => (await kept(ids)).deliveries[0]?.status === 'succeeded');
    return ids;
  };
  const kept = async ({ subscriptionId: id }: { subscriptionId: string }) => {
    const { db } = service.context;
    const of = (table: 'subscriptions' | 'deliveries') =>
      db.selectFrom(table).selectAll().where('subscription_id', '=', id).execute();
    return { subscription: await of('subscriptions'), deliveries: await of('deliveries') };
  };
  const as = (user: string | undefined, route: Route, ids: Record<string, string>) =>
    service.call(route.method, pathOf(route, ids), {
      ...(user === undefined ? {} : { headers: { 'x-svc-userid': user } }),
      ...(route.spec.operationId in BODIES ? { body: BODIES[route.spec.operationId] } : {}),
    });

  test.each(ofSubscription.map(label))('%s is only for its own user', async (_, route) => {
    const ids = await told();
    const before = await kept(ids);
    const absent = await as(other, route, { ...ids, subscriptionId: 'absent' });
    expect([absent.status, absent.text('code')]).toEqual([404, 'subscription_not_found']);
    expect(neutral(await as(other, route, ids))).toEqual(neutral(absent));
    const nobody = await as('usr_nobody', route, ids);
    expect([nobody.status, nobody.text('code')]).toEqual([404, 'user_not_found']);
    expect(await kept(ids)).toEqual(before);
    expect((await as(userId, route, ids)).status).toBe(route.spec.success.status);
  });

  test('the operator’s subscription belongs to no user', async () => {
    await service.call('PUT', '/api/settings', { body: { eventsAddress: receiver.url } });
    const settings = await service.call('GET', '/api/settings');
    const ids = { subscriptionId: settings.text('eventsSubscriptionId') };
    for (const [, route] of named('getSubscription')) {
      const absent = await as(userId, route, { subscriptionId: 'absent' });
      expect(neutral(await as(userId, route, ids))).toEqual(neutral(absent));
      expect((await as(undefined, route, ids)).status).toBe(200);
    }
    await service.call('PUT', '/api/settings', { body: { eventsAddress: null } });
  });
});

test('unified records are read only through a connection of the user', async () => {
  const other = (await service.call('POST', '/users', { body: { username: 'mallory' } })).text('userId');
  const read = (path: string, connection: string, user?: string) =>
    service.call('GET', `/2023-03/one/commerce/${path}?connectionId=${connection}`, {
      headers: user === undefined ? {} : { 'x-svc-userid': user },
    });
  const listed = await read('customers', credentialId, userId);
  const paths = ['customers', `customers/${listed.text('data.0.id')}`];
  for (const path of paths) {
    const absent = await read(path, 'absent', other);
    expect([absent.status, absent.text('code')]).toEqual([404, 'credential_not_found']);
    expect(neutral(await read(path, credentialId, other))).toEqual(neutral(absent));
    const nobody = await read(path, credentialId, 'usr_nobody');
    expect([nobody.status, nobody.text('code')]).toEqual([404, 'user_not_found']);
    expect((await read(path, credentialId, userId)).status).toBe(200);
    expect((await read(path, credentialId)).status).toBe(200);
  }
});

test('a credential is 404 through another user, and 403 when header and path disagree', async () => {
  const other = (await service.call('POST', '/users', { body: { username: 'carol' } })).text('userId');
  for (const [, route] of [
    ...named('getCredential'),
    ...named('updateCredential'),
    ...named('deleteCredential'),
    ...named('checkCredential'),
  ]) {
    const path = route.path.replace('{userId}', other).replace('{credentialId}', credentialId);
    const options =
      BODIES[route.spec.operationId] === undefined ? {} : { body: BODIES[route.spec.operationId] };
    const through = await service.call(route.method, path, {
      ...options,
      headers: { 'x-svc-userid': other },
    });
    const absent = await service.call(route.method, path.replace(credentialId, 'absent'), {
      ...options,
      headers: { 'x-svc-userid': other },
    });
    expect(through.status).toBe(404);
    expect(neutral(through)).toEqual(neutral(absent));
    const crossed = await service.call(route.method, path, {
      ...options,
      headers: { 'x-svc-userid': userId },
    });
    expect(crossed.status).toBe(403);
  }
});

interface RequestOptions {
  bearer?: string | null;
  id?: string;
  user?: string | null;
  /** The ids in the path do not exist. */
  nowhere?: boolean;
  /** The client’s address from a trusted proxy. Too many 401s of one address would become 429. */
  from?: string;
}

async function request(
  route: Route,
  { bearer, id, user = userId, nowhere, from }: RequestOptions,
): Promise<Answer> {
  const ids: Record<string, string> = {
    serverId,
    userId,
    credentialId,
    subscriptionId,
    workflowId,
    runId,
    keyId,
    version: '1',
    a: '1',
    b: '1',
    starterId: 'call-ticket',
    connectorId: 'sandbox',
    actionId: 'list_customers',
  };
  const last = lastParameter(route);
  if (id !== undefined && last) ids[last] = id;
  if (nowhere) for (const name of OWNED) ids[name] = 'absent';
  const path = pathOf(route, ids);
  const body = BODIES[route.spec.operationId];
  // The header equals the user in the path, so that another check rejects the request.
  const header =
    user === null ? null : nowhere ? 'absent' : last === 'userId' && id !== undefined ? id : user;
  const query = takesUserId(route) ? `?userId=${nowhere ? 'absent' : userId}` : '';
  return service.call(route.method, path + query, {
    ...(bearer === undefined ? {} : { bearer }),
    ...(body === undefined ? {} : { body }),
    headers: {
      ...(route.spec.user !== undefined && header !== null ? { 'x-svc-userid': header } : {}),
      ...(from === undefined ? {} : { 'x-forwarded-for': from }),
    },
  });
}

function pathOf(route: Route, ids: Record<string, string>): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none');
}

function lastParameter(route: Route): string | undefined {
  return [...route.path.matchAll(/\{(\w+)\}/g)].at(-1)?.[1];
}

/** Routes of workflows name the user in their query. */
function takesUserId({ spec }: Route): boolean {
  return spec.query instanceof z.ZodObject && 'userId' in spec.query.shape && spec.tag === 'Workflows';
}

async function newWorkflow(): Promise<string> {
  const body = { name: `isolation ${Math.random()}`, definition: WORKFLOW };
  return (await service.call('POST', '/workflows', { body })).text('workflowId');
}

async function newSubscription(address: string): Promise<string> {
  const made = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address, scope: 'commerce/orders' },
  });
  return made.text('subscriptionId');
}

async function newKey(): Promise<string> {
  const body = { name: `isolation ${Math.random()}`, scopes: ['servers:read'] };
  return (await service.call('POST', '/api/keys', { body })).text('keyId');
}

async function deletedId(parameter: string): Promise<string> {
  if (parameter === 'serverId') {
    const id = (
      await service.call('POST', '/api/servers', {
        body: { name: `gone ${Math.random()}` },
        headers: { 'x-svc-userid': userId },
      })
    ).text('serverId');
    await service.call('DELETE', `/api/servers/${id}`);
    return id;
  }
  if (parameter === 'userId') {
    const id = (await service.call('POST', '/users', { body: { username: `gone ${Math.random()}` } })).text(
      'userId',
    );
    await service.call('DELETE', `/users/${id}`);
    return id;
  }
  if (parameter === 'subscriptionId') {
    const id = await newSubscription(`http://127.0.0.1:9/${Math.random()}`);
    await service.call('DELETE', `/webhooks/${id}`);
    return id;
  }
  if (parameter === 'keyId') {
    const id = await newKey();
    await service.call('DELETE', `/api/keys/${id}`);
    return id;
  }
  if (parameter === 'workflowId') {
    const id = await newWorkflow();
    await service.call('DELETE', `/workflows/${id}`);
    return id;
  }
  if (parameter === 'runId') return `run_${'0'.repeat(22)}`;
  if (parameter === 'deliveryId') return `msg_${'0'.repeat(22)}`;
  const made = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    // Uses a separate account, because the shared one would be renewed and deleted here.
    body: { connectorId: 'sandbox', data: { apiKey: `sandbox_${Math.random()}` } },
  });
  const id = made.text('credentialId');
  await service.call('DELETE', `/users/${userId}/credentials/${id}`, { headers: { 'x-svc-userid': userId } });
  return id;
}

/** Returns status and body without the request id and the id that was asked for. */
function neutral(answer: Answer): unknown {
  const text = JSON.stringify(answer.body).replaceAll(
    /"[^"]*(srv|usr|cred|sub|msg|wf|run|key)_\w+[^"]*"|\\"absent\\"|\\"(srv|usr|cred|sub|msg|wf|run|key)_\w+\\"/g,
    (found) => found.replaceAll(/\\"[^\\]*\\"/g, '«id»'),
  );
  return {
    status: answer.status,
    body: text.replace(/"requestId":"[^"]*"/, '').replaceAll('\\"absent\\"', '«id»'),
  };
}
