import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MINUTE } from '../../src/lib/clock.ts';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { denyAtOidc } from '../support/oidc.ts';
import { startService } from '../support/service.ts';
import { APP, startSignIn, type SignIn } from '../support/sign-in.ts';

/** Sign-in to an app over HTTP: the outcomes with and without an account. */
let bench: SignIn;

beforeAll(async () => {
  bench = await startSignIn();
});
afterAll(() => bench[Symbol.asyncDispose]());
beforeEach(() => bench.next());

describe('at the sandbox', () => {
  test('a consent creates a working credential with its account', async () => {
    const { back } = await bench.connect('sandbox');
    expect(Object.fromEntries(back)).toEqual({
      success: 'true',
      connectionId: back.get('credentialId'),
      credentialId: expect.stringMatching(/^cred_/),
      state: 'from the app',
    });
    const credential = await bench.credentialOf(back);
    expect(credential.body).toMatchObject({
      type: 'oauth2',
      state: 'active',
      scopes: ['read', 'write'],
      account: { id: expect.stringMatching(/^acc_/), name: 'Demo shop' },
    });
    expect(Date.parse(credential.text('expiresAt'))).toBe(bench.clock.now() + 5 * MINUTE);
    const listed = await bench.execute('sandbox', 'list_customers', { limit: 2 });
    expect(listed.at('data.1.id')).toBe('cus_1002');
  });

  test('the same account keeps its credential, and another account makes a second', async () => {
    const first = await bench.connect('sandbox');
    const before = await bench.valuesOf(first.back);
    const again = await bench.connect('sandbox');
    expect(again.back.get('credentialId')).toBe(first.back.get('credentialId'));
    expect((await bench.valuesOf(again.back))['accessToken']).not.toBe(before['accessToken']);
    expect((await bench.execute('sandbox', 'list_customers', { limit: 1 })).status).toBe(200);
    // The list is ordered by the time of creation.
    bench.clock.advance(1);
    const other = await bench.connect('sandbox', { account: 'Second shop' });
    expect(other.back.get('credentialId')).not.toBe(first.back.get('credentialId'));
    expect(await bench.credentials()).toMatchObject([
      { name: 'Demo shop', account: { name: 'Demo shop' } },
      { name: 'Second shop', account: { name: 'Second shop' } },
    ]);
  });

  test('a refusal leads back with access_denied, and nothing is stored', async () => {
    const { authorizationUrl, sessionId } = await bench.begin('sandbox');
    const page = await bench.browser.open(authorizationUrl);
    const end = await bench.browser.submit(page, { decision: 'deny' }, { stopAt: APP });
    expect(Object.fromEntries(new URL(end.url).searchParams)).toEqual({
      success: 'false',
      error: 'access_denied',
      state: 'from the app',
    });
    expect(await bench.messageOf(sessionId)).toBe(
      'You did not allow access to Sandbox. Nothing was connected.',
    );
    expect(await bench.credentials()).toEqual([]);
  });

  test('a repeated callback shows the same result and creates nothing', async () => {
    const { callback } = await bench.consented();
    const first = await bench.browser.open(callback, { stopAt: APP });
    expect(first.url).toContain('success=true');
    expect((await bench.browser.open(callback, { stopAt: APP })).url).toBe(first.url);
    expect(await bench.credentials()).toHaveLength(1);
  });

  test('a consent after more than ten minutes is rejected', async () => {
    const { callback } = await bench.consented();
    bench.clock.advance(10 * MINUTE);
    expect(await endOf(callback)).toBe('oauth_state_invalid');
    expect(await bench.credentials()).toEqual([]);
  });

  test('the callback works only in the browser that began', async () => {
    const { callback } = await bench.consented();
    expect(await endOf(callback, createBrowser())).toBe('connect_session_taken');
    const right = await bench.browser.open(callback, { stopAt: APP });
    expect(right.url).toContain('success=true');
  });

  test('the newer consent of two tabs counts', async () => {
    const older = await bench.consented();
    const page = await bench.browser.open(await bench.authorize(older.sessionId, 'sandbox'));
    expect(await endOf(older.callback)).toBe('oauth_state_invalid');
    const newer = await bench.browser.submit(page, { decision: 'allow' }, { stopAt: APP });
    expect(newer.url).toContain('success=true');
    expect(await bench.credentials()).toHaveLength(1);
  });

  test('a foreign state, an altered state and a foreign iss make no account', async () => {
    const { callback } = await bench.consented();
    expect(await endOf(callback.replace('/sandbox?', '/foreign?'))).toBe('oauth_state_invalid');
    const altered = new URL(callback);
    altered.searchParams.set('state', `${altered.searchParams.get('state')}x`);
    expect(await endOf(altered.href)).toBe('oauth_state_invalid');
    const mixed = new URL(callback);
    mixed.searchParams.set('iss', bench.oidc.issuer);
    const end = await bench.browser.open(mixed.href, { stopAt: APP });
    expect(new URL(end.url).searchParams.get('success')).toBe('false');
    expect(await bench.credentials()).toEqual([]);
  });

  test('a redirect without the iss that its server always sends makes no account', async () => {
    const { callback } = await bench.consented();
    const bare = new URL(callback);
    bare.searchParams.delete('iss');
    const end = await bench.browser.open(bare.href, { stopAt: APP });
    expect(new URL(end.url).searchParams.get('success')).toBe('false');
    expect(await bench.credentials()).toEqual([]);
  });

  test('a used code is rejected with a sentence', async () => {
    const used = await bench.consented();
    await bench.browser.open(used.callback, { stopAt: APP });
    const other = await bench.consented();
    const replayed = new URL(other.callback);
    replayed.searchParams.set('code', new URL(used.callback).searchParams.get('code') ?? '');
    const end = await bench.browser.open(replayed.href, { stopAt: APP });
    expect(new URL(end.url).searchParams.get('error')).toBe('provider_refused');
    expect(await bench.messageOf(other.sessionId)).toMatch(
      /^Sandbox could not sign you in \(invalid_grant\)\. Try again/,
    );
    expect(await bench.credentials()).toHaveLength(1);
  });

  test('a refusal of another server is ignored, because its iss differs', async () => {
    const { callback, sessionId } = await bench.consented();
    const refused = new URL(callback);
    refused.searchParams.delete('code');
    refused.searchParams.set('error', 'access_denied');
    refused.searchParams.set('iss', bench.oidc.issuer);
    const end = await bench.browser.open(refused.href, { stopAt: APP });
    expect(new URL(end.url).searchParams.get('error')).toBe('provider_failed');
    expect(await bench.messageOf(sessionId)).toMatch(/^Sandbox answered in a way that could not be used/);
  });

  test('a user who is deleted during the consent gets no account', async () => {
    const { callback } = await bench.consented();
    await bench.call('DELETE', `/users/${bench.userId}`);
    expect(await endOf(callback)).toBe('oauth_state_invalid');
  });

  test('a public address with a path works for pages and callbacks', async () => {
    const publicUrl = 'https://gatehouse.example.com/base';
    await using elsewhere = await startService({ env: { GATEHOUSE_PUBLIC_URL: publicUrl } });
    const root = await fetch(elsewhere.url, { redirect: 'manual' });
    expect(root.headers.get('location')).toBe(`${publicUrl}/docs`);
    const userId = (await elsewhere.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
    const made = await elsewhere.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'sandbox', type: 'oauth2' },
    });
    const { browser } = bench;
    const here = (url: string) => url.replace(publicUrl, elsewhere.url);
    const opened = await browser.request(`${here(made.text('authorizationUrl'))}/open`, {});
    const sessionId = String(valueAt(opened.body, 'sessionId'));
    const address = await bench.authorize(sessionId, 'sandbox', elsewhere.url);
    expect(address.startsWith(`${publicUrl}/sandbox/oauth/authorize?`)).toBe(true);
    const page = await browser.open(here(address));
    const end = await browser.submit(page, { decision: 'allow' }, { stopAt: publicUrl });
    const back = await browser.open(here(end.url), { stay: true });
    expect(back.headers.get('location')).toBe(`${publicUrl}/connect/ended?session=${sessionId}`);
  });
});

