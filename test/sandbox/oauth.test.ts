import { createSecretKey } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { SANDBOX_CLIENT_ID } from '../../src/lib/sandbox-names.ts';
import { createLog } from '../../src/log.ts';
import { createSandboxApp } from '../../src/sandbox/router.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { createBrowser, type Browser, type Page } from '../support/browser.ts';
import { manualClock } from '../support/clock.ts';

/** The sandbox's OAuth side, tested by oauth4webapi as the client, which validates the answers. */
const clock = manualClock();
const hashKey = Buffer.alloc(32, 7);
const REDIRECT = 'http://127.0.0.1:4999/oauth/callback/sandbox';
const CLIENT = { client_id: SANDBOX_CLIENT_ID };
const PLAIN = { [oauth.allowInsecureRequests]: true };
let origin = '';
let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, origin] = await serve();
});
afterAll(() => void server.close());
beforeEach(() => {
  browser = createBrowser();
});

test('consent, code and PKCE give tokens of the named account', async () => {
  const tokens = await connect({ account: 'Ada’s shop', scope: 'read write' });
  expect(tokens).toMatchObject({
    token_type: 'bearer',
    expires_in: 300,
    scope: 'read write',
    account: { id: expect.stringMatching(/^acc_[0-9a-f]{12}$/), name: 'Ada’s shop' },
  });
  const me = await api('/me', tokens.access_token);
  expect(me.body).toEqual({ account: { id: accountOf(tokens).id } });
});

test('one name opens one account for all users', async () => {
  const first = await connect({ account: 'Shared shop', scope: 'read write' });
  browser = createBrowser();
  const second = await connect({ account: '  shared   SHOP ' });
  const other = await connect({ account: 'Other shop' });
  const written = await api('/customers', first.access_token, {
    method: 'POST',
    json: { name: 'Ada', email: 'ada@example.com' },
  });
  expect(written.status).toBe(201);
  const { customer } = z.object({ customer: z.object({ id: z.string() }) }).parse(written.body);
  const path = `/customers/${customer.id}`;
  expect((await api(path, second.access_token)).status).toBe(200);
  expect((await api(path, other.access_token)).status).toBe(404);
  expect(accountOf(second).id).toBe(accountOf(first).id);
  expect(accountOf(other).id).not.toBe(accountOf(first).id);
});

test('the consent page names client, scopes and target, with strict headers', async () => {
  const { page } = await ask({ scope: 'read write' });
  expect(page.html).toContain('Gatehouse wants to use your shop');
  expect(page.html).toContain('127.0.0.1:4999');
  expect(page.html).toContain('<strong>Read</strong>');
  expect(page.html).toContain('<strong>Change</strong>');
  expect(page.html).not.toContain('<script');
  const policy = page.headers.get('content-security-policy');
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; frame-ancestors 'none'/,
  );
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect((await ask({ scope: 'read' })).page.html).not.toContain('<strong>Change</strong>');
});

test('a token allows its scopes, and errors name the missing one', async () => {
  const tokens = await connect({ scope: 'read' });
  expect(tokens.scope).toBe('read');
  expect((await api('/orders', tokens.access_token)).status).toBe(200);
  const refused = await api('/messages', tokens.access_token, {
    method: 'POST',
    json: { to: 'a@example.com', text: 'x' },
  });
  expect(refused).toMatchObject({ status: 403, body: { fault: { kind: 'scope_missing' } } });
  expect(refused.headers.get('www-authenticate')).toContain('insufficient_scope');
});

test('an access token expires after five minutes, and a refresh rotates the tokens', async () => {
  const first = await connect();
  clock.advance(299_000);
  expect((await api('/orders', first.access_token)).status).toBe(200);
  clock.advance(1000);
  const late = await api('/orders', first.access_token);
  expect(late).toMatchObject({ status: 401, body: { fault: { kind: 'unknown_token' } } });
  expect(late.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');

  const second = await refresh(first.refresh_token);
  expect(second.refresh_token).not.toBe(first.refresh_token);
  expect((await api('/orders', second.access_token)).status).toBe(200);
  expect(accountOf(second)).toEqual(accountOf(first));
});

test('a refresh may request fewer scopes, never more', async () => {
  const { refresh_token } = await connect({ scope: 'read' });
  expect(await token({ grant_type: 'refresh_token', refresh_token, scope: 'read write' })).toMatchObject({
    status: 400,
    body: { error: 'invalid_scope' },
  });
  const wide = await connect({ scope: 'read write' });
  const narrow = await refresh(wide.refresh_token, { scope: 'read' });
  expect(narrow.scope).toBe('read');
  expect((await refresh(narrow.refresh_token)).scope).toBe('read write');
});

test('a spent refresh token revokes its whole family', async () => {
  const first = await connect();
  const second = await refresh(first.refresh_token);
  expect(await token({ grant_type: 'refresh_token', refresh_token: first.refresh_token })).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant', error_description: expect.stringContaining('used before') },
  });
  expect((await api('/orders', second.access_token)).status).toBe(401);
  expect(await token({ grant_type: 'refresh_token', refresh_token: second.refresh_token })).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant' },
  });
});

