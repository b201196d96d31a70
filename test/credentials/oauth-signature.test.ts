import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { isSigned } from '../../src/credentials/oauth-signature.ts';
import { Secret } from '../../src/lib/secret.ts';

/* The worked example of Shopify's documentation of the authorization code grant: secret `hush`. */
const client = { clientSecret: new Secret('hush') };
const scheme = {
  callbackSignature: { param: 'hmac', algorithm: 'sha256' as const, encoding: 'hex' as const },
};
const SIGNED =
  'code=0907a61c0c8d55e99db179b68161bc00&hmac=700e2dadb827fcc8609e9d5ce208b2e9cdaab9df07390d2cbca10d7c328fc4bf' +
  '&shop=some-shop.myshopify.com&state=0.6784241404160823&timestamp=1337178173';
const judge = (query: string) => isSigned(scheme, client, new URLSearchParams(query));

test('a signed redirect is accepted in any order of its parameters', () => {
  expect(judge(SIGNED)).toBe(true);
  expect(judge(SIGNED.split('&').toReversed().join('&'))).toBe(true);
});

test.each([
  ['another code', SIGNED.replace('code=0', 'code=1')],
  ['another shop', SIGNED.replace('some-shop', 'evil-shop')],
  ['one parameter more', `${SIGNED}&host=x`],
  ['one parameter less', SIGNED.replace('&timestamp=1337178173', '')],
  ['a parameter twice', `${SIGNED}&shop=evil-shop.myshopify.com`],
  ['two signatures', `${SIGNED}&hmac=x`],
  ['no signature', SIGNED.replace(/&hmac=\w+/, '')],
  ['an empty signature', SIGNED.replace(/hmac=\w+/, 'hmac=')],
  ['a signature in capitals', SIGNED.replace('700e2d', '700E2D')],
])('a signed redirect with %s is rejected', (_what, query) => {
  expect(judge(query)).toBe(false);
});

test('a redirect signed with another secret is rejected if the scheme signs', () => {
  expect(isSigned(scheme, { clientSecret: new Secret('hash') }, new URLSearchParams(SIGNED))).toBe(false);
  expect(isSigned({ callbackSignature: undefined }, client, new URLSearchParams('code=1'))).toBe(true);
});

test('a redirect that an empty key signed is rejected for a client without a secret', () => {
  const hmac = createHmac('sha256', '').update('code=1&state=2').digest('hex');
  const query = new URLSearchParams(`code=1&state=2&hmac=${hmac}`);
  for (const clientSecret of [undefined, new Secret('')])
    expect(isSigned(scheme, { clientSecret }, query)).toBe(false);
});
