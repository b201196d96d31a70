import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { startService, type Answer, type CallOptions, type Service } from '../support/service.ts';

const clock = manualClock();
let service: Service;
let userId: string;
let jwt: string;

beforeAll(async () => {
  service = await startService({ clock });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  jwt = await tokenOf(userId);
});
afterAll(() => service.stop());

describe('a connect link', () => {
  test('a connect link connects an account by a key, in the browser that opened it, once', async () => {
    const link = await newLink({ connectors: ['sandbox'] });
    const browser = newBrowser();
    const opened = await browser.open(link);
    expect(opened.at('status')).toBe('open');
    expect(opened.at('user.username')).toBe('ada');
    expect(opened.at('connectors.0.connectorId')).toBe('sandbox');
    expect(opened.at('connectors.1')).toBeUndefined();

    const path = `/connect/sessions/${opened.text('sessionId')}/credentials`;
    const ended = await browser.call('POST', path, { body: keys('sandbox_link') });
    expect(ended.status).toBe(200);
    expect(ended.at('result.success')).toBe(true);
    expect(ended.at('result.connectionId')).toBe(ended.at('result.credentialId'));
    const record = await credential(ended.text('result.credentialId'));
    expect(record.at('state')).toBe('active');

    const again = await browser.call('POST', path, { body: keys('sandbox_second') });
    expect([again.status, again.at('code')]).toEqual([410, 'connect_session_expired']);
    // The same browser may see the outcome again; the link starts nothing else.
    expect((await browser.open(link)).at('result.credentialId')).toBe(ended.at('result.credentialId'));
    expect((await newBrowser().open(link)).at('code')).toBe('connect_session_taken');
  });

  test('a connect link is bound to the first browser, and other browsers are rejected', async () => {
    const link = await newLink({});
    const browser = newBrowser();
    const sessionId = (await browser.open(link)).text('sessionId');
    const thief = newBrowser();
    const taken = await thief.open(link);
    expect([taken.status, taken.at('code')]).toEqual([403, 'connect_session_taken']);
    await thief.open(await newLink({}));
    const other = (await service.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
    for (const asked of [
      await thief.call('GET', `/connect/sessions/${sessionId}`),
      await thief.call('POST', `/connect/sessions/${sessionId}/credentials`, { body: keys('sandbox_x') }),
      await thief.call('POST', `/connect/sessions/${sessionId}/cancel`, { body: {} }),
      await service.call('GET', `/connect/sessions/${sessionId}`, { bearer: await tokenOf(other) }),
    ]) {
      expect([asked.status, asked.at('code')]).toEqual([404, 'connect_session_not_found']);
    }
    expect((await browser.call('GET', `/connect/sessions/${sessionId}`)).at('status')).toBe('open');
  });

  test('a connect link is opened only by the POST of its page, not by a preview', async () => {
    const link = await newLink({});
    await fetch(link);
    await fetch(link, { method: 'HEAD' });
    expect((await newBrowser().open(link)).status).toBe(200);
  });

  test('a connect link ends after fifteen minutes', async () => {
    const link = await newLink({});
    const browser = newBrowser();
    const sessionId = (await browser.open(link)).text('sessionId');
    clock.advance(15 * MINUTE + 1);
    for (const asked of [
      await browser.open(link),
      await browser.call('POST', `/connect/sessions/${sessionId}/credentials`, { body: keys('sandbox_x') }),
      await browser.call('POST', `/connect/sessions/${sessionId}/authorize`, {
        body: { connectorId: 'sandbox', type: 'oauth2' },
      }),
    ]) {
      expect([asked.status, asked.at('code')]).toEqual([410, 'connect_session_expired']);
    }
    jwt = await tokenOf(userId);
  });

  test('a connect link stays open after a rejected key and shows faults by field', async () => {
    const browser = newBrowser();
    const path = `/connect/sessions/${(await browser.open(await newLink({}))).text('sessionId')}/credentials`;
    const refused = await browser.call('POST', path, { body: keys('wrong') });
    expect([refused.status, refused.at('code')]).toEqual([409, 'credential_invalid']);
    expect(refused.text('error')).toContain('sandbox_');
    const missing = await browser.call('POST', path, {
      body: { connectorId: 'sandbox', type: 'api_key', data: {} },
    });
    expect(missing.at('details.faults.0.field')).toBe('data.apiKey');
    const long = await browser.call('POST', path, { body: keys('x'.repeat(10_001)) });
    expect(long.text('details.faults.0.rule')).toContain('at most 10000');
    expect((await browser.call('POST', path, { body: keys('sandbox_right') })).status).toBe(200);
  });

  test('a connect link for chosen apps connects only these apps', async () => {
    const browser = newBrowser();
    const opened = await browser.open(await newLink({ connectors: ['github'] }));
    const asked = await browser.call('POST', `/connect/sessions/${opened.text('sessionId')}/credentials`, {
      body: keys('sandbox_x'),
    });
    expect([asked.status, asked.at('code')]).toEqual([404, 'connector_not_found']);
  });

  test('a connect link is not found after its user is deleted', async () => {
    const gone = (await service.call('POST', '/users', { body: { username: 'gone' } })).text('userId');
    const link = await newLink({}, gone);
    const browser = newBrowser();
    const sessionId = (await browser.open(link)).text('sessionId');
    await service.call('DELETE', `/users/${gone}`);
    const asked = await browser.call('POST', `/connect/sessions/${sessionId}/credentials`, {
      body: keys('sandbox_x'),
    });
    expect(asked.status).toBe(404);
    expect((await browser.open(link)).at('code')).toBe('connect_session_not_found');
  });

  test('a form submitted in two tabs at once makes one account', async () => {
    const browser = newBrowser();
    const path = `/connect/sessions/${(await browser.open(await newLink({}))).text('sessionId')}/credentials`;
    const before = await credentialCount();
    const answers = await Promise.all(
      ['sandbox_tab1', 'sandbox_tab2'].map((key) => browser.call('POST', path, { body: keys(key) })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410]);
    expect(await credentialCount()).toBe(before + 1);
  });

  test('a connect link has no fields for values of the operator', async () => {
    const make = () =>
      service.call('POST', `/users/${userId}/credentials`, {
        headers: { 'x-svc-userid': userId },
        body: { connectorId: 'shopify', type: 'oauth2', data: { shop: 'my-shop' } },
      });
    const early = await make();
    expect([early.status, early.at('code')]).toEqual([409, 'oauth_app_missing']);
    const app = { clientId: 'x', clientSecret: 'x' };
    const nowhere = { connectors: ['gmail', 'google-drive'] };
    const dead = await service.call('POST', `/users/${userId}/connect-sessions`, { body: nowhere });
    expect([dead.status, dead.at('code')]).toEqual([409, 'oauth_app_missing']);
    await service.call('PUT', '/api/connectors/shopify/oauth-app', { body: app });
    const made = await make();
    expect(made.status).toBe(200);
    expect(made.text('authorizationUrl')).toMatch(/\/connect\/s\/[0-9A-Za-z]{43}$/);
    const opened = await newBrowser().open(made.text('authorizationUrl'));
    const forms = opened.at('connectors.0.authentication');
    expect(JSON.stringify(forms)).not.toContain('"shop"');
    const wrong = await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'shopify', type: 'oauth2', data: { shop: 'evil.example/..' } },
    });
    expect(wrong.at('details.faults.0.field')).toBe('data.shop');
  });
});