describe('at an external server', () => {
  test('a consent creates a credential of the account that the probe returns', async () => {
    const { back } = await bench.connect('foreign');
    expect((await bench.credentialOf(back)).body).toMatchObject({
      state: 'active',
      scopes: ['openid', 'offline_access', 'profile'],
      account: { id: 'alice', name: 'alice at the foreign app' },
    });
    expect((await bench.execute('foreign', 'get_me')).at('data.sub')).toBe('alice');
  });

  test('a refusal leads back with access_denied', async () => {
    const { authorizationUrl, sessionId } = await bench.begin('foreign');
    const end = await denyAtOidc(bench.browser, authorizationUrl, { stopAt: APP });
    expect(new URL(end.url).searchParams.get('error')).toBe('access_denied');
    expect(await bench.messageOf(sessionId)).toContain('did not allow');
  });

  test('a wrong client secret is a sentence for the person and a code in the log', async () => {
    await bench.putOAuthApp('wrong-secret-of-the-app');
    const { back, sessionId } = await bench.connect('foreign');
    expect(back.get('error')).toBe('provider_refused');
    expect(await bench.messageOf(sessionId)).toMatch(/^Foreign could not sign you in \(invalid_client\)\. /);
    expect(bench.service.logged.some((line) => line.includes('"error":"invalid_client"'))).toBe(true);
    expect(await bench.credentials()).toEqual([]);
  });

  test('a sign-in without an OAuth app has no redirect', async () => {
    const { sessionId } = await bench.open('foreign');
    await bench.service.call('DELETE', '/api/connectors/foreign/oauth-app');
    const asked = await bench.browser.request(
      `${bench.service.url}/connect/sessions/${sessionId}/authorize`,
      { connectorId: 'foreign', type: 'oauth2', data: {} },
    );
    expect([asked.status, valueAt(asked.body, 'code')]).toEqual([409, 'oauth_app_missing']);
  });

  test.each([
    ['a page of HTML', { status: 200, type: 'text/html', body: '<h1>Maintenance</h1>' }],
    ['HTML and 500', { status: 500, type: 'text/html', body: '<h1>Oops</h1>' }],
    ['503', { status: 503, body: '{"error":"temporarily_unavailable"}' }],
    ['a token answer without a token', { status: 200, body: '{"token_type":"Bearer"}' }],
    ['JSON that is cut off', { status: 200, body: '{"access_token":"' }],
    ['nothing', 'drop'],
  ] as const)('a token endpoint that answers %s ends the sign-in in a sentence', async (_what, trouble) => {
    bench.oidc.trouble = (request) => (request === 'POST /token' ? trouble : undefined);
    const { back, sessionId } = await bench.connect('foreign');
    expect(back.get('error')).toBe('provider_failed');
    expect(await bench.messageOf(sessionId)).toMatch(/^Foreign .*Try again/);
    expect(await bench.credentials()).toEqual([]);
  });

  test('a token endpoint without an answer ends the sign-in after its timeout', async () => {
    bench.oidc.trouble = (request) => (request === 'POST /token' ? 'hang' : undefined);
    const { back, sessionId } = await bench.connect('foreign');
    expect(back.get('error')).toBe('provider_failed');
    expect(await bench.messageOf(sessionId)).toContain('did not answer in time');
  });

  test('tokens without an account are stored', async () => {
    bench.oidc.trouble = (request) => (request === 'GET /me' ? { status: 503, body: '{}' } : undefined);
    const { back } = await bench.connect('foreign');
    expect(back.get('success')).toBe('true');
    bench.oidc.trouble = undefined;
    expect((await bench.execute('foreign', 'get_me')).at('data.sub')).toBe('alice');
  });
});

test('the log contains no token, code or client secret', async () => {
  const { back } = await bench.connect('sandbox');
  await bench.valuesOf(back);
  const log = bench.service.logged.join('\n');
  expect(bench.secrets.size).toBeGreaterThan(8);
  for (const secret of bench.secrets) expect(log).not.toContain(secret);
});

/** Returns the error that our own page shows after a callback. */
async function endOf(callback: string, browser = bench.browser): Promise<string | null> {
  const { status, headers } = await browser.open(callback, { stay: true });
  const location = new URL(headers.get('location') ?? 'about:blank');
  expect([status, location.origin + location.pathname]).toEqual([303, `${bench.service.url}/connect/ended`]);
  return location.searchParams.get('error');
}
