import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Credential } from '../../../src/credentials/credential.ts';
import { sealValues } from '../../../src/credentials/sealed-values.ts';
import { isNative, keysOf } from '../../../src/sources/webhooks/hook-keys.ts';
import { startService, type Service } from '../../support/service.ts';

/* Accounts that an app's webhooks can serve: all values that the webhooks require are known. */

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

function credential(
  connectorId: string,
  type: string,
  values: Record<string, string>,
  account: Credential['account'] = { id: 'acct_1' },
): Credential {
  const row = { environment: 'development', userId: 'usr_1', credentialId: 'cred_1' } as const;
  const bound = { ...row, connectorId, type, origins: '' };
  return {
    ...bound,
    name: 'Shop',
    state: 'active',
    reason: null,
    appMessage: null,
    account,
    accountKey: null,
    isDefault: false,
    sealed: sealValues(service.context, bound, values),
    version: 1,
    scopes: null,
    expiresAt: null,
    renewAt: null,
    refreshFailures: 0,
    refreshAfter: null,
    lastUsedAt: null,
    createdAt: 0,
    updatedAt: 0,
  };
}

function connectorOf({ connectorId }: Credential) {
  const connector = service.context.catalog.connector('development', connectorId);
  if (!connector) throw new Error(`no ${connectorId}`);
  return connector;
}

const native = (one: Credential) =>
  isNative(service.context, connectorOf(one), { credential: one, scope: 'commerce/orders' });

const shop = { shop: 'my-shop' };
const parse = { serverUrl: 'https://api.example.com/parse', applicationId: 'shop', restApiKey: 'rest_0123' };

test.each([
  ['shopify', 'api_key', { ...shop, apiKey: 'shpat_0123' }, false],
  ['shopify', 'api_key', { ...shop, apiKey: 'shpat_0123', clientSecret: 'hush' }, true],
  ['parse-server', 'custom', parse, false],
  ['parse-server', 'custom', { ...parse, webhookKey: 'hook' }, false],
  ['parse-server', 'custom', { ...parse, masterKey: 'master' }, false],
  ['parse-server', 'custom', { ...parse, masterKey: 'master', webhookKey: 'hook' }, true],
  ['square', 'bearer', { token: 'EAAA' }, true],
  ['square', 'oauth2', { accessToken: 'EAAA' }, false],
  ['stripe', 'bearer', { token: 'sk_test_0123' }, true],
  ['stripe', 'oauth2', { accessToken: 'sk_test_0123' }, false],
  ['woocommerce', 'basic', { siteUrl: 'https://a.example.com', username: 'ck_1', password: 'cs_1' }, true],
  ['bigcommerce', 'api_key', { storeHash: 'abc', apiKey: 'x' }, true],
  ['medusa', 'basic', { backendUrl: 'https://a.example.com', apiKey: 'sk_1' }, false],
  ['sandbox', 'api_key', { apiKey: 'sandbox_1' }, false],
])(
  'orders of %s with a credential of the type %s have native webhooks: %o',
  async (connectorId, type, values, expected) => {
    expect(await native(credential(connectorId, type, values))).toBe(expected);
  },
);

test('an app that sends events of all accounts together requires an account id', async () => {
  expect(await native(credential('square', 'bearer', { token: 'EAAA' }, null))).toBe(false);
  expect(await native(credential('stripe', 'bearer', { token: 'sk_test_0123' }, null))).toBe(true);
});

test('webhooks that are signed with the secret of the OAuth app require one', async () => {
  const signedIn = credential('shopify', 'oauth2', { ...shop, accessToken: 'shpat_0123' });
  expect(await native(signedIn)).toBe(false);
  const put = await service.call('PUT', '/api/connectors/shopify/oauth-app', {
    body: { clientId: 'client', clientSecret: 'app_secret' },
  });
  expect(put.status).toBe(200);
  expect(await native(signedIn)).toBe(true);
  const value = await keysOf(service.context, connectorOf(signedIn), signedIn);
  expect([value('clientSecret'), value('accessToken'), value('secret')]).toEqual([
    'app_secret',
    'shpat_0123',
    undefined,
  ]);
  // Webhooks of a key of another app are not signed with this app's secret.
  expect(await native(credential('shopify', 'api_key', { ...shop, apiKey: 'shpat_0123' }))).toBe(false);
});
