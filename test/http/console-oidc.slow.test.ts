import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { HOUR, SECOND } from '../../src/lib/clock.ts';
import { createBrowser, type Browser } from '../support/browser.ts';
import { manualClock } from '../support/clock.ts';
import { consentAtOidc, startOidc, type Oidc } from '../support/oidc.ts';
import { startService, type Service } from '../support/service.ts';

const PAGE = { 'x-gatehouse-console': 'person' };
const ROLES = { viewer: ['staff', 'everyone'], operator: 'operators', owner: 'platform' };

let oidc: Oidc;
let service: Service;
let callbackUrl: string;
const clock = manualClock();

beforeAll(async () => {
  oidc = await startOidc();
  service = await startService({ clock, env: { GATEHOUSE_OIDC: JSON.stringify(setting()) } });
  callbackUrl = `${service.url}/console/oidc/callback`;
  oidc.redirectUris.push(callbackUrl);
  oidc.signOutUris.push(`${service.url}/console`);
  Object.assign(oidc.people, {
    ada: { name: 'Ada Lovelace', email: 'ada@northwind.example', groups: ['all', 'platform', 'staff'] },
    grace: { name: 'Grace Hopper', groups: 'operators' },
    linus: { name: 'Linus', groups: ['staff'] },
    eve: { name: 'Eve', groups: ['strangers', 7, { staff: true }] },
  });
});
afterAll(async () => {
  await service?.stop();
  await oidc?.close();
});
beforeEach(() => {
  oidc.trouble = undefined;
});

const setting = () => ({
  issuer: oidc.issuer,
  clientId: oidc.clientId,
  clientSecret: oidc.clientSecret,
  roleClaim: 'groups',
  roles: ROLES,
});

/** The cookies that an answer sets, as a browser returns them. */
const cookiesOf = (headers: Headers) =>
  headers
    .getSetCookie()
    .filter((line) => !line.includes('Max-Age=0'))
    .map((line) => line.split(';')[0])
    .join('; ');

/** Begins a sign-in as the page does. */
async function begin(at = service) {
  const answer = await at.call('POST', '/console/oidc/sign-in', { bearer: null, headers: PAGE });
  const url = answer.status === 201 ? new URL(answer.text('authorizationUrl')) : undefined;
  return {
    answer,
    cookie: cookiesOf(answer.headers),
    url,
    at: (name: string) => url?.searchParams.get(name) ?? '',
  };
}

/** Returns to the callback as a browser does. `fault`: the fault that the page shows. */
async function back(address: string, cookie: string) {
  const answer = await fetch(address, { redirect: 'manual', headers: { cookie } });
  const location = new URL(answer.headers.get('location') ?? 'about:blank');
  return {
    status: answer.status,
    fault: location.searchParams.get('sign-in'),
    cookie: cookiesOf(answer.headers),
  };
}

/** Signs in as a person. */
async function signIn(login: string, browser: Browser = createBrowser()) {
  const begun = await begin();
  const page = await consentAtOidc(browser, begun.url?.href ?? '', { login, stopAt: callbackUrl });
  return { ...(await back(page.url, begun.cookie)), address: page.url, first: begun.cookie };
}

const call = (method: string, path: string, cookie: string, headers: object = {}) =>
  service.call(method, path, { bearer: null, headers: { cookie, ...PAGE, ...headers } });

