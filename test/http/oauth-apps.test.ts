import { afterAll, beforeAll, expect, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';

let service: Service;
const SECRET = 'gs_canary_of_the_app';
const PATH = '/api/connectors/github/oauth-app';

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('an OAuth app is stored, read and deleted, and its secret never comes back', async () => {
  expect((await service.call('GET', PATH)).text('code')).toBe('oauth_app_not_found');
  const body = { clientId: 'Iv1.abc', clientSecret: SECRET, scopes: ['repo'] };
  const put = await service.call('PUT', PATH, { body });
  expect(put).toMatchObject({ status: 200 });
  expect(put.body).toMatchObject({
    connectorId: 'github',
    clientId: 'Iv1.abc',
    hasSecret: true,
    scopes: ['repo'],
    redirectUri: `${service.url}/oauth/callback/github`,
  });
  const again = await service.call('PUT', PATH, { body: { clientId: 'Iv1.def', clientSecret: SECRET } });
  expect(again.body).toMatchObject({ clientId: 'Iv1.def', scopes: null, createdAt: put.text('createdAt') });
  expect((await service.call('GET', PATH)).body).toEqual(again.body);
  const rows = await service.context.db.selectFrom('oauth_apps').selectAll().execute();
  expect(JSON.stringify([put.body, again.body, rows, service.logged])).not.toContain(SECRET);

  expect((await service.call('GET', PATH, { bearer: service.productionKey })).status).toBe(404);
  expect((await service.call('DELETE', PATH)).status).toBe(200);
  expect((await service.call('DELETE', PATH)).text('code')).toBe('oauth_app_not_found');
});

test('the sandbox has an OAuth app from the start, without a secret', async () => {
  const found = await service.call('GET', '/api/connectors/sandbox/oauth-app');
  expect(found.body).toMatchObject({ clientId: 'gatehouse-sandbox', hasSecret: false });
  const production = { bearer: service.productionKey };
  expect((await service.call('GET', '/api/connectors/sandbox/oauth-app', production)).status).toBe(404);
});

test.each([
  [PATH, { clientId: 'x' }, 'clientSecret'],
  [PATH, { clientId: ' ', clientSecret: 'x' }, 'clientId'],
  [PATH, { clientId: 'x', clientSecret: 'a\nb' }, 'clientSecret'],
  [PATH, { clientId: 'x', clientSecret: 'x', scopes: ['a b'] }, 'scopes.0'],
  [PATH, { clientId: 'x', clientSecret: 'x', secret: 'x' }, 'secret'],
  ['/api/connectors/medusa/oauth-app', { clientId: 'x', clientSecret: 'x' }, 'connectorId'],
])('an OAuth app of %s with %j is 400 and names %s', async (path, body, field) => {
  const answer = await service.call('PUT', path, { body });
  expect(answer.status).toBe(400);
  expect(answer.text('details.faults.0.field')).toBe(field);
});

test('an unknown connector is 404', async () => {
  const body = { clientId: 'x', clientSecret: 'x' };
  const answer = await service.call('PUT', '/api/connectors/nothing/oauth-app', { body });
  expect(answer.text('code')).toBe('connector_not_found');
});
