import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountChange } from '../../src/credentials/account-change.ts';
import { sealValues } from '../../src/credentials/sealed-values.ts';
import { startService, type Service } from '../support/service.ts';

/** Tests of whether changed values of a shipped connector lead to another account. */

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const woo = { siteUrl: 'https://a.example.com', username: 'ck_1', password: 'cs_1' };
const parse = { serverUrl: 'https://api.example.com/parse', applicationId: 'shop', restApiKey: 'rest_1' };
const shopify = { shop: 'my-shop', apiKey: 'shpat_1' };

test.each([
  ['woocommerce', woo, { ...woo, username: 'ck_2', password: 'cs_2' }, null, 'none'],
  ['woocommerce', woo, { ...woo, siteUrl: 'https://b.example.com' }, null, 'other'],
  ['parse-server', parse, { ...parse, restApiKey: 'rest_2', masterKey: 'master' }, null, 'none'],
  ['parse-server', parse, { ...parse, orderClass: 'Order' }, null, 'none'],
  ['parse-server', parse, { ...parse, orderClass: 'Purchase' }, null, 'other'],
  ['parse-server', parse, { ...parse, applicationId: 'blog' }, null, 'other'],
  ['shopify', shopify, { ...shopify, shop: 'renamed' }, '1', 'moved'],
  ['shopify', shopify, { ...shopify, apiKey: 'shpat_2' }, '1', 'none'],
])(
  'a change of %s from %o to %o, account %s, is judged: %s',
  (connectorId, before, now, account, expected) => {
    const from = credential(connectorId, before, account);
    const to = credential(connectorId, now, account);
    expect(accountChange(service.context, from, to)).toBe(expected);
  },
);

test('values that no longer open are not compared', () => {
  const lost = { ...credential('woocommerce', woo, null), sealed: 'v1.x.y.z' };
  expect(accountChange(service.context, lost, credential('woocommerce', woo, null))).toBe('none');
});

function credential(connectorId: string, values: Record<string, string>, accountId: string | null) {
  const row = { environment: 'development', userId: 'usr_1', credentialId: 'cred_1' } as const;
  const bound = { ...row, connectorId, type: 'api_key', origins: '' };
  const account = accountId === null ? null : { id: accountId };
  return { ...bound, account, sealed: sealValues(service.context, bound, values) };
}
