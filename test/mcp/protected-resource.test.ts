import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAuthorizationServer, type AuthorizationServer } from '../support/authorization-server.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

let issuer: AuthorizationServer;
let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  issuer = await startAuthorizationServer('ada');
  service = await startService({
    env: {
      GATEHOUSE_JWT_ISSUERS: JSON.stringify([
        {
          issuer: issuer.issuer,
          jwksUrl: `${issuer.issuer}/jwks`,
          audience: 'gatehouse-of-ours',
          environment: 'development',
        },
      ]),
    },
  });
  await service.call('POST', '/users', { body: { username: 'ada' } });
  one = await shop(service);
});
afterAll(async () => {
  await service.stop();
  await issuer[Symbol.asyncDispose]();
});

const metadataUrl = (serverId = one.serverId) =>
  `${service.url}/.well-known/oauth-protected-resource/mcp/${serverId}`;

test('the official client finds the issuer, signs in and lists tools', async () => {
  let authorizeAt: URL | undefined;
  let client: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = '';
  const authProvider: OAuthClientProvider = {
    redirectUrl: 'http://127.0.0.1:9/callback',
    clientMetadata: { client_name: 'test', redirect_uris: ['http://127.0.0.1:9/callback'] },
    clientInformation: () => client,
    saveClientInformation: (given) => void (client = given),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    redirectToAuthorization: (url) => void (authorizeAt = url),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
  };
  const open = () => new StreamableHTTPClientTransport(new URL(one.url), { authProvider });
  const first = open();
  await expect(new Client({ name: 'test', version: '1' }).connect(first)).rejects.toThrow('Unauthorized');
  expect(authorizeAt?.searchParams.get('resource')).toBe(one.url);
  const consent = await fetch(authorizeAt ?? '', { redirect: 'manual' });
  const code = new URL(consent.headers.get('location') ?? '').searchParams.get('code') ?? '';
  await first.finishAuth(code);
  const connected = new Client({ name: 'test', version: '1' });
  await connected.connect(open());
  expect((await connected.listTools()).tools.length).toBeGreaterThan(5);
  await connected.close();
});

describe('a 401', () => {
  test.each([
    ['without a bearer', {}],
    ['with a wrong key', { authorization: 'Bearer gh_dev_wrong' }],
    ['with a forged JWT', { authorization: 'Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA' }],
    ['with a wrong access token', { authorization: `Bearer gh_mcp_${'a'.repeat(43)}` }],
  ])('a 401 %s on the API-key URL says where the metadata is', async (_, headers) => {
    const refused = await rpc(one.url, 'tools/list', {}, { headers });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer /);
    expect(refused.headers.get('www-authenticate')).toContain(`resource_metadata="${metadataUrl()}"`);
  });

  test('a 401 on the token URL names no metadata', async () => {
    const refused = await rpc(`${one.url}/gh_mcp_${'a'.repeat(43)}`, 'tools/list');
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, null]);
    const metadata = await fetch(`${metadataUrl()}/${one.accessToken}`);
    expect(metadata.status).toBe(404);
    expect(await metadata.text()).not.toContain(one.accessToken);
  });

  test('a 401 for an unknown server names no issuer', async () => {
    const refused = await rpc(`${service.url}/mcp/srv_absent`, 'tools/list');
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe('the metadata', () => {
  test('the resource metadata names address, issuer and header, for any origin', async () => {
    const answer = await fetch(metadataUrl(), { headers: { origin: 'https://inspector.example.com' } });
    expect(await answer.json()).toMatchObject({
      resource: one.url,
      authorization_servers: [issuer.issuer],
      bearer_methods_supported: ['header'],
    });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('the resource metadata is 404 for unknown servers and without issuers', async () => {
    const production = await service.call('POST', '/api/servers', {
      bearer: service.productionKey,
      body: { name: 'production' },
    });
    for (const serverId of ['srv_absent', `srv_${'0'.repeat(22)}`, production.text('serverId')]) {
      expect((await fetch(metadataUrl(serverId))).status).toBe(404);
    }
    const refused = await rpc(production.text('url'), 'tools/list');
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
  });
});

describe('a token of the issuer', () => {
  const list = async (url: string, token: string) =>
    (await rpc(url, 'tools/list', {}, { headers: { authorization: `Bearer ${token}` } })).status;

  test('a token of the issuer is valid only for this server or the configured audience', async () => {
    const other = await shop(service);
    expect(await list(one.url, await issuer.token(one.url))).toBe(200);
    expect(await list(one.url, await issuer.token('gatehouse-of-ours'))).toBe(200);
    expect(await list(other.url, await issuer.token(one.url))).toBe(401);
    expect(await list(one.url, await issuer.token(`${one.url}/`))).toBe(401);
    expect(await list(one.url, await issuer.token(service.url))).toBe(401);
  });

  test('a token of the issuer for a server is rejected by REST', async () => {
    const bearer = await issuer.token(one.url);
    expect((await service.call('GET', '/api/servers', { bearer })).status).toBe(401);
  });
});