describe('the redirect URI of a link', () => {
  test.each([
    'https://app.example.com/done',
    'javascript:alert(1)',
    'http://app.example.com/',
    'https://user@app.example.com/',
    'http://127.0.0.1:1/#x',
    '//evil.example',
  ])('the redirect URI %s is refused unless it is listed', async (redirectUri) => {
    const asked = await service.call('POST', `/users/${userId}/connect-sessions`, { body: { redirectUri } });
    expect([asked.status, asked.at('code')]).toEqual([400, 'redirect_not_allowed']);
  });

  test('the redirect URI of a link must be exactly one of the settings', async () => {
    const listed = 'https://app.example.com/done?from=gatehouse';
    const settings = await service.call('PUT', '/api/settings', { body: { redirectUris: [listed] } });
    expect(settings.at('redirectUris.0')).toBe(listed);
    const ask = (redirectUri: string) =>
      service.call('POST', `/users/${userId}/connect-sessions`, { body: { redirectUri, state: 'a b&c' } });
    expect((await ask(`${listed}&x=1`)).status).toBe(400);
    const browser = newBrowser();
    const opened = await browser.open((await ask(listed)).text('url'));
    expect(opened.at('returns')).toBe(true);
    const left = await browser.call('POST', `/connect/sessions/${opened.text('sessionId')}/cancel`, {
      body: {},
    });
    expect(left.at('redirectTo')).toBe(
      'https://app.example.com/done?from=gatehouse&success=false&error=closed&state=a+b%26c',
    );
  });

  test('the redirect URI of a link may be loopback in development only', async () => {
    const redirectUri = 'http://localhost:5173/done';
    const here = await service.call('POST', `/users/${userId}/connect-sessions`, { body: { redirectUri } });
    expect(here.status).toBe(201);
    const user = (
      await service.call('POST', '/users', { bearer: service.productionKey, body: { username: 'ada' } })
    ).text('userId');
    const there = await service.call('POST', `/users/${user}/connect-sessions`, {
      bearer: service.productionKey,
      body: { redirectUri },
    });
    expect(there.at('code')).toBe('redirect_not_allowed');
  });

  test.each(['ftp://x.example/', 'https://a@b.example/', 'https://app.example.com/#x', 'nonsense'])(
    'the redirect URI of a link cannot be set to %s',
    async (uri) => {
      const asked = await service.call('PUT', '/api/settings', { body: { redirectUris: [uri] } });
      expect(asked.status).toBe(400);
      expect(asked.text('error')).toContain('redirectUris.0');
    },
  );
});

