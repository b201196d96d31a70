import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/http/server/route.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { rpc } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/** Ids and texts that a database cannot store are rejected or not found, on both databases. */
describe.each(STORE_KINDS)('with %s', (kind) => {
  let service: Service;
  let userId: string;
  let jwt: string;

  beforeAll(async () => {
    service = await startService({ kind });
    userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
    jwt = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
  });
  afterAll(async () => {
    await service.stop();
  });

  const routes = ROUTES.filter(({ path }) => path.includes('{'));
  test.each(routes.map((route): [string, Route] => [`${route.method} ${route.path}`, route]))(
    '%s takes no U+0000 for an id',
    async (_, { method, path, spec }) => {
      const bearer = spec.auth.startsWith('jwt') ? jwt : service.developmentKey;
      for (const id of ['%00', `${userId}%00`, 'a%00b']) {
        const answer = await service.call(method, path.replaceAll(/\{\w+\}/g, id), {
          bearer,
          ...(method === 'GET' || method === 'DELETE' ? {} : { body: BODIES[spec.operationId] ?? {} }),
          headers: spec.user === undefined ? {} : { 'x-svc-userid': userId },
        });
        // The return from a consent always answers with a page.
        const fine = spec.operationId === 'oauthCallback' ? [200] : [400, 403, 404];
        expect(fine).toContain(answer.status);
      }
    },
  );

  test('U+0000 in a query, a body or an MCP address is not an internal error', async () => {
    for (const path of [
      '/users?username=a%00b',
      '/connectors?search=%00',
      '/connectors?category=%00',
      '/api/executions?userId=%00',
      '/connectors/sandbox/icon.svg?x=%00',
    ]) {
      expect((await service.call('GET', path)).status).toBeLessThan(500);
    }
    const made = await service.call('POST', '/users', { body: { username: 'a\0b', metadata: { x: '\0' } } });
    expect(made.status).toBeLessThan(500);
    const link = await service.call('POST', `/users/${userId}/connect-sessions`, { body: { state: '\0' } });
    expect(link.status).toBeLessThan(500);
    for (const path of ['/mcp/%00', '/mcp/%00/%00', '/mcp/srv_a/gh_mcp_%00']) {
      const asked = await rpc(service.url + path, 'tools/list', undefined, {
        headers: { authorization: `Bearer ${service.developmentKey}`, 'x-svc-userid': userId },
      });
      expect(asked.status).toBeLessThan(500);
    }
  });

  test('characters that a store rejects do not stop the rest from being stored', async () => {
    const { db } = service.context;
    await db.updateTable('users').set({ metadata: '"a\0b"' }).where('user_id', '=', userId).execute();
    const row = await db
      .selectFrom('users')
      .select('metadata')
      .where('user_id', '=', userId)
      .executeTakeFirst();
    expect(row?.metadata).toBe('"a\ufffdb"');
    await db.updateTable('users').set({ metadata: '{}' }).where('user_id', '=', userId).execute();
  });
});

/** Routes that would reject an empty body for its own sake. */
const BODIES: Record<string, unknown> = {
  createCredential: { connectorId: 'sandbox', data: { apiKey: 'sandbox_x' } },
  executeAction: { input: {} },
  submitConnectForm: { connectorId: 'sandbox', type: 'api_key', data: {} },
  authorizeConnect: { connectorId: 'sandbox', type: 'oauth2' },
  putOAuthApp: { clientId: 'x', clientSecret: 'x' },
  putFieldMapping: { scope: 'commerce/orders', fields: {} },
  recoverDeliveries: { since: '2026-01-01T00:00:00Z' },
};