describe('the sign-in to the console by OpenID Connect', () => {
  test('a person signs in and has the rights of the highest role, in both environments', async () => {
    const { status, cookie } = await signIn('ada');
    expect(status).toBe(303);
    const session = await call('GET', '/console/session', cookie);
    expect(session.body).toMatchObject({
      session: {
        name: 'Ada Lovelace (ada@northwind.example)',
        role: 'owner',
        environment: 'development',
        environments: ['development', 'production'],
      },
      signIn: { provider: new URL(oidc.issuer).host },
    });
    const made = await service.call('POST', '/api/servers', {
      bearer: null,
      headers: { cookie, ...PAGE, 'x-gatehouse-environment': 'production' },
      body: { name: 'of ada' },
    });
    expect(made.status).toBe(201);
    const audit = await service.call('GET', '/api/audit?operation=createServer', {
      bearer: service.productionKey,
    });
    expect(audit.at('data.0')).toMatchObject({
      caller: expect.stringMatching(/^person:per_/),
      personName: 'Ada Lovelace (ada@northwind.example)',
      target: made.text('serverId'),
    });
    const signIns = await service.call('GET', '/api/audit?operation=signInToConsole');
    expect(signIns.at('data.0.target')).toBe('owner ada@northwind.example');
    expect(JSON.stringify(service.logged)).not.toContain(oidc.clientSecret);
  });

  test('the cookie is kept from scripts, and the store has neither token nor ID token', async () => {
    const begun = await begin();
    expect(begun.answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax$/);
    const { cookie } = await signIn('ada');
    const rows = await service.context.db.selectFrom('console_sessions').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(cookie.split('=')[1]);
    expect(JSON.stringify(rows)).not.toMatch(/eyJ/);
    expect((await service.call('GET', '/api/servers', { bearer: null, headers: { cookie } })).status).toBe(
      401,
    );
  });

  test('a viewer reads, and an operator changes, neither more', async () => {
    const viewer = (await signIn('linus')).cookie;
    const operator = (await signIn('grace')).cookie;
    const statuses = async (cookie: string) =>
      Promise.all(
        (
          [
            ['GET', '/api/executions'],
            ['GET', '/api/audit'],
            ['POST', '/users'],
            ['POST', '/api/servers'],
            ['POST', '/api/keys'],
            ['PUT', '/api/settings'],
            ['POST', '/api/keys/rotate'],
          ] as const
        ).map(async ([method, path]) => (await call(method, path, cookie)).status),
      );
    // 400: admitted, and refused for its empty body.
    expect(await statuses(viewer)).toEqual([200, 200, 403, 403, 403, 403, 403]);
    expect(await statuses(operator)).toEqual([200, 200, 400, 400, 403, 403, 403]);
    expect((await call('GET', '/console/session', viewer)).at('session.scopes')).not.toContain(
      'payloads:read',
    );
  });

  test('a person without a role is refused and gets no session', async () => {
    const { fault, cookie } = await signIn('eve');
    expect([fault, cookie]).toEqual(['no_role', '']);
    expect(service.logged.join('')).toContain('eve has no role: the claim is [\\"strangers\\",7');
  });

  test('a session ends with a sign-out, which also ends it at the provider', async () => {
    const browser = createBrowser();
    const { cookie } = await signIn('ada', browser);
    const out = await call('DELETE', '/console/session', cookie);
    const url = new URL(out.text('continueAt'));
    expect(url.href).toContain(`${oidc.issuer}/session/end?client_id=`);
    expect(url.searchParams.get('id_token_hint')).toMatch(/^eyJ/);
    const asked = await browser.open(url.href);
    const done = await browser.submit(asked, { logout: 'yes' }, { stopAt: service.url });
    expect(done.url).toMatch(new RegExp(`^${service.url}/console`));
    expect((await call('GET', '/api/servers', cookie)).status).toBe(401);
  });

  test('an owner ends the sessions of a person, and the next one keeps the id', async () => {
    const owner = (await signIn('ada')).cookie;
    const { cookie } = await signIn('linus');
    const list = async () =>
      JSON.parse(JSON.stringify((await call('GET', '/console/people', owner)).at('people')));
    const person = (await list()).find(({ name }: { name: string }) => name === 'Linus');
    expect(person).toMatchObject({ role: 'viewer', sessions: expect.any(Number) });
    expect((await call('DELETE', `/console/people/${person.personId}/sessions`, cookie)).status).toBe(403);
    await call('DELETE', `/console/people/${person.personId}/sessions`, owner);
    expect((await call('GET', '/api/servers', cookie)).status).toBe(401);
    oidc.people['linus'] = { name: 'Linus\n\u202E Torvalds\u200B', groups: ['operators'] };
    await signIn('linus');
    expect(await list()).toContainEqual(
      expect.objectContaining({ personId: person.personId, name: 'Linus Torvalds', role: 'operator' }),
    );
  });

  test('a session ends after two hours without a person', async () => {
    const { cookie } = await signIn('ada');
    clock.advance(2 * HOUR + SECOND);
    expect((await call('GET', '/api/servers', cookie)).status).toBe(401);
  });

  test('a key that a person creates outlives the session', async () => {
    const { cookie } = await signIn('ada');
    const made = await service.call('POST', '/api/keys', {
      bearer: null,
      headers: { cookie, ...PAGE },
      body: { name: 'of ada', scopes: ['servers:read'] },
    });
    expect([made.status, made.at('expiresAt')]).toEqual([201, null]);
  });
});