test('a refresh token expires after thirty days without use', async () => {
  const first = await connect();
  clock.advance(29 * 86_400_000);
  const second = await refresh(first.refresh_token);
  clock.advance(30 * 86_400_000);
  expect(await token({ grant_type: 'refresh_token', refresh_token: second.refresh_token })).toMatchObject({
    body: { error: 'invalid_grant', error_description: expect.stringContaining('30 days') },
  });
});

test('tokens survive a restart, and rotation continues from the newest', async () => {
  const first = await connect();
  const [restarted, there] = await serve();
  const second = await refresh(first.refresh_token, {}, there);
  expect((await api('/orders', second.access_token, { at: there })).status).toBe(200);
  const reused = await token({ grant_type: 'refresh_token', refresh_token: first.refresh_token }, there);
  expect(reused).toMatchObject({ body: { error: 'invalid_grant' } });
  restarted.close();
  const [stranger, elsewhere] = await serve(Buffer.alloc(32, 8));
  expect((await api('/orders', second.access_token, { at: elsewhere })).status).toBe(401);
  stranger.close();
});

test('a second use of a code revokes the tokens made from it', async () => {
  const { page, verifier } = await ask();
  const callback = await browser.submit(page, { decision: 'allow' }, { stopAt: REDIRECT });
  const code = new URL(callback.url).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT, code_verifier: verifier };
  const first = await token(form);
  expect(first.status).toBe(200);
  const accessToken = tokenShape.parse(first.body).access_token;
  expect((await api('/orders', accessToken)).status).toBe(200);
  expect(await token(form)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  expect((await api('/orders', accessToken)).status).toBe(401);
});

test.each([
  ['another verifier', { code_verifier: oauth.generateRandomCodeVerifier() }, 'invalid_grant'],
  ['another redirect_uri', { redirect_uri: 'http://127.0.0.1:1/oauth/callback/sandbox' }, 'invalid_grant'],
  ['no verifier', { code_verifier: '' }, 'invalid_request'],
  ['an altered code', { code: 'sbx_code.e30.x' }, 'invalid_grant'],
  ['an unknown grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
  ['no grant type', { grant_type: '' }, 'invalid_request'],
])('a code with %s is refused', async (_what, changes, error) => {
  const { page, verifier } = await ask();
  const callback = await browser.submit(page, { decision: 'allow' }, { stopAt: REDIRECT });
  const code = new URL(callback.url).searchParams.get('code') ?? '';
  const good = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT, code_verifier: verifier };
  expect(await token({ ...good, ...changes })).toMatchObject({ status: 400, body: { error } });
});

test('a code expires after a minute', async () => {
  const { page, verifier } = await ask();
  const callback = await browser.submit(page, { decision: 'allow' }, { stopAt: REDIRECT });
  clock.advance(60_000);
  const code = new URL(callback.url).searchParams.get('code') ?? '';
  expect(
    await token({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT, code_verifier: verifier }),
  ).toMatchObject({ body: { error: 'invalid_grant', error_description: expect.stringContaining('minute') } });
});

test('the token endpoint rejects other clients, secrets and content types', async () => {
  const form = { grant_type: 'refresh_token', refresh_token: 'x' };
  for (const name of ['client_id', 'client_secret']) {
    const answer = await token({ ...form, [name]: 'else' });
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    expect(answer.headers.get('www-authenticate')).toContain('Basic');
  }
  const json = await fetch(`${origin}/sandbox/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(form),
  });
  expect([json.status, await json.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  const large = await token({ ...form, more: 'x'.repeat(20_000) });
  expect(large).toMatchObject({ status: 413, body: { error: 'invalid_request' } });
  const twice = await fetch(`${origin}/sandbox/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams([...Object.entries(form), ['grant_type', 'refresh_token']]),
  });
  expect([twice.status, await twice.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  expect(twice.headers.get('cache-control')).toBe('no-store');
});

test.each(['refresh_token', 'access_token'] as const)('revoking the %s revokes both', async (kind) => {
  const tokens = await connect();
  const as = serverAt(origin);
  const revoke = (text: string) => oauth.revocationRequest(as, CLIENT, oauth.None(), text, PLAIN);
  await oauth.processRevocationResponse(await revoke(tokens[kind]));
  expect((await api('/orders', tokens.access_token)).status).toBe(401);
  expect(await token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token })).toMatchObject({
    body: { error: 'invalid_grant', error_description: expect.stringContaining('revoked') },
  });
  expect((await revoke('nothing of yours')).status).toBe(200);
});