describe('the modal', () => {
  test('the modal lets the user choose in a category, as the user of the JWT', async () => {
    const made = await service.call('POST', '/connect/sessions', {
      bearer: jwt,
      body: { category: 'commerce' },
    });
    expect(made.status).toBe(201);
    const apps = made.at('connectors');
    expect(Array.isArray(apps) && apps.length > 3).toBe(true);
    expect(made.text('link')).toMatch(/\/connect\/s\//);
    const ended = await service.call('POST', `/connect/sessions/${made.text('sessionId')}/credentials`, {
      bearer: jwt,
      body: keys('sandbox_modal'),
    });
    expect(ended.at('result.success')).toBe(true);
    expect((await credential(ended.text('result.credentialId'))).at('userId')).toBe(userId);
  });

  test.each([
    [{ app: 'sandbox', category: 'commerce' }, 400, 'invalid_request'],
    [{ app: 'nothing' }, 404, 'connector_not_found'],
    [{ category: 'nothing' }, 400, 'invalid_request'],
    [{ returnTo: 'https://evil.example/' }, 400, 'redirect_not_allowed'],
    [{ surprise: 1 }, 400, 'invalid_request'],
  ])('a session of the modal with %j is %i', async (body, status, code) => {
    const asked = await service.call('POST', '/connect/sessions', { bearer: jwt, body });
    expect([asked.status, asked.at('code')]).toEqual([status, code]);
  });

  test('the modal is opened only by a JWT', async () => {
    const asked = await service.call('POST', '/connect/sessions', { body: { app: 'sandbox' } });
    expect([asked.status, asked.at('code')]).toEqual([403, 'forbidden']);
  });
});

describe('from pages of other origins', () => {
  const foreign = { origin: 'https://app.example.com' };

  test('an API key from a page of another origin is rejected', async () => {
    for (const [method, path] of [
      ['GET', '/connectors'],
      ['GET', '/users'],
      ['POST', '/connect/sessions'],
      ['GET', '/api/servers'],
    ] as const) {
      const asked = await service.call(method, path, {
        headers: foreign,
        ...(method === 'POST' ? { body: {} } : {}),
      });
      expect([asked.status, asked.at('code')]).toEqual([403, 'forbidden']);
      expect(asked.text('error')).toMatch(/API key/);
    }
  });

  test('a JWT works only on connect routes and from listed origins', async () => {
    const connect = () =>
      service.call('POST', '/connect/sessions', { bearer: jwt, headers: foreign, body: { app: 'sandbox' } });
    expect((await connect()).status).toBe(403);
    await service.call('PUT', '/api/settings', { body: { origins: [foreign.origin] } });
    const made = await connect();
    expect(made.status).toBe(201);
    expect(made.headers.get('access-control-allow-origin')).toBe(foreign.origin);
    const servers = await service.call('GET', '/api/servers', { bearer: jwt, headers: foreign });
    expect([servers.status, servers.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    expect((await service.call('GET', '/api/servers', { bearer: jwt })).status).toBe(200);
  });

  test('a preflight is answered for listed origins and connect routes', async () => {
    const ask = async (path: string, origin: string) => {
      const answer = await fetch(service.url + path, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      });
      return answer.headers.get('access-control-allow-origin');
    };
    expect(await ask('/connect/sessions', foreign.origin)).toBe(foreign.origin);
    expect(await ask('/connect/sessions', 'https://evil.example')).toBeNull();
    expect(await ask('/users', foreign.origin)).toBeNull();
  });

  test('a cookie of the browser is rejected', async () => {
    const browser = newBrowser();
    const sessionId = (await browser.open(await newLink({}))).text('sessionId');
    const asked = await browser.call('GET', `/connect/sessions/${sessionId}`, { headers: foreign });
    expect([asked.status, asked.at('code')]).toEqual([403, 'forbidden']);
  });
});

describe('a call without an account', () => {
  test('a call without an account fails with a connect link and succeeds afterwards', async () => {
    const user = (await service.call('POST', '/users', { body: { username: 'nobody yet' } })).text('userId');
    const run = () =>
      service.call('POST', '/connectors/sandbox/actions/list_customers/execute', {
        headers: { 'x-svc-userid': user },
        body: { input: { limit: 1 } },
      });
    const refused = await run();
    expect([refused.status, refused.at('code')]).toEqual([409, 'credential_required']);
    const browser = newBrowser();
    const opened = await browser.open(refused.text('details.connectUrl'));
    await browser.call('POST', `/connect/sessions/${opened.text('sessionId')}/credentials`, {
      body: keys('sandbox_mended'),
    });
    clock.advance(1000);
    expect((await run()).status).toBe(200);
  });

  test('a reconnected key keeps the id of its credential', async () => {
    const made = await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'sandbox', type: 'api_key', data: { apiKey: 'sandbox_old' } },
    });
    const credentialId = made.text('credentialId');
    const asked = await service.call('POST', `/users/${userId}/credentials/${credentialId}/reconnect`, {
      headers: { 'x-svc-userid': userId },
      body: {},
    });
    const browser = newBrowser();
    const opened = await browser.open(asked.text('authorizationUrl'));
    expect(opened.at('reconnect.credentialId')).toBe(credentialId);
    const ended = await browser.call('POST', `/connect/sessions/${opened.text('sessionId')}/credentials`, {
      body: keys('sandbox_new'),
    });
    expect(ended.at('result.credentialId')).toBe(credentialId);
  });

  test('an agent that repeats a call leaves at most twenty open links', async () => {
    const user = (await service.call('POST', '/users', { body: { username: 'loop' } })).text('userId');
    for (let n = 0; n < 25; n++) await newLink({}, user);
    const rows = await service.context.db
      .selectFrom('connect_sessions')
      .select('session_id')
      .where('user_id', '=', user)
      .execute();
    expect(rows).toHaveLength(20);
  });
});