describe('hostile and broken providers', () => {
  /** Begins, and returns as from the provider, which answers the token request with these claims in its ID token. */
  async function withToken(claims: (nonce: string) => object, sign = oidc.sign) {
    const begun = await begin();
    const now = Math.floor(clock.now() / SECOND);
    const usual = {
      iss: oidc.issuer,
      aud: oidc.clientId,
      sub: 'ada',
      groups: ['staff'],
      iat: now,
      exp: now + 60,
    };
    const idToken = await sign({ ...usual, nonce: begun.at('nonce'), ...claims(begun.at('nonce')) });
    const body = JSON.stringify({ access_token: 'any', token_type: 'bearer', id_token: idToken });
    oidc.trouble = (request) => (request === 'POST /token' ? { status: 200, body } : undefined);
    return back(`${callbackUrl}?${returned(begun)}`, begun.cookie);
  }
  const returned = (begun: Awaited<ReturnType<typeof begin>>, more: Record<string, string> = {}) =>
    new URLSearchParams({ code: 'any', state: begun.at('state'), iss: oidc.issuer, ...more });

  test('an ID token with the claims of this sign-in is accepted', async () => {
    const { fault, cookie } = await withToken(() => ({}));
    expect(fault).toBeNull();
    expect((await call('GET', '/console/session', cookie)).at('session.role')).toBe('viewer');
  });

  test.each([
    ['another issuer', () => ({ iss: 'https://evil.example' })],
    ['another audience', () => ({ aud: 'another-client' })],
    ['a second audience without azp', () => ({ aud: [oidc.clientId, 'another'] })],
    ['an expiry that passed', () => ({ exp: Math.floor(clock.now() / SECOND) - 60 })],
    ['another nonce', (nonce: string) => ({ nonce: `${nonce}x` })],
    ['no nonce', () => ({ nonce: undefined })],
    ['no subject', () => ({ sub: undefined })],
    ['a start in the future', () => ({ nbf: Math.floor(clock.now() / SECOND) + 600 })],
  ])('an ID token with %s is refused', async (_name, claims) => {
    expect(await withToken(claims)).toMatchObject({ fault: 'invalid', cookie: '' });
  });

  test('an ID token that another key signed is refused', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    const forged = (claims: object) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    expect((await withToken(() => ({}), forged)).fault).toBe('invalid');
    const secret = new TextEncoder().encode(oidc.clientSecret);
    const symmetric = (claims: object) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    expect((await withToken(() => ({}), symmetric)).fault).toBe('invalid');
    expect(await exportJWK(privateKey).catch(() => 'not exportable')).toBe('not exportable');
  });

  test('a redirect that is used, of another sign-in or of another provider is refused', async () => {
    const { address, first, cookie } = await signIn('ada');
    expect(cookie).not.toBe('');
    const mine = await begin();
    const other = await begin();
    const faults = await Promise.all([
      back(address, ''),
      back(address, first),
      back(`${callbackUrl}?${returned(other)}`, mine.cookie),
      back(callbackUrl, mine.cookie),
      back(`${callbackUrl}?${returned(mine, { iss: 'https://evil.example' })}`, mine.cookie),
      back(`${callbackUrl}?${new URLSearchParams({ code: 'any', state: mine.at('state') })}`, mine.cookie),
      back(`${callbackUrl}?${returned(mine, { error: 'access_denied' })}`, mine.cookie),
    ]);
    expect(faults.map(({ fault }) => fault)).toEqual([
      'stale',
      'stale',
      'stale',
      'stale',
      'invalid',
      'invalid',
      'cancelled',
    ]);
  });

  test('only the page itself begins a sign-in', async () => {
    const sent = (headers: Record<string, string>) =>
      service.call('POST', '/console/oidc/sign-in', { bearer: null, headers });
    expect((await sent({})).status).toBe(403);
    expect((await sent({ ...PAGE, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  });

  test('a provider that is down is named in words, and then works again', async () => {
    await using broken = await startService({ env: { GATEHOUSE_OIDC: JSON.stringify(setting()) } });
    oidc.trouble = () => 'drop';
    const down = await begin(broken);
    expect([down.answer.status, down.answer.at('code')]).toEqual([503, 'unavailable']);
    expect(down.answer.text('error')).toContain('cannot be reached');
    oidc.trouble = () => ({ status: 200, body: JSON.stringify({ issuer: 'https://evil.example' }) });
    expect((await begin(broken)).answer.text('error')).toContain('GATEHOUSE_OIDC');
    oidc.trouble = undefined;
    const begun = await begin(broken);
    expect(begun.answer.status).toBe(201);
    oidc.trouble = (request) => (request === 'POST /token' ? { status: 503, body: '' } : undefined);
    const address = `${broken.url}/console/oidc/callback?${returned(begun)}`;
    expect((await back(address, begun.cookie)).fault).toBe('unreachable');
    oidc.trouble = (request) =>
      request === 'POST /token' ? { status: 401, body: '{"error":"invalid_client"}' } : undefined;
    expect((await back(address, begun.cookie)).fault).toBe('misconfigured');
  });

  test('an address with too many refused sign-ins gets 429', async () => {
    await using calm = await startService({ env: { GATEHOUSE_OIDC: JSON.stringify(setting()) } });
    const statuses = new Set<number>();
    for (let time = 0; time < 32; time += 1)
      statuses.add((await back(`${calm.url}/console/oidc/callback?state=x`, '')).status);
    expect([...statuses]).toEqual([303, 429]);
  });
});

describe('the setting', () => {
  test('a dotted claim of the userinfo endpoint gives the role', async () => {
    const roles = { roleClaim: 'realm_access.roles', roles: { owner: 'admin' } };
    await using other = await startService({
      env: { GATEHOUSE_OIDC: JSON.stringify({ ...setting(), ...roles }) },
    });
    const address = `${other.url}/console/oidc/callback`;
    oidc.redirectUris.push(address);
    oidc.people['ken'] = { realm_access: { roles: ['user', 'admin'] } };
    const begun = await begin(other);
    const page = await consentAtOidc(createBrowser(), begun.url?.href ?? '', {
      login: 'ken',
      stopAt: address,
    });
    const { cookie } = await back(page.url, begun.cookie);
    const session = await other.call('GET', '/console/session', {
      bearer: null,
      headers: { cookie, ...PAGE },
    });
    expect(session.at('session.role')).toBe('owner');
    // The same store under another provider: its people are strangers.
    await using moved = await startService({
      env: {
        ...other.env,
        GATEHOUSE_OIDC: JSON.stringify({ ...setting(), issuer: 'https://login.example' }),
      },
    });
    const after = await moved.call('GET', '/console/session', { bearer: null, headers: { cookie, ...PAGE } });
    expect(after.at('session')).toBeNull();
  });

  test.each([
    ['{', 'is not JSON'],
    [
      '{"issuer":"https://a.example","clientId":"c","roleClaim":"groups","roles":{}}',
      'roles must name a value',
    ],
    [
      '{"issuer":"http://a.example","clientId":"","roles":{"viewer":"v"},"extra":1}',
      /issuer must be an https address.*clientId must not be empty.*roleClaim is required.*extra is not a known member/,
    ],
  ])('a wrong setting is named in words: %s', (text, fault) => {
    expect(() => readConfig({ GATEHOUSE_OIDC: text })).toThrow(fault);
  });

  test('a service without the setting has no such sign-in', async () => {
    await using plain = await startService();
    expect((await plain.call('POST', '/console/oidc/sign-in', { bearer: null, headers: PAGE })).status).toBe(
      404,
    );
    expect(
      (await plain.call('GET', '/console/session', { bearer: null, headers: PAGE })).at('signIn'),
    ).toEqual({
      provider: null,
    });
  });
});