test('a refusal returns access_denied with state and iss', async () => {
  const { page, state } = await ask();
  const back = await browser.submit(page, { account: '', decision: 'deny' }, { stopAt: REDIRECT });
  const params = new URL(back.url).searchParams;
  expect(Object.fromEntries(params)).toEqual({
    error: 'access_denied',
    error_description: expect.any(String),
    state,
    iss: 'http://sandbox.invalid/sandbox/oauth',
  });
  expect(() => oauth.validateAuthResponse(serverAt(origin), CLIENT, params, state)).toThrow(
    oauth.AuthorizationResponseError,
  );
});

test.each([
  [{ response_type: 'token' }, 'unsupported_response_type'],
  [{ code_challenge: '' }, 'invalid_request'],
  [{ code_challenge_method: 'plain' }, 'invalid_request'],
  [{ scope: 'read everything' }, 'invalid_scope'],
])('a request with %j goes back as %s', async (changes, error) => {
  const { page, state } = await ask(changes);
  expect(page.url.startsWith(REDIRECT)).toBe(true);
  const params = new URL(page.url).searchParams;
  expect([params.get('error'), params.get('state'), params.get('code')]).toEqual([error, state, null]);
});

test.each([
  ['redirect_uri', 'https://evil.example.com/oauth/callback/sandbox'],
  ['redirect_uri', 'http://127.0.0.1:4999/oauth/callback/sandbox?next=1'],
  ['redirect_uri', 'http://127.0.0.1:4999/oauth/callback/other'],
  ['redirect_uri', 'http://user@127.0.0.1:4999/oauth/callback/sandbox'],
  ['redirect_uri', 'http://127.0.0.1.example.com/oauth/callback/sandbox'],
  ['redirect_uri', 'javascript:alert(1)//127.0.0.1/oauth/callback/sandbox'],
  ['redirect_uri', ''],
  ['client_id', 'else'],
])('a request whose %s is "%s" is answered here, without a redirect', async (name, value) => {
  const { page } = await ask({ [name]: value });
  expect([page.status, page.url.startsWith(origin)]).toEqual([400, true]);
  expect(page.html).toContain('role="alert"');
  expect(page.html).not.toContain('evil');
});

test('the callback at the public address is accepted, also with a path', async () => {
  const callback = 'https://gatehouse.example.com/base/oauth/callback/sandbox';
  const [public_, at] = await serve(hashKey, 'https://gatehouse.example.com/base');
  const { page } = await ask({ redirect_uri: callback }, at);
  expect(page.status).toBe(200);
  expect(page.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax; Secure$/);
  const back = await browser.submit(page, { decision: 'allow' }, { stopAt: callback });
  expect(back.url).toContain('code=sbx_code');
  public_.close();
});

test('forms of other browsers, of other requests and expired ones are rejected', async () => {
  const { page } = await ask();
  const stranger = await createBrowser().submit(page, { decision: 'allow' });
  expect([stranger.status, stranger.html]).toEqual([400, expect.stringContaining('was not asked')]);
  const forged = await browser.submit(page, { decision: 'allow', request: 'sbx_consent.e30.x' });
  expect(forged.status).toBe(400);
  expect((await browser.submit(page, { decision: 'allow' }, { stay: true })).status).toBe(303);
  clock.advance(600_000);
  const late = await browser.submit(page, { decision: 'allow' });
  expect([late.status, late.html]).toEqual([400, expect.stringContaining('ten minutes')]);
});

test('two tabs of one browser can both consent', async () => {
  const one = await ask();
  const two = await ask();
  for (const { page } of [one, two]) {
    const back = await browser.submit(page, { decision: 'allow' }, { stopAt: REDIRECT });
    expect(back.url).toContain('code=');
  }
});

