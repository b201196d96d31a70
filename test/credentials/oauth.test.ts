import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  authorizationUrl,
  clientCredentialsTokens,
  exchangeCode,
  newVerifier,
  OAuthRefusal,
  refreshTokens,
  revokeTokens,
} from '../../src/credentials/oauth.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { Secret } from '../../src/lib/secret.ts';
import { manualClock } from '../support/clock.ts';
import { CLIENT, oauthCatalog, startTokenServer, type TokenServer } from '../support/token-server.ts';

const clock = manualClock();
const outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: true });
const context = { outbound, clock };
const now = clock.now();
let party: TokenServer;

beforeAll(async () => {
  party = await startTokenServer();
});
afterAll(async () => {
  await outbound.close();
  await party[Symbol.asyncDispose]();
});
beforeEach(() => {
  party.asked.length = 0;
  party.revoked.length = 0;
  party.mode = 'ok';
  answers({ access_token: 'at_canary', token_type: 'Bearer', expires_in: 3600 });
});

function answers(
  body: unknown,
  more: { status?: number; type?: string; headers?: Record<string, string> } = {},
) {
  party.answer = () => ({ text: typeof body === 'string' ? body : JSON.stringify(body), ...more });
}

/** Returns a grant of `oauthy`, with `changes` to its scheme. */
function grantOf(changes: Record<string, unknown> = {}, values: Record<string, string> = {}) {
  const connector = oauthCatalog(party.origin, changes).connector('development', 'oauthy');
  const scheme = connector?.definition.authentication[0];
  if (!connector || scheme?.type !== 'oauth2') throw new Error('no scheme');
  const client = {
    clientId: CLIENT.clientId,
    clientSecret: new Secret(CLIENT.clientSecret),
    scopes: undefined,
    fields: {},
  };
  const redirectUri = 'https://gate.example.com/oauth/callback/oauthy';
  const verifier = 'verifier-canary-of-forty-three-characters-at-least';
  return { connector, scheme, client, values, redirectUri, state: 'st_1', verifier };
}
const back = (params: Record<string, string> = {}) =>
  new URLSearchParams({ code: 'code_canary', state: 'st_1', ...params });
const exchange = (changes: Record<string, unknown> = {}, callback = back(), values = {}) =>
  exchangeCode(context, { ...grantOf(changes, values), callback });

