import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT, type JWK } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { startService, type Service } from '../support/service.ts';

type SigningKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

const NOW = Date.parse('2026-03-01T12:00:00Z');
const clock = manualClock(NOW);
const seconds = () => Math.floor(clock.now() / 1000);

/** A real issuer: a key pair and the key set that it serves over HTTP. */
let issuer: Server;
let issuerUrl: string;
let issuerKey: SigningKey;
/** The number of requests for the keys of the issuer that does not answer. */
let asked = 0;
let service: Service;
let userId: string;

beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  issuerKey = pair.privateKey;
  const publicJwk: JWK = { ...(await exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256' };
  issuer = createServer((req, res) => {
    if (req.url === '/down') {
      asked++;
      return res.destroy();
    }
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ keys: [publicJwk] }));
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  const address = issuer.address() as AddressInfo;
  issuerUrl = `http://127.0.0.1:${address.port}`;
  const trusted = { issuer: 'https://login.example.com', jwksUrl: `${issuerUrl}/jwks`, audience: 'my-app' };
  service = await startService({
    clock,
    env: {
      // The issuer's keys are fetched even when private networks are blocked.
      GATEHOUSE_ALLOW_PRIVATE_NETWORK: '0',
      GATEHOUSE_JWT_ISSUERS: JSON.stringify([
        { ...trusted, environment: 'development', userClaim: 'email' },
        { ...trusted, issuer: 'https://new.example.com', environment: 'development', createUsers: true },
        {
          ...trusted,
          issuer: 'https://down.example.com',
          jwksUrl: `${issuerUrl}/down`,
          environment: 'development',
        },
      ]),
    },
  });
  userId = (await service.call('POST', '/users', { body: { username: 'ada@example.com' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  issuer.close();
});

const list = (bearer: string) => service.call('GET', '/api/servers', { bearer });

describe('a user token', () => {
  const issue = async () => (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');

  test('a user token verifies with the published keys and carries its claims', async () => {
    const keys = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: JWK[] };
    const { payload, protectedHeader } = await jwtVerify(await issue(), createLocalJWKSet(keys), {
      issuer: service.url,
      audience: 'gatehouse',
      currentDate: new Date(clock.now()),
    });
    expect(protectedHeader).toMatchObject({ alg: 'EdDSA', kid: expect.any(String) });
    expect(payload).toMatchObject({
      sub: userId,
      env: 'development',
      scope: 'user',
      jti: expect.any(String),
    });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600);
  });

  test('a user token works for one hour and its tolerance, then is token_expired', async () => {
    const token = await issue();
    clock.advance(HOUR + 29_000);
    expect((await list(token)).status).toBe(200);
    clock.advance(2000);
    const late = await list(token);
    expect([late.status, late.text('code')]).toEqual([401, 'token_expired']);
    expect(late.headers.get('www-authenticate')).toContain('invalid_token');
  });

  test('a user token with one changed character, another algorithm or none is refused', async () => {
    const token = await issue();
    const [header = '', payload = '', signature = ''] = token.split('.');
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const other = await generateKeyPair('EdDSA');
    const forged = [
      `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      `${header}.${part({ ...claims, sub: 'usr_other' })}.${signature}`,
      `${part({ alg: 'none' })}.${payload}.`,
      `${part({ alg: 'HS256' })}.${payload}.${signature}`,
      await new SignJWT(claims)
        .setProtectedHeader({
          alg: 'EdDSA',
          kid: JSON.parse(Buffer.from(header, 'base64url').toString()).kid,
        })
        .sign(other.privateKey),
      `${header}.${payload}`,
    ];
    for (const one of forged) {
      const answer = await list(one);
      expect([answer.status, answer.text('code')]).toEqual([401, 'unauthorized']);
    }
  });

  test('a user token survives the rotation of the signing key', async () => {
    clock.advance(30 * DAY - HOUR - 15 * MINUTE);
    const before = await issue();
    clock.advance(20 * MINUTE);
    const after = await issue();
    expect(before.split('.')[0]).not.toBe(after.split('.')[0]);
    expect((await list(before)).status).toBe(200);
    expect((await list(after)).status).toBe(200);
  });

  test('a user token is rejected after its user is deleted', async () => {
    const gone = (await service.call('POST', '/users', { body: { username: 'gone' } })).text('userId');
    const token = (await service.call('GET', `/2023-12/user/${gone}/token`)).text('token');
    expect((await list(token)).status).toBe(200);
    await service.call('PUT', `/users/${gone}`, { body: { enabled: false } });
    expect((await list(token)).status).toBe(401);
    await service.call('PUT', `/users/${gone}`, { body: { enabled: true } });
    expect((await list(token)).status).toBe(200);
    await service.call('DELETE', `/users/${gone}`);
    expect((await list(token)).status).toBe(401);
  });
});

describe('a token of a trusted issuer', () => {
  const sign = (
    claims: object,
    options: { alg?: string; key?: SigningKey | Uint8Array; issuer?: string; audience?: string } = {},
  ) =>
    new SignJWT({ iat: seconds(), exp: seconds() + 600, email: 'ada@example.com', ...claims })
      .setProtectedHeader({ alg: options.alg ?? 'ES256', kid: 'k1' })
      .setIssuer(options.issuer ?? 'https://login.example.com')
      .setAudience(options.audience ?? 'my-app')
      .sign(options.key ?? issuerKey);

  test('a token of a trusted issuer acts for the user that its claim names', async () => {
    const made = await service.call('POST', '/api/servers', {
      bearer: await sign({}),
      body: { name: 'issued' },
    });
    expect(made.body).toMatchObject({ ownerUserId: userId });
  });

  test('a foreign token of an unknown user is 401, unless the issuer creates users', async () => {
    expect((await list(await sign({ email: 'nobody@example.com' }))).status).toBe(401);
    const token = await sign({ sub: 'newcomer' }, { issuer: 'https://new.example.com' });
    const both = await Promise.all([list(token), list(token)]);
    expect(both.map((answer) => answer.status)).toEqual([200, 200]);
    const found = await service.call('GET', '/users?username=newcomer');
    expect(found.body).toMatchObject({ data: [{ username: 'newcomer' }] });
  });

  test.each([
    ['with a NUL', 'a\0b', 'must not hold control characters'],
    ['with a line separator', 'a\u2028b', 'must not hold control characters'],
    ['of 201 characters', 'x'.repeat(201), 'must be 1 to 200 characters'],
    ['with a blank before it', ' newcomer', 'must not begin or end with a blank'],
  ])('a token of an issuer that creates users makes no user of a name %s', async (_what, sub, rule) => {
    const refused = await list(await sign({ sub }, { issuer: 'https://new.example.com' }));
    expect([refused.status, refused.text('code')]).toEqual([401, 'unauthorized']);
    expect(refused.text('error')).toContain(rule);
    const users = await service.call('GET', '/users');
    expect(JSON.stringify(users.body)).not.toContain(JSON.stringify(sub));
  });

  test('keys of an issuer that cannot be fetched are asked for once in five seconds', async () => {
    const status = async (sub: string) =>
      (await list(await sign({ sub }, { issuer: 'https://down.example.com' }))).status;
    expect([await status('one'), await status('other'), asked]).toEqual([503, 503, 1]);
    clock.advance(5000);
    expect([await status('one'), asked]).toEqual([503, 2]);
  });

  test('a foreign token issued 30 s ahead or a day before its expiry is accepted', async () => {
    for (const claims of [{ iat: seconds() + 30 }, { iat: seconds() - 100, exp: seconds() + 86_300 }])
      expect((await list(await sign(claims))).status).toBe(200);
  });

  test('a foreign token is revoked even if the clock of its issuer is ahead', async () => {
    const before = await Promise.all([
      sign({}),
      sign({ iat: seconds() + 30 }),
      sign({ iat: seconds() - 60 }),
    ]);
    expect(await Promise.all(before.map(async (one) => (await list(one)).status))).toEqual([200, 200, 200]);
    await service.call('POST', `/users/${userId}/tokens/revoke`);
    clock.advance(60_000);
    expect(await Promise.all(before.map(async (one) => (await list(one)).status))).toEqual([401, 401, 401]);
    clock.advance(1000);
    expect((await list(await sign({}))).status).toBe(200);
  });

  test.each([
    ['of another audience', () => sign({}, { audience: 'other-app' })],
    ['of an issuer that is not trusted', () => sign({}, { issuer: 'https://evil.example.com' })],
    ['that lives longer than a day', () => sign({ exp: seconds() + 90_000 })],
    ['without expiry', () => sign({ exp: undefined })],
    ['signed with a shared secret', () => sign({}, { alg: 'HS256', key: new Uint8Array(32) })],
    ['without the user claim', () => sign({ email: undefined })],
    ['without the time of its issue', () => sign({ iat: undefined })],
    ['issued more than 30 s ahead', () => sign({ iat: seconds() + 31 })],
    [
      'of ten years that begins in ten years',
      () => sign({ iat: seconds() + 315_360_000, exp: seconds() + 315_363_600 }),
    ],
  ])('a foreign token %s is refused', async (_, make) => {
    const answer = await list(await make());
    expect([answer.status, answer.text('code')]).toEqual([401, 'unauthorized']);
  });
});
