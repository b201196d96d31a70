import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../src/lib/clock.ts';
import { startSignIn, type SignIn } from '../support/sign-in.ts';

/** Signed-in accounts stay alive, end when they are revoked, and work again after a new consent. */
let bench: SignIn;

beforeAll(async () => {
  bench = await startSignIn();
});
afterAll(() => bench[Symbol.asyncDispose]());
beforeEach(() => bench.next());

describe('at the sandbox', () => {
  test('the access token is renewed repeatedly with the latest refresh token', async () => {
    const { back } = await bench.connect('sandbox');
    const used = new Set([(await bench.valuesOf(back))['refreshToken']]);
    for (let round = 1; round <= 3; round++) {
      bench.clock.advance(HOUR);
      expect((await bench.execute('sandbox', 'list_customers', { limit: 1 })).status).toBe(200);
      const { refreshToken } = await bench.valuesOf(back);
      expect(used).not.toContain(refreshToken);
      used.add(refreshToken);
    }
    expect((await bench.credentialOf(back)).at('state')).toBe('active');
  });

  test('concurrent calls with an expired token share one renewal', async () => {
    const { back } = await bench.connect('sandbox');
    bench.clock.advance(HOUR);
    const calls = Array.from({ length: 20 }, () => bench.execute('sandbox', 'list_products', { limit: 1 }));
    for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
    bench.clock.advance(HOUR);
    expect((await bench.execute('sandbox', 'list_products', { limit: 1 })).status).toBe(200);
    expect((await bench.credentialOf(back)).at('state')).toBe('active');
  });

  test('deleting the credential revokes its tokens at the sandbox', async () => {
    const { back } = await bench.connect('sandbox');
    const { accessToken = '' } = await bench.valuesOf(back);
    expect(await bench.meAtSandbox(accessToken)).toBe(200);
    await remove(back);
    expect(await bench.meAtSandbox(accessToken)).toBe(401);
  });

  test('a new consent restores a credential under its old id for the same account', async () => {
    const { back } = await bench.connect('sandbox');
    await bench.revokeAtSandbox((await bench.valuesOf(back))['refreshToken'] ?? '');
    const refused = await bench.execute('sandbox', 'list_customers', { limit: 1 });
    expect([refused.status, refused.at('code')]).toEqual([409, 'credential_invalid']);
    expect((await bench.credentialOf(back)).at('state')).toBe('revoked');

    const credentialId = back.get('credentialId') ?? '';
    const other = await bench.connect('sandbox', { reconnect: credentialId, account: 'Another shop' });
    expect(other.back.get('error')).toBe('account_mismatch');
    const same = await bench.connect('sandbox', { reconnect: credentialId });
    expect(same.back.get('credentialId')).toBe(credentialId);
    expect((await bench.credentialOf(back)).at('state')).toBe('active');
    expect((await bench.execute('sandbox', 'list_customers', { limit: 1 })).status).toBe(200);
  });
});

describe('at an external server', () => {
  test('tokens are renewed, rotate, and are revoked with the credential', async () => {
    const { back } = await bench.connect('foreign');
    const before = await bench.valuesOf(back);
    bench.clock.advance(HOUR);
    expect((await bench.execute('foreign', 'get_me')).at('data.sub')).toBe('alice');
    const after = await bench.valuesOf(back);
    expect(after['accessToken']).not.toBe(before['accessToken']);
    expect(after['refreshToken']).not.toBe(before['refreshToken']);
    await remove(back);
    expect(bench.oidc.seen.at(-1)).toBe('POST /token/revocation');
    expect(await bench.meAtOidc(after['accessToken'] ?? '')).toBe(401);
  });

  test('a token rejected early is renewed, and the call succeeds', async () => {
    // The server's clock advances while ours stands still, so the token looks valid to us.
    await using other = await startSignIn({ accessTokenSeconds: 4 });
    await other.next();
    const { back } = await other.connect('foreign');
    const { accessToken = '' } = await other.valuesOf(back);
    await expect.poll(() => other.meAtOidc(accessToken)).toBe(401);
    expect((await other.execute('foreign', 'get_me')).at('data.sub')).toBe('alice');
    expect((await other.valuesOf(back))['accessToken']).not.toBe(accessToken);
    expect((await other.credentialOf(back)).at('state')).toBe('active');
  });

  test('revoked access ends the credential, and a new consent restores it', async () => {
    const { back } = await bench.connect('foreign');
    await bench.revokeAtOidc((await bench.valuesOf(back))['refreshToken'] ?? '');
    bench.clock.advance(HOUR);
    const refused = await bench.execute('foreign', 'get_me');
    expect([refused.status, refused.at('code')]).toEqual([409, 'credential_invalid']);
    expect((await bench.credentialOf(back)).at('state')).toBe('revoked');
    const again = await bench.connect('foreign', { reconnect: back.get('credentialId') ?? '' });
    expect(again.back.get('credentialId')).toBe(back.get('credentialId'));
    expect((await bench.execute('foreign', 'get_me')).status).toBe(200);
  });

  test.each([
    ['HTML and 500', { status: 500, type: 'text/html', body: '<h1>Oops</h1>' }],
    ['a page of HTML', { status: 200, type: 'text/html', body: '<h1>Maintenance</h1>' }],
    ['nothing', 'drop'],
  ] as const)('an outage at renewal (%s) ends no credential', async (_what, trouble) => {
    const { back } = await bench.connect('foreign');
    bench.clock.advance(HOUR);
    bench.oidc.trouble = (request) => (request === 'POST /token' ? trouble : undefined);
    const during = await bench.execute('foreign', 'get_me');
    expect([during.status, during.at('code')]).toEqual([502, 'upstream_failed']);
    expect((await bench.credentialOf(back)).at('state')).toBe('active');
    bench.oidc.trouble = undefined;
    bench.clock.advance(MINUTE);
    expect((await bench.execute('foreign', 'get_me')).status).toBe(200);
  });

  test('a changed client secret ends no credential', async () => {
    const { back } = await bench.connect('foreign');
    bench.clock.advance(HOUR);
    await bench.putOAuthApp('an-old-client-secret');
    const refused = await bench.execute('foreign', 'get_me');
    expect([refused.status, refused.at('code')]).toEqual([422, 'upstream_rejected']);
    expect((await bench.credentialOf(back)).at('state')).toBe('active');
    await bench.putOAuthApp();
    bench.clock.advance(HOUR);
    expect((await bench.execute('foreign', 'get_me')).status).toBe(200);
  });
});

test('the log contains no token and no client secret', () => {
  const log = bench.service.logged.join('\n');
  expect(bench.secrets.size).toBeGreaterThan(15);
  for (const secret of bench.secrets) expect(log).not.toContain(secret);
});

async function remove(back: URLSearchParams): Promise<void> {
  const gone = await bench.call('DELETE', `/users/${bench.userId}/credentials/${back.get('credentialId')}`);
  expect(gone.status).toBe(200);
}
