import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { startConsents, type Consents } from '../support/consents.ts';
import { startService } from '../support/service.ts';

/** Tests of attacks on another person's account or session, and on the secrets of the application. */
let all: Consents;
beforeAll(async () => {
  all = await startConsents({ connectors: ['gitlab', 'shopify'] });
});
afterAll(() => all[Symbol.asyncDispose]());
afterEach(() => {
  all.party.mode = 'ok';
  all.party.answer = undefined;
  all.party.asked.length = 0;
});

describe('a link of an attacker', () => {
  test('a connect link is not bound to a browser by a page of another origin', async () => {
    const link = await all.link();
    const path = `${new URL(link).pathname}/open`;
    const planted = await all.service.call('POST', path, {
      bearer: null,
      headers: { origin: 'https://evil.example' },
      body: {},
    });
    expect([planted.status, planted.at('code')]).toEqual([403, 'forbidden']);
    expect(planted.headers.get('set-cookie')).toBeNull();
    // Nothing was bound, so the right person can still open the link.
    expect((await createBrowser().request(`${link}/open`, {})).status).toBe(200);
  });

  test('a connect link rejects a cookie that another host or the network could set', async () => {
    await using secure = await startService({ env: { GATEHOUSE_PUBLIC_URL: 'https://gate.example.com' } });
    const userId = (await secure.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
    const made = await secure.call('POST', `/users/${userId}/connect-sessions`, { body: {} });
    const opened = await secure.call('POST', `${new URL(made.text('url')).pathname}/open`, {
      bearer: null,
      body: {},
    });
    const [pair = '', ...attributes] = (opened.headers.get('set-cookie') ?? '').split('; ');
    expect(pair).toMatch(/^__Host-gatehouse=/);
    expect(attributes).toEqual(['Path=/', 'HttpOnly', 'SameSite=Lax', 'Secure']);
    const read = (cookie: string) =>
      secure.call('GET', `/connect/sessions/${opened.text('sessionId')}`, {
        bearer: null,
        headers: { cookie },
      });
    expect((await read(pair)).status).toBe(200);
    expect((await read(pair.replace('__Host-', ''))).status).toBe(401);
    // The planted cookie comes first, as browsers order cookies of longer paths.
    expect((await read(`gatehouse=${'x'.repeat(43)}; ${pair}`)).status).toBe(200);
  });

  test('a consent connects no account when another browser opened its page', async () => {
    const { state } = await all.begin();
    const victim = createBrowser();
    const end = await all.back(victim, { code: 'code_of_the_victim', state });
    expect(end.search).toBe('?error=connect_session_taken');
    // A browser that another link has bound is still another browser.
    await all.open(victim, await all.link());
    expect((await all.back(victim, { code: 'code_of_the_victim', state })).search).toBe(
      '?error=connect_session_taken',
    );
    expect(all.party.asked).toEqual([]);
  });
});

describe('the JWT of one user', () => {
  test('a JWT gives no access to sessions, consents or credentials of another user', async () => {
    const { service, userId } = all;
    const eve = (await service.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
    const token = async (user: string) =>
      (await service.call('GET', `/2023-12/user/${user}/token`)).text('token');
    const [hers, theirs] = [await token(eve), await token(userId)];
    const made = await service.call('POST', '/connect/sessions', { bearer: theirs, body: { app: 'keyed' } });
    const path = `/connect/sessions/${made.text('sessionId')}`;
    const form = { connectorId: 'keyed', type: 'bearer', data: { token: all.party.issue().accessToken } };
    for (const [method, to, body] of [
      ['GET', path, undefined],
      ['POST', `${path}/credentials`, form],
      ['POST', `${path}/authorize`, { connectorId: 'oauthy', type: 'oauth2' }],
      ['POST', `${path}/cancel`, {}],
    ] as const) {
      const asked = await service.call(method, to, { bearer: hers, ...(body ? { body } : {}) });
      expect([method, to, asked.status, asked.at('code')]).toEqual([
        method,
        to,
        404,
        'connect_session_not_found',
      ]);
    }
    const done = await service.call('POST', `${path}/credentials`, { bearer: theirs, body: form });
    const credential = `/users/${userId}/credentials/${done.text('result.credentialId')}`;
    for (const method of ['GET', 'PUT', 'DELETE']) {
      for (const bearer of [hers, theirs]) {
        const asked = await service.call(method, credential, {
          bearer,
          ...(method === 'PUT' ? { body: {} } : {}),
        });
        expect([asked.status, asked.at('code')]).toEqual([403, 'forbidden']);
      }
    }
    expect((await all.call('GET', credential)).at('state')).toBe('active');
  });

  test('a JWT begins no consent, which only the browser with the link can', async () => {
    const { service, userId } = all;
    const bearer = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
    const made = await service.call('POST', '/connect/sessions', { bearer, body: { app: 'oauthy' } });
    const asked = await service.call('POST', `/connect/sessions/${made.text('sessionId')}/authorize`, {
      bearer,
      body: { connectorId: 'oauthy', type: 'oauth2' },
    });
    expect([asked.status, asked.at('code')]).toEqual([404, 'connect_session_not_found']);
  });
});

describe('the secret of an OAuth app', () => {
  const evil = () => `${all.party.origin}/evil`;
  const app = (more: object = {}) =>
    all.service.call('PUT', '/api/connectors/gitlab/oauth-app', {
      body: { clientId: 'app_1', clientSecret: 'gl_secret_of_the_operator', ...more },
    });

  test('the secret of an OAuth app is not sent to a host that a person names', async () => {
    expect((await app()).at('fields')).toEqual({});
    const browser = createBrowser();
    const opened = await browser.request(`${await all.link({ connectors: ['gitlab'] })}/open`, {});
    expect(valueAt(opened.body, 'connectors.0.authentication.0.type')).toBe('oauth2');
    expect(valueAt(opened.body, 'connectors.0.authentication.0.inputSchema.properties')).toEqual({});
    expect(
      valueAt(opened.body, 'connectors.0.authentication.1.inputSchema.properties.siteUrl'),
    ).toBeDefined();
    const path = `${all.service.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}/authorize`;
    const wish = { connectorId: 'gitlab', type: 'oauth2' };
    const asked = await browser.request(path, { ...wish, data: { siteUrl: evil() } });
    expect([asked.status, valueAt(asked.body, 'details.faults')]).toEqual([
      400,
      [{ field: 'data.siteUrl', rule: 'must be https://gitlab.com, where the OAuth app is registered' }],
    ]);
    // A link that carries such a value is rejected when it is made.
    const made = await all.call('POST', `/users/${all.userId}/credentials`, {
      ...wish,
      data: { siteUrl: evil() },
    });
    expect(made.at('details.faults.0.field')).toBe('data.siteUrl');
    const right = await browser.request(path, { ...wish, data: {} });
    expect(String(valueAt(right.body, 'authorizationUrl'))).toMatch(
      /^https:\/\/gitlab\.com\/oauth\/authorize\?/,
    );
  });

  test('an imported credential does not get the secret of the OAuth app to its host', async () => {
    await app();
    const data = {
      ...all.party.issue(),
      siteUrl: evil(),
      expiresAt: new Date(Date.now() + 61_000).toISOString(),
    };
    const { context } = all.service;
    // GitLab's probe calls the other host, which gets only its own token.
    all.party.apiAnswer = { id: 7, username: 'ada' };
    const made = await all.call('POST', `/users/${all.userId}/credentials`, {
      connectorId: 'gitlab',
      type: 'oauth2',
      data,
    });
    all.party.apiAnswer = undefined;
    expect(made.status).toBe(201);
    await context.db
      .updateTable('credentials')
      .set({ expires_at: 1, renew_at: 1 })
      .where('credential_id', '=', made.text('credentialId'))
      .execute();
    const ran = await all.call('POST', '/connectors/gitlab/actions/get_current_user/execute', {
      credentialId: made.text('credentialId'),
      input: {},
    });
    expect([ran.status, ran.at('code')]).toEqual([409, 'oauth_app_missing']);
    expect(ran.text('error')).toContain('fields.siteUrl with PUT /api/connectors/gitlab/oauth-app');
    await all.call('DELETE', `/users/${all.userId}/credentials/${made.text('credentialId')}`);
    expect(JSON.stringify([all.party.asked, all.party.revoked])).not.toContain('gl_secret_of_the_operator');
  });

  test('the secret of an OAuth app is sent to the registered host, without a form field', async () => {
    const put = await app({ fields: { siteUrl: 'https://git.example.com/' } });
    expect(put.at('fields')).toEqual({ siteUrl: 'https://git.example.com' });
    const browser = createBrowser();
    const { sessionId } = await all.open(browser, await all.link({ connectors: ['gitlab'] }));
    const asked = await browser.request(`${all.service.url}/connect/sessions/${sessionId}/authorize`, {
      connectorId: 'gitlab',
      type: 'oauth2',
      data: {},
    });
    expect(String(valueAt(asked.body, 'authorizationUrl'))).toMatch(
      /^https:\/\/git\.example\.com\/oauth\/authorize\?/,
    );
    for (const fields of [{ siteUrl: 'nonsense' }, { other: 'x' }]) {
      const refused = await app({ fields });
      expect(refused.text('details.faults.0.field')).toBe(`fields.${Object.keys(fields)[0]}`);
    }
  });
});

test('the form cannot change values of the operator', async () => {
  await all.service.call('PUT', '/api/connectors/shopify/oauth-app', {
    body: { clientId: 'x', clientSecret: 'y' },
  });
  const wish = { connectorId: 'shopify', type: 'oauth2' };
  const made = await all.call('POST', `/users/${all.userId}/credentials`, {
    ...wish,
    data: { shop: 'my-shop' },
  });
  const browser = createBrowser();
  const { sessionId } = await all.open(browser, made.text('authorizationUrl'));
  const asked = await browser.request(`${all.service.url}/connect/sessions/${sessionId}/authorize`, {
    ...wish,
    data: { shop: 'another-shop' },
  });
  expect(new URL(String(valueAt(asked.body, 'authorizationUrl'))).host).toBe('my-shop.myshopify.com');
});

describe('redirects and pages', () => {
  test.each([
    ['https://*.example.com', 400],
    ['https://a.example.com;script-src', 400],
    ['ftp://app.example.com', 400],
    ['null', 400],
    ['https://app.example.com/', 400],
    ['https://xn--bcher-kva.example', 200],
    ['http://[::1]:8080', 200],
  ])('an origin %s in the settings is %i', async (origin, status) => {
    const answer = await all.service.call('PUT', '/api/settings', { body: { origins: [origin] } });
    expect(answer.status).toBe(status);
  });

  test('a logo cannot change the policy of the page', async () => {
    const branding = { logoUrl: 'https://cdn.example.com;script-src/x.png' };
    expect((await all.service.call('PUT', '/api/settings', { body: { branding } })).status).toBe(400);
  });

  test('a callback with two states is rejected in any order', async () => {
    const { browser, state } = await all.begin();
    for (const states of [
      [state, 'other'],
      ['other', state],
      [state, state],
    ]) {
      const query = new URLSearchParams({ code: 'c1' });
      for (const one of states) query.append('state', one);
      const end = await browser.open(`${all.service.url}/oauth/callback/oauthy?${query}`, { stay: true });
      expect(end.headers.get('location')).toContain('error=oauth_state_invalid');
    }
    const good = await all.back(browser, { code: 'c1', state });
    expect(good.search).not.toContain('error');
  });

  test('the query of a callback cannot choose the target', async () => {
    const { browser, state } = await all.begin();
    const end = await all.back(browser, {
      code: 'c1',
      state,
      redirect_uri: 'https://evil.example/',
      redirectUri: 'https://evil.example/',
      returnTo: '//evil.example',
    });
    expect(end.origin).toBe(all.service.url);
    expect(end.pathname).toBe('/connect/ended');
  });
});

test('no response on the way to an account is cacheable', async () => {
  const { service } = all;
  const link = await all.link();
  const { browser, sessionId, state } = await all.begin();
  const address = `/oauth/callback/oauthy?${new URLSearchParams({ code: 'c2', state })}`;
  const kept = async (path: string, method = 'GET') => {
    const answer = await fetch(new URL(path, service.url), { method, redirect: 'manual' });
    return [path, answer.headers.get('cache-control')];
  };
  for (const path of [
    link,
    '/connect/development',
    '/connect/ended?error=closed',
    `/connect/sessions/${sessionId}`,
    '/connect/sessions/unknown',
    '/connect/s/unknown',
    address,
  ]) {
    expect(await kept(path)).toEqual([path, 'no-store']);
  }
  expect(await kept('/connect/s/unknown/open', 'POST')).toEqual(['/connect/s/unknown/open', 'no-store']);
  const done = await browser.open(service.url + address, { stay: true });
  expect(done.headers.get('cache-control')).toBe('no-store');
  expect(done.headers.get('referrer-policy')).toBe('no-referrer');
});

test('a path that is not UTF-8 is rejected as JSON and not repeated', async () => {
  for (const path of ['/oauth/callback/%E0%A4%A', '/connect/s/secret%FF/open', '/users/%ff']) {
    const answer = await all.service.call('GET', path);
    expect([answer.status, answer.at('code')]).toEqual([400, 'invalid_request']);
    expect(JSON.stringify(answer.body)).not.toMatch(/secret|node_modules/);
  }
});