test('a consent without its state or its browser ends on our own page', async () => {
  const back = await fetch(`${service.url}/oauth/callback/sandbox?code=x&state=y`, { redirect: 'manual' });
  expect(back.status).toBe(303);
  expect(back.headers.get('location')).toBe(`${service.url}/connect/ended?error=oauth_state_invalid`);
});

interface Browser {
  open(link: string): Promise<Answer>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

/** A browser as the service sees it: it keeps our cookie. */
function newBrowser(): Browser {
  let cookie: string | undefined;
  const call: Browser['call'] = async (method, path, options = {}) => {
    const answer = await service.call(method, path, {
      ...options,
      bearer: null,
      headers: { ...options.headers, ...(cookie === undefined ? {} : { cookie }) },
    });
    const given = answer.headers.get('set-cookie');
    if (given?.endsWith('; Path=/; HttpOnly; SameSite=Lax')) [cookie] = given.split(';', 1);
    return answer;
  };
  return { call, open: (link) => call('POST', `${new URL(link).pathname}/open`) };
}

async function newLink(body: object, user = userId): Promise<string> {
  const made = await service.call('POST', `/users/${user}/connect-sessions`, { body });
  expect(made.status).toBe(201);
  return made.text('url');
}

async function tokenOf(user: string): Promise<string> {
  return (await service.call('GET', `/2023-12/user/${user}/token`)).text('token');
}

function credential(credentialId: string): Promise<Answer> {
  return service.call('GET', `/users/${userId}/credentials/${credentialId}`, {
    headers: { 'x-svc-userid': userId },
  });
}

async function credentialCount(): Promise<number> {
  const listed = await service.call('GET', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
  });
  const data = listed.at('data');
  return Array.isArray(data) ? data.length : 0;
}

function keys(apiKey: string) {
  return { connectorId: 'sandbox', type: 'api_key', data: { apiKey } };
}