test.each([
  ['', 'Name a shop.'],
  ['   ', 'Name a shop.'],
  ['x'.repeat(61), 'at most 60'],
  ['a\u0000b', 'letters, digits'],
])('the name %j is refused on the page, which keeps the request', async (account, sentence) => {
  const { page } = await ask();
  const again = await browser.submit(page, { account, decision: 'allow' });
  expect([again.status, again.html]).toEqual([422, expect.stringContaining(sentence)]);
  expect(again.html).toContain('aria-invalid="true"');
  const back = await browser.submit(again, { account: 'Good', decision: 'allow' }, { stopAt: REDIRECT });
  expect(back.url).toContain('code=');
});

test('typed text is escaped on the page', async () => {
  const { page } = await ask();
  const account = `"><script>alert(1)</script>${'x'.repeat(60)}`;
  const again = await browser.submit(page, { account, decision: 'allow' });
  expect(again.html).not.toContain('<script');
  expect(again.html).toContain('&quot;&gt;&lt;script&gt;');
});

const tokenShape = z.looseObject({
  access_token: z.string(),
  refresh_token: z.string(),
  scope: z.string(),
  account: z.object({ id: z.string(), name: z.string() }),
});
type Tokens = z.infer<typeof tokenShape>;

function accountOf({ account }: Tokens): { id: string; name: string } {
  return account;
}

function serverAt(base: string): oauth.AuthorizationServer {
  return {
    issuer: 'http://sandbox.invalid/sandbox/oauth',
    token_endpoint: `${base}/sandbox/oauth/token`,
    revocation_endpoint: `${base}/sandbox/oauth/revoke`,
    authorization_response_iss_parameter_supported: true,
  };
}

/** Opens the consent page, as a client redirects a browser to it. */
async function ask(changes: Record<string, string> = {}, at = origin) {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: SANDBOX_CLIENT_ID,
    redirect_uri: REDIRECT,
    scope: 'read write',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...changes,
  });
  const page: Page = await browser.open(`${at}/sandbox/oauth/authorize?${query}`, { stopAt: REDIRECT });
  return { page, verifier, state };
}

/** Completes the flow from the consent page to tokens. */
async function connect({ account = 'Demo shop', scope = 'read write' } = {}): Promise<Tokens> {
  const { page, verifier, state } = await ask({ scope });
  const back = await browser.submit(page, { account, decision: 'allow' }, { stopAt: REDIRECT });
  const as = serverAt(origin);
  const params = oauth.validateAuthResponse(as, CLIENT, new URL(back.url), state);
  const none = oauth.None();
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    CLIENT,
    none,
    params,
    REDIRECT,
    verifier,
    PLAIN,
  );
  return tokenShape.parse(await oauth.processAuthorizationCodeResponse(as, CLIENT, response));
}

async function refresh(text: string, parameters: Record<string, string> = {}, at = origin): Promise<Tokens> {
  const as = serverAt(at);
  const response = await oauth.refreshTokenGrantRequest(as, CLIENT, oauth.None(), text, {
    ...PLAIN,
    additionalParameters: parameters,
  });
  return tokenShape.parse(await oauth.processRefreshTokenResponse(as, CLIENT, response));
}

/** Sends a request to the token endpoint that a careful client would not send. */
async function token(form: Record<string, string>, at = origin) {
  const response = await fetch(`${at}/sandbox/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: SANDBOX_CLIENT_ID, ...form }),
  });
  const body: unknown = await response.json();
  return { status: response.status, headers: response.headers, body };
}

async function api(
  path: string,
  accessToken: string,
  { method = 'GET', json, at = origin }: { method?: string; json?: unknown; at?: string } = {},
) {
  const response = await fetch(`${at}/sandbox/api${path}`, {
    method,
    headers: {
      authorization: `Bearer ${accessToken}`,
      ...(json ? { 'content-type': 'application/json' } : {}),
    },
    ...(json ? { body: JSON.stringify(json) } : {}),
  });
  const body: unknown = await response.json();
  return { status: response.status, headers: response.headers, body };
}

async function serve(key = hashKey, publicUrl = 'http://127.0.0.1:4998'): Promise<[Server, string]> {
  const store = await openStore({ kind: 'sqlite', path: ':memory:' });
  await migrate(store, 1);
  const { db } = store;
  const app = createSandboxApp({
    clock,
    log: createLog('silent'),
    db,
    hashKey: createSecretKey(key),
    publicUrl,
  });
  const listening = createServer(app);
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const address = listening.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return [listening, `http://127.0.0.1:${address.port}`];
}
