import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCatalog } from '../support/build-catalog.ts';
import {
  authorizationUrl,
  exchangeCode,
  OAuthRefusal,
  refreshTokens,
  revokeTokens,
} from '../../src/credentials/oauth.ts';
import { refreshByOf } from '../../src/credentials/renewal-times.ts';
import { DAY } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { manualClock } from '../support/clock.ts';
import { openUpstream, startUpstream, type Upstream } from '../support/upstream.ts';

/** Tests of the grants of shipped connectors, with requests and answers as their sources describe them. */

interface Sent {
  /** `POST https://slack.com/api/oauth.v2.access` */
  line: string;
  headers: Record<string, unknown>;
  body: string;
}

const NOW = Date.parse('2026-11-21T12:00:00Z');
const clock = manualClock(NOW);
let upstream: Upstream;
let open: ReturnType<typeof openUpstream>;
let sent: Sent[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
  open = openUpstream(clock);
});
afterAll(async () => {
  await open.close();
  await upstream[Symbol.asyncDispose]();
});

/** An outbound client that sends every request to the server of this test. */
function context() {
  const { outbound } = open;
  return {
    clock,
    outbound: {
      ...outbound,
      request: (request: Parameters<typeof outbound.request>[0]) =>
        outbound.request({ ...request, url: request.url.replace(/^https:\//, upstream.origin) }),
    },
  };
}

/** Sets the app's answer from now on: text as it is, a form by its content type. */
function answerWith(body: object | string, status = 200): void {
  sent = [];
  upstream.handler = (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      sent.push({
        line: `${req.method} https:/${req.url}`,
        headers: req.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      // Without a Date header, times in answers are read by the clock of the test.
      res.sendDate = false;
      res
        .writeHead(status, { 'content-type': text.startsWith('{') ? 'application/json' : 'text/plain' })
        .end(text);
    });
  };
}

function grantOf(id: string, values: Record<string, string> = {}) {
  const path = join(import.meta.dirname, '../../data/connectors', id, 'connector.yaml');
  const connector = buildCatalog([{ path, text: readFileSync(path, 'utf8') }]).connector('production', id);
  const scheme = connector?.definition.authentication.find(({ type }) => type === 'oauth2');
  if (!connector || scheme?.type !== 'oauth2') throw new Error(`${id} has no oauth2`);
  return {
    connector,
    scheme,
    client: {
      clientId: 'app-1',
      clientSecret: new Secret('s3cret'),
      scopes: ['one', 'two'],
      // The OAuth app is registered at the host of the account.
      fields: { siteUrl: 'https://gitlab.com', ...values },
    },
    values,
    redirectUri: `https://gatehouse.example.com/oauth/callback/${id}`,
    state: 'state-1',
    verifier: 'v'.repeat(43),
  };
}

const exchange = (id: string, values?: Record<string, string>, more: Record<string, string> = {}) =>
  exchangeCode(context(), {
    ...grantOf(id, values),
    callback: new URLSearchParams({ code: 'code-1', state: 'state-1', ...more }),
  });
const first = (): Sent => {
  const [one] = sent;
  if (!one || sent.length > 1) throw new Error(`${sent.length} requests were sent`);
  return one;
};
const form = () => Object.fromEntries(new URLSearchParams(first().body));
const BASIC = `Basic ${Buffer.from('app-1:s3cret').toString('base64')}`;
const COMMON = {
  grant_type: 'authorization_code',
  code: 'code-1',
  client_id: 'app-1',
  client_secret: 's3cret',
};

describe('the consent page', () => {
  test.each([
    ['slack', {}, 'https://slack.com/oauth/v2/authorize', { scope: 'one,two' }, false],
    ['github', {}, 'https://github.com/login/oauth/authorize', { scope: 'one two' }, true],
    ['gitlab', {}, 'https://gitlab.com/oauth/authorize', { scope: 'one two' }, true],
    [
      'gitlab',
      { siteUrl: 'https://git.example.com/gitlab' },
      'https://git.example.com/gitlab/oauth/authorize',
      { scope: 'one two' },
      true,
    ],
    ['hubspot', {}, 'https://app.hubspot.com/oauth/authorize', { scope: 'one two' }, true],
    [
      'shopify',
      { shop: 'my-shop' },
      'https://my-shop.myshopify.com/admin/oauth/authorize',
      { scope: 'one,two' },
      false,
    ],
    ['stripe', {}, 'https://connect.stripe.com/oauth/authorize', { scope: 'one two' }, false],
    ['notion', {}, 'https://api.notion.com/v1/oauth/authorize', { owner: 'user' }, false],
    [
      'dropbox',
      {},
      'https://www.dropbox.com/oauth2/authorize',
      { scope: 'one two', token_access_type: 'offline' },
      true,
    ],
    [
      'salesforce',
      { loginHost: 'acme.my.salesforce.com' },
      'https://acme.my.salesforce.com/services/oauth2/authorize',
      { scope: 'one two' },
      true,
    ],
    [
      'square',
      { host: 'connect.squareupsandbox.com' },
      'https://connect.squareupsandbox.com/oauth2/authorize',
      { scope: 'one two' },
      false,
    ],
    [
      'bigcommerce',
      { storeHash: 'abc123' },
      'https://login.bigcommerce.com/oauth2/authorize',
      { scope: 'one two', context: 'stores/abc123' },
      false,
    ],
  ])('the consent page of %s with %j is %s with %j', async (id, values, address, params, pkce) => {
    const url = new URL(await authorizationUrl(grantOf(id, values)));
    expect(url.origin + url.pathname).toBe(address);
    const query = Object.fromEntries(url.searchParams);
    expect(query).toMatchObject({ response_type: 'code', client_id: 'app-1', state: 'state-1', ...params });
    expect('code_challenge' in query).toBe(pkce);
    expect(url.href).not.toContain('s3cret');
  });

  test('the consent page of Shopify refuses a shop that is no subdomain', async () => {
    for (const shop of ['evil.com/', 'a@evil.com', 'evil.com#', '../x'])
      await expect(authorizationUrl(grantOf('shopify', { shop }))).rejects.toMatchObject({
        code: 'credential_invalid',
      });
  });
});

describe('the code is exchanged for tokens', () => {
  test('Slack: the client by HTTP Basic, the workspace from the answer', async () => {
    answerWith({
      ok: true,
      access_token: 'xoxb-1',
      token_type: 'bot',
      scope: 'chat:write,users:read',
      team: { id: 'T1', name: 'Acme' },
      authed_user: { id: 'U1' },
    });
    expect(await exchange('slack')).toEqual({
      accessToken: 'xoxb-1',
      scopes: ['chat:write', 'users:read'],
      captured: {},
      account: { id: 'T1', name: 'Acme' },
    });
    expect(first()).toMatchObject({
      line: 'POST https://slack.com/api/oauth.v2.access',
      headers: { authorization: BASIC },
    });
    expect(form()).not.toHaveProperty('client_secret');
  });

  test('Slack: ok false in a 200 is a refusal, or invalid_grant for a refresh token', async () => {
    answerWith({ ok: false, error: 'bad_redirect_uri' });
    await expect(exchange('slack')).rejects.toMatchObject({ error: 'bad_redirect_uri' });
    answerWith({ ok: false, error: 'invalid_refresh_token' });
    const refresh = refreshTokens(context(), { ...grantOf('slack'), refreshToken: 'xoxe-1' });
    await expect(refresh).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(refresh).rejects.toBeInstanceOf(OAuthRefusal);
  });

  test('GitHub: JSON or a form, scopes with commas, errors in a 200', async () => {
    answerWith('access_token=gho_1&scope=repo%2Cgist&token_type=bearer');
    const tokens = { accessToken: 'gho_1', scopes: ['repo', 'gist'], captured: {} };
    expect(await exchange('github')).toEqual(tokens);
    expect(first()).toMatchObject({
      line: 'POST https://github.com/login/oauth/access_token',
      headers: { accept: 'application/json' },
    });
    expect(form()).toMatchObject({ ...COMMON, code_verifier: 'v'.repeat(43) });
    answerWith({ access_token: 'gho_1', scope: 'repo,gist', token_type: 'bearer' });
    expect(await exchange('github')).toEqual(tokens);
    answerWith({ error: 'bad_verification_code', error_description: 'The code passed is incorrect.' });
    await expect(exchange('github')).rejects.toMatchObject({
      error: 'invalid_grant',
      description: 'The code passed is incorrect.',
    });
  });

  test('HubSpot: scopes as a list, the account as a number', async () => {
    answerWith({
      access_token: 'a',
      refresh_token: 'r',
      expires_in: 1800,
      token_type: 'bearer',
      hub_id: 62515,
      scopes: ['oauth', 'tickets'],
    });
    expect(await exchange('hubspot')).toEqual({
      accessToken: 'a',
      refreshToken: 'r',
      expiresAt: NOW + 1_800_000,
      scopes: ['oauth', 'tickets'],
      captured: {},
      account: { id: '62515' },
    });
    expect(first().line).toBe('POST https://api.hubapi.com/oauth/2026-03/token');
  });

  test('Shopify: JSON at the shop, for an offline token that expires', async () => {
    answerWith({
      access_token: 'shpat_1',
      scope: 'read_orders,write_orders',
      expires_in: 3600,
      refresh_token: 'shprt_1',
      refresh_token_expires_in: 2_592_000,
    });
    const back = 'code=code-1&shop=my-shop.myshopify.com&state=state-1&timestamp=1337178173';
    const hmac = createHmac('sha256', 's3cret').update(back).digest('hex');
    const more = { shop: 'my-shop.myshopify.com', timestamp: '1337178173' };
    const tokens = await exchange('shopify', { shop: 'my-shop' }, { ...more, hmac });
    expect(tokens).toMatchObject({
      accessToken: 'shpat_1',
      refreshToken: 'shprt_1',
      expiresAt: NOW + 3_600_000,
      refreshExpiresAt: NOW + 30 * DAY,
      scopes: ['read_orders', 'write_orders'],
    });
    // Half of the lifetime in the answer comes before the assumed lifetime.
    const { scheme } = grantOf('shopify');
    expect(refreshByOf(scheme, tokens, NOW)).toBe(NOW + 15 * DAY);
    expect(refreshByOf(scheme, { refreshToken: 'r' }, NOW)).toBeGreaterThan(NOW + 15 * DAY);
    expect(first().line).toBe('POST https://my-shop.myshopify.com/admin/oauth/access_token');
    expect(JSON.parse(first().body)).toMatchObject({ ...COMMON, expiring: '1' });

    // A redirect without Shopify's valid signature is rejected.
    for (const stray of [
      more,
      { ...more, hmac: hmac.replace(/^./, 'x') },
      { ...more, hmac, shop: 'other' },
    ]) {
      await expect(exchange('shopify', { shop: 'my-shop' }, stray)).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
    expect(sent).toHaveLength(1);
  });

  test('Stripe: the connected account, tokens without expiry', async () => {
    answerWith({
      access_token: 'sk_1',
      scope: 'read_write',
      refresh_token: 'rt_1',
      stripe_user_id: 'acct_1',
      livemode: false,
    });
    expect(await exchange('stripe')).toEqual({
      accessToken: 'sk_1',
      refreshToken: 'rt_1',
      scopes: ['read_write'],
      captured: { stripeUserId: 'acct_1' },
      account: { id: 'acct_1' },
    });
  });

  test('Notion: JSON, the client by HTTP Basic, no refresh token', async () => {
    answerWith({
      access_token: 'ntn_1',
      token_type: 'bearer',
      refresh_token: null,
      bot_id: 'b1',
      workspace_id: 'w1',
      workspace_name: null,
      owner: { type: 'workspace', workspace: true },
    });
    expect(await exchange('notion')).toEqual({
      accessToken: 'ntn_1',
      captured: {},
      account: { id: 'w1' },
    });
    expect(first().headers).toMatchObject({ authorization: BASIC, 'content-type': 'application/json' });
    expect(JSON.parse(first().body)).toEqual({
      grant_type: 'authorization_code',
      code: 'code-1',
      redirect_uri: 'https://gatehouse.example.com/oauth/callback/notion',
    });
  });

  test('Square: JSON, the expiry as a date, faults as a list', async () => {
    answerWith({
      access_token: 'EAAA',
      token_type: 'bearer',
      expires_at: '2026-12-21T12:00:00Z',
      merchant_id: 'MLA1',
      refresh_token: 'EQAA',
    });
    expect(await exchange('square')).toMatchObject({
      accessToken: 'EAAA',
      refreshToken: 'EQAA',
      expiresAt: Date.parse('2026-12-21T12:00:00Z'),
      account: { id: 'MLA1' },
    });
    expect(first().line).toBe('POST https://connect.squareup.com/oauth2/token');
    expect(JSON.parse(first().body)).toMatchObject(COMMON);
    answerWith({ errors: [{ category: 'AUTHENTICATION_ERROR', code: 'UNAUTHORIZED', detail: 'No.' }] }, 401);
    await expect(exchange('square')).rejects.toMatchObject({ error: 'UNAUTHORIZED' });
  });

  test('BigCommerce: parameters of the redirect are sent along', async () => {
    answerWith({
      access_token: 'bc_1',
      scope: 'store_v2_orders',
      user: { id: 1, email: 'ada@example.com' },
      context: 'stores/abc123',
    });
    const values = { storeHash: 'abc123' };
    const callback = { scope: 'store_v2_orders', context: 'stores/abc123', account_uuid: 'x' };
    expect(await exchange('bigcommerce', values, callback)).toMatchObject({ accessToken: 'bc_1' });
    expect(first().line).toBe('POST https://login.bigcommerce.com/oauth2/token');
    expect(JSON.parse(first().body)).toEqual({
      ...COMMON,
      redirect_uri: 'https://gatehouse.example.com/oauth/callback/bigcommerce',
      scope: 'store_v2_orders',
      context: 'stores/abc123',
    });
  });

  test('Dropbox and GitLab: standard grants', async () => {
    answerWith({
      access_token: 'sl.1',
      expires_in: 14_400,
      refresh_token: 'r',
      scope: 'a b',
      account_id: 'dbid:1',
    });
    expect(await exchange('dropbox')).toMatchObject({ refreshToken: 'r', account: { id: 'dbid:1' } });
    expect(form()).toMatchObject({ ...COMMON, code_verifier: 'v'.repeat(43) });
    answerWith({ access_token: 'g', expires_in: 7200, refresh_token: 'r2', created_at: 1_607_635_748 });
    expect(await exchange('gitlab', { siteUrl: 'https://git.example.com' })).toMatchObject({
      expiresAt: NOW + 7_200_000,
    });
    expect(first().line).toBe('POST https://git.example.com/oauth/token');
  });
});

describe('revocation', () => {
  const revoke = (id: string, values: Record<string, string>) =>
    revokeTokens(context(), { ...grantOf(id, values), values });

  test.each<[string, Record<string, string>, string, Record<string, unknown>, unknown]>([
    [
      'slack',
      { accessToken: 'xoxb-1' },
      'GET https://slack.com/api/auth.revoke',
      { authorization: 'Bearer xoxb-1' },
      '',
    ],
    [
      'github',
      { accessToken: 'gho_1' },
      'DELETE https://api.github.com/applications/app-1/token',
      { authorization: BASIC },
      { access_token: 'gho_1' },
    ],
    [
      'gitlab',
      { accessToken: 'a', refreshToken: 'r', siteUrl: 'https://git.example.com' },
      'POST https://git.example.com/oauth/revoke',
      {},
      'token=r&client_id=app-1&client_secret=s3cret',
    ],
    [
      'hubspot',
      { accessToken: 'a', refreshToken: 'r' },
      'POST https://api.hubapi.com/oauth/2026-03/token/revoke',
      {},
      'token=r&client_id=app-1&client_secret=s3cret',
    ],
    [
      'stripe',
      { accessToken: 'sk_1', stripeUserId: 'acct_1' },
      'POST https://connect.stripe.com/oauth/deauthorize',
      { authorization: 'Bearer s3cret' },
      'client_id=app-1&stripe_user_id=acct_1',
    ],
    [
      'notion',
      { accessToken: 'ntn_1' },
      'POST https://api.notion.com/v1/oauth/revoke',
      { authorization: BASIC },
      { token: 'ntn_1' },
    ],
    [
      'dropbox',
      { accessToken: 'sl.1', refreshToken: 'r' },
      'POST https://api.dropboxapi.com/2/auth/token/revoke',
      { authorization: 'Bearer sl.1' },
      '',
    ],
    [
      'square',
      { accessToken: 'EAAA', refreshToken: 'EQAA' },
      'POST https://connect.squareup.com/oauth2/revoke',
      { authorization: 'Client s3cret' },
      { client_id: 'app-1', access_token: 'EAAA' },
    ],
  ])(
    'a revocation is sent to %s in the form that the app expects',
    async (id, values, line, headers, body) => {
      answerWith({ ok: true });
      await revoke(id, values);
      const one = first();
      expect(one).toMatchObject({ line, headers });
      expect(one.body.startsWith('{') ? JSON.parse(one.body) : one.body).toEqual(body);
    },
  );

  test('a revocation sends nothing to an app that has no revocation', async () => {
    answerWith({});
    await revoke('bigcommerce', { accessToken: 'a' });
    expect(sent).toEqual([]);
  });
});