describe('the address of the consent page', () => {
  test('the consent page gets client, redirect, state, scopes and a PKCE challenge', async () => {
    const grant = { ...grantOf(), verifier: newVerifier() };
    const url = new URL(await authorizationUrl(grant));
    expect(url.origin + url.pathname).toBe(`${party.origin}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'client_one',
      redirect_uri: grant.redirectUri,
      state: 'st_1',
      scope: 'read write',
      code_challenge: createHash('sha256').update(grant.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    expect(url.search).toContain('read%20write');
  });

  test("the consent address follows the file's deviations and the OAuth app's scopes", async () => {
    const grant = grantOf(
      {
        authorizeUrl: `${party.origin}/{shop}/authorize?v=2`,
        fields: { shop: { title: 'Shop', format: 'subdomain' } },
        authorizeParams: { access_type: 'offline', owner: '{shop}' },
        scopeSeparator: ',',
        scopeParam: 'user_scope',
        pkce: 'none',
      },
      { shop: 'my-shop' },
    );
    const client = { ...grant.client, scopes: ['a', 'b'] };
    const url = new URL(await authorizationUrl({ ...grant, client }));
    expect(url.pathname).toBe('/my-shop/authorize');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      v: '2',
      access_type: 'offline',
      owner: 'my-shop',
      user_scope: 'a,b',
    });
    expect(url.searchParams.has('code_challenge')).toBe(false);
    await expect(authorizationUrl({ ...grant, values: { shop: 'evil.com/x' } })).rejects.toMatchObject({
      code: 'credential_invalid',
    });
  });
});

describe('the exchange of a code', () => {
  test('the exchange of a code sends a form with secret and verifier', async () => {
    answers({
      access_token: 'at_1',
      token_type: 'bearer',
      refresh_token: 'rt_1',
      expires_in: '3600',
      scope: 'a b',
    });
    expect(await exchange()).toEqual({
      accessToken: 'at_1',
      refreshToken: 'rt_1',
      expiresAt: now + 3_600_000,
      scopes: ['a', 'b'],
      captured: {},
    });
    const [asked] = party.asked;
    expect(asked?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(asked?.params ?? [])).toEqual({
      grant_type: 'authorization_code',
      code: 'code_canary',
      redirect_uri: 'https://gate.example.com/oauth/callback/oauthy',
      code_verifier: 'verifier-canary-of-forty-three-characters-at-least',
      client_id: 'client_one',
      client_secret: CLIENT.clientSecret,
    });
  });

  test('the exchange of a code uses JSON, query, basic or headers as the file says', async () => {
    await exchange({
      tokenRequest: 'json',
      clientAuthentication: 'basic',
      tokenParams: { audience: '{clientId}' },
      tokenHeaders: { 'X-Version': '2' },
      pkce: 'none',
    });
    const [json] = party.asked;
    expect(JSON.parse(json?.text ?? '')).toEqual({
      grant_type: 'authorization_code',
      code: 'code_canary',
      redirect_uri: 'https://gate.example.com/oauth/callback/oauthy',
      audience: 'client_one',
    });
    const pair = Buffer.from(`client_one:${CLIENT.clientSecret}`).toString('base64');
    expect(json?.headers).toMatchObject({ 'x-version': '2', authorization: `Basic ${pair}` });

    await exchange({ tokenRequest: 'query', callbackParams: ['context'] }, back({ context: 'stores/1' }));
    const [, query] = party.asked;
    expect(query?.text).toBe('');
    expect(Object.fromEntries(query?.query ?? [])).toMatchObject({
      code: 'code_canary',
      context: 'stores/1',
      client_secret: CLIENT.clientSecret,
    });
  });

  test('the exchange of a code reads forms, nested names, captured values and ID tokens', async () => {
    answers('access_token=gho_1&scope=a%2Cb&token_type=bearer', {
      type: 'application/x-www-form-urlencoded',
    });
    expect(await exchange({ scopeSeparator: ',' })).toMatchObject({
      accessToken: 'gho_1',
      scopes: ['a', 'b'],
    });

    const claims = Buffer.from(JSON.stringify({ aud: ['client_one'], sub: 'u1', email: 'a@b.c' }));
    const facts = {
      ok: true,
      user: { token: 'at_2', until: now / 1000 + 600 },
      instance_url: 'https://EU.example.com/',
      id_token: `e30.${claims.toString('base64url')}.sig`,
    };
    answers(facts, { headers: { date: new Date(now).toUTCString() } });
    const nested = await exchange(
      {
        tokenAnswer: { accessToken: 'user.token', expiresAt: 'user.until' },
        capture: {
          instance: { from: 'token:instance_url', format: 'origin' },
          realm: { from: 'callback:realmId' },
        },
        account: { id: 'idToken:sub', name: 'idToken:email' },
      },
      back({ realmId: '991' }),
    );
    expect(nested).toEqual({
      accessToken: 'at_2',
      expiresAt: now + 600_000,
      captured: { instance: 'https://EU.example.com', realm: '991' },
      account: { id: 'u1', name: 'a@b.c' },
    });
  });

  test('the exchange of a code rejects malformed captures and foreign ID tokens', async () => {
    answers({
      access_token: 'at_canary',
      host: 'evil.com/path?',
      id_token: 'e30.eyJhdWQiOiJ4Iiwic3ViIjoiMSJ9.s',
    });
    await expect(
      exchange({ capture: { host: { from: 'token:host', format: 'host' } } }),
    ).rejects.toMatchObject({ code: 'upstream_failed', message: expect.stringContaining('capture.host') });
    expect(await exchange({ account: { id: 'idToken:sub' } })).not.toHaveProperty('account');
  });

  test('the exchange of a code uses the lifetime of the scheme when the answer has none', async () => {
    answers({ access_token: 'at_1' });
    expect(await exchange()).not.toHaveProperty('expiresAt');
    expect(await exchange({ accessTokenSeconds: 7200 })).toMatchObject({ expiresAt: now + 7_200_000 });
    answers({ access_token: 'at_1', expires_in: 0 });
    expect(await exchange()).not.toHaveProperty('expiresAt');
    answers(
      { access_token: 'at_1', expires_at: new Date(now + 60_000).toISOString() },
      { headers: { date: new Date(now).toUTCString() } },
    );
    expect(await exchange()).toMatchObject({ expiresAt: now + 60_000 });
  });

  test.each([
    ['another state', { state: 'st_2' }, {}],
    ['another issuer', { iss: 'https://evil.example.com' }, {}],
    [
      'another issuer than the file names',
      { iss: 'http://127.0.0.1:1' },
      { issuer: 'https://id.example.com' },
    ],
    ['no code', { code: '' }, {}],
  ])('the exchange of a code sends no request when the redirect has %s', async (_, params, changes) => {
    await expect(exchange(changes, back(params))).rejects.toMatchObject({ code: 'invalid_request' });
    expect(party.asked).toEqual([]);
  });

  test('the exchange of a code reads a refusal unless it is of another issuer', async () => {
    const refused = (params: Record<string, string> = {}) =>
      exchange({}, new URLSearchParams({ error: 'access_denied', state: 'st_1', ...params }));
    await expect(refused()).rejects.toMatchObject({ name: 'OAuthRefusal', error: 'access_denied' });
    await expect(refused({ iss: party.origin })).rejects.toMatchObject({ error: 'access_denied' });
    await expect(refused({ iss: 'https://evil.example.com' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    expect(party.asked).toEqual([]);
  });

  test('the exchange of a code accepts the issuer at the origin of the consent page', async () => {
    expect(await exchange({}, back({ iss: party.origin }))).toMatchObject({ accessToken: 'at_canary' });
  });

  test.each([
    [{ error: 'invalid_grant', error_description: 'code_canary is over' }, 400, 'invalid_grant'],
    [{ error: 'invalid_client' }, 401, 'invalid_client'],
    [{ ok: false, error: 'bad_code' }, 200, 'bad_code'],
    [{ error: { code: 'oops', message: 'No.' } }, 403, 'oops'],
    [{ status: 'BAD_REFRESH', message: 'gone' }, 400, 'http_400'],
  ])('a refusal %j is reported as a refusal, without secrets', async (body, status, error) => {
    answers(body, { status, headers: { 'www-authenticate': 'Basic realm="x"' } });
    const thrown: unknown = await exchange().catch((caught: unknown) => caught);
    expect(thrown).toBeInstanceOf(OAuthRefusal);
    expect(thrown).toMatchObject({ error });
    expect(String(thrown)).not.toContain('canary');
  });

  test.each([
    ['500', 'upstream_failed'],
    ['429', 'upstream_rate_limited'],
    ['html', 'upstream_failed'],
    ['drop', 'upstream_failed'],
    ['crash', 'upstream_failed'],
  ] as const)('a failure by %s is no refusal but %s', async (mode, code) => {
    party.mode = mode;
    await expect(exchange()).rejects.toMatchObject({ code });
  });

  test.each(['', '[]', '{', '{"ok":true}', '{"access_token":""}', '{"access_token":{}}', 'access denied'])(
    'the answer %j is neither tokens nor a refusal',
    async (body) => {
      answers(body);
      await expect(exchange()).rejects.toMatchObject({ code: 'upstream_failed' });
    },
  );
});

describe('a renewal', () => {
  test('a token renewal uses its own address and parameters, and omits absent values', async () => {
    const grant = grantOf({
      refreshUrl: `${party.origin}/token?renew=1`,
      refreshParams: { redirect_uri: 'x' },
      capture: { host: { from: 'token:host', format: 'host' } },
    });
    answers({ access_token: 'at_2', host: 'not a host' });
    expect(await refreshTokens(context, { ...grant, refreshToken: 'rt_canary' })).toEqual({
      accessToken: 'at_2',
      captured: {},
    });
    expect(party.asked[0]?.query.get('renew')).toBe('1');
    expect(Object.fromEntries(party.asked[0]?.params ?? [])).toMatchObject({
      grant_type: 'refresh_token',
      refresh_token: 'rt_canary',
      redirect_uri: 'x',
    });
  });

  test('a token renewal maps the invalid_grant codes of the app', async () => {
    answers({ error: 'bad_refresh_token' });
    const grant = grantOf({ tokenAnswer: { invalidGrant: ['bad_refresh_token'] } });
    await expect(refreshTokens(context, { ...grant, refreshToken: 'rt' })).rejects.toMatchObject({
      error: 'invalid_grant',
      description: 'bad_refresh_token',
    });
  });
});

test('client credentials request tokens with the id and secret of the user', async () => {
  party.answer = undefined;
  const { connector } = grantOf();
  const scheme = connector.definition.authentication[1];
  if (scheme?.type !== 'oauth2_client_credentials') throw new Error('no scheme');
  expect(await clientCredentialsTokens(context, { connector, scheme, values: { ...CLIENT } })).toMatchObject({
    expiresAt: now + 3_600_000,
  });
  await expect(
    clientCredentialsTokens(context, { connector, scheme, values: { ...CLIENT, clientSecret: 'wrong' } }),
  ).rejects.toMatchObject({ error: 'invalid_client' });
});

describe('tokens are revoked', () => {
  const values = { accessToken: 'at_1', refreshToken: 'rt_1' };
  test('tokens are revoked by a form with the refresh token', async () => {
    await revokeTokens(context, { ...grantOf(), values });
    expect(Object.fromEntries(party.revoked[0]?.params ?? [])).toEqual({
      token: 'rt_1',
      client_id: 'client_one',
      client_secret: CLIENT.clientSecret,
    });
  });

  test('tokens are revoked by other requests that the app defines', async () => {
    const url = `${party.origin}/revoke?t={token}`;
    await revokeTokens(context, {
      ...grantOf({ revocation: { url, method: 'DELETE', clientAuthentication: 'none' } }),
      values,
    });
    expect(party.revoked[0]).toMatchObject({ method: 'DELETE' });
    expect(party.revoked[0]?.query.get('t')).toBe('rt_1');
    const bearer = {
      url: `${party.origin}/revoke`,
      token: 'access',
      clientAuthentication: 'bearer',
      request: 'json',
    };
    await revokeTokens(context, { ...grantOf({ revocation: bearer }), values });
    expect(party.revoked[1]?.headers.authorization).toBe('Bearer at_1');
    expect(party.revoked[1]?.text).toBe('{}');
    party.mode = '500';
    await expect(revokeTokens(context, { ...grantOf(), values })).rejects.toMatchObject({
      code: 'upstream_failed',
    });
  });
});
