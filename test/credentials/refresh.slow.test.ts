import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { saveOAuthApp } from '../../src/credentials/oauth-apps.ts';
import { openCredential, openValues } from '../../src/credentials/sealed-values.ts';
import {
  checkCredential,
  deleteCredential,
  requireCredential,
  updateCredential,
} from '../../src/credentials/credential-records.ts';
import { freshCredential } from '../../src/credentials/refresh.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import { HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { credentialKey as key, openOAuth, runAction as run, type OAuthBench } from '../support/oauth.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { CLIENT } from '../support/token-server.ts';

/** Returns the error of a rejected call. */
async function refusal(call: Promise<unknown>): Promise<GatehouseError> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (error instanceof GatehouseError) return error;
  throw new Error('the call was not refused', { cause: error });
}

describe.each(STORE_KINDS)('tokens on %s', (kind) => {
  let bench: OAuthBench;
  beforeEach(async () => {
    bench = await openOAuth(kind);
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  test('tokens are unchanged before they are due, and renewed before they expire', async () => {
    const made = await bench.connect();
    expect(await freshCredential(bench, bench.connector, { credential: made })).toBe(made);
    bench.clock.advance(50 * MINUTE);
    expect(await freshCredential(bench, bench.connector, { credential: made })).toBe(made);
    bench.clock.advance(6 * MINUTE);
    const renewed = await freshCredential(bench, bench.connector, { credential: made });
    expect(renewed).toMatchObject({ version: 2, expiresAt: bench.clock.now() + HOUR, state: 'active' });
    expect(bench.party.asked).toHaveLength(1);
    expect(await run(bench)).toEqual({ data: { id: 'acc_1', name: 'Ada' } });
    expect((await bench.row(made.credentialId)).lease_token).toBeNull();
  });

  test('tokens that expired are renewed once by concurrent calls of two processes', async () => {
    const { credentialId } = await bench.connect();
    const other = await bench.another();
    bench.clock.advance(2 * HOUR);
    bench.party.delayMs = 300;
    const calls = [bench, other].flatMap((one) => Array.from({ length: 20 }, () => run(one)));
    await Promise.all(calls);
    expect(bench.party.asked).toHaveLength(1);
    expect(bench.party.reused).toBe(0);
    expect(await bench.row(credentialId)).toMatchObject({ state: 'active', version: 2 });
    await other[Symbol.asyncDispose]();
  });

  test('tokens are not requested by a process that read them before another one failed', async () => {
    await bench.connect();
    const other = await bench.another();
    bench.clock.advance(2 * HOUR);
    bench.party.mode = '500';
    const lease = holdLease(other);
    const late = run(other);
    await lease.asked;
    await expect(run(bench)).rejects.toMatchObject({ code: 'upstream_failed' });
    lease.release();
    await expect(late).rejects.toMatchObject({ code: 'upstream_failed' });
    expect(bench.party.asked).toHaveLength(1);
    await other[Symbol.asyncDispose]();
  });

  test('tokens that still work are used while another call renews them', async () => {
    const made = await bench.connect();
    bench.clock.advance(57 * MINUTE);
    bench.party.mode = 'hang';
    let renewed = false;
    const first = freshCredential(bench, bench.connector, { credential: made }).finally(
      () => (renewed = true),
    );
    await expect.poll(() => bench.party.asked.length).toBe(1);
    const other = await bench.another();
    expect(await freshCredential(bench, bench.connector, { credential: made })).toBe(made);
    expect((await freshCredential(other, other.connector, { credential: made })).version).toBe(1);
    expect(renewed).toBe(false);
    await other[Symbol.asyncDispose]();
    await bench.outbound.close();
    expect((await first).version).toBe(1);
  });

  test('tokens stay in use during an outage, and the next attempt waits', async () => {
    const { credentialId } = await bench.connect();
    bench.clock.advance(56 * MINUTE);
    for (const mode of ['500', 'html', 'drop', 'crash'] as const) {
      bench.party.mode = mode;
      await run(bench);
      bench.clock.advance(SECOND);
    }
    expect(bench.party.asked).toHaveLength(1);
    expect(await bench.row(credentialId)).toMatchObject({ state: 'active', refresh_failures: 1 });

    bench.clock.advance(10 * MINUTE);
    // Calls wait now, so no pause is longer than a minute.
    for (const [mode, code] of [
      ['500', 'upstream_failed'],
      ['429', 'upstream_rate_limited'],
      ['html', 'upstream_failed'],
      ['drop', 'upstream_failed'],
      ['crash', 'upstream_failed'],
    ] as const) {
      bench.party.mode = mode;
      const first = await refusal(run(bench));
      expect(first).toMatchObject({ code, details: { reason: 'renewal_failed' } });
      const second = await refusal(run(bench));
      expect(second).toMatchObject({ code: 'upstream_failed', details: { reason: 'renewal_failed' } });
      for (const { headers, message } of [first, second]) {
        const seconds = Number(headers['Retry-After']);
        expect(seconds).toBeGreaterThan(0);
        expect(seconds).toBeLessThanOrEqual(60);
        expect(message).toContain(`The next attempt is in ${seconds} s.`);
      }
      bench.clock.advance(MINUTE);
    }
    expect(await bench.row(credentialId)).toMatchObject({ state: 'active', refresh_failures: 6, version: 1 });
    bench.party.mode = 'ok';
    await run(bench);
    expect(await bench.row(credentialId)).toMatchObject({ state: 'active', refresh_failures: 0, version: 2 });
    expect(bench.party.reused).toBe(0);
  });

  test('tokens pause renewals longer while they work, but not beyond their expiry', async () => {
    const { credentialId } = await bench.connect();
    bench.party.mode = '500';
    bench.clock.advance(56 * MINUTE);
    for (let failures = 1; failures <= 3; failures++) {
      await run(bench);
      const { refresh_after, refresh_failures } = await bench.row(credentialId);
      expect(refresh_failures).toBe(failures);
      bench.clock.advance((refresh_after ?? 0) - bench.clock.now());
    }
    await run(bench).catch(() => {});
    const { refresh_after } = await bench.row(credentialId);
    expect((refresh_after ?? 0) - bench.clock.now()).toBeLessThanOrEqual(MINUTE);
  });

  test('a token request waits as long as a rate-limited token endpoint demands', async () => {
    await bench.connect();
    bench.clock.advance(2 * HOUR);
    bench.party.answer = () => ({ status: 429, text: '{}', headers: { 'retry-after': '300' } });
    const { headers } = await refusal(run(bench));
    expect(headers['Retry-After']).toBe('300');
    bench.party.answer = () => ({ status: 503, text: '{}', headers: { 'retry-after': '300' } });
    bench.clock.advance(5 * MINUTE);
    expect(Number((await refusal(run(bench))).headers['Retry-After'])).toBeLessThanOrEqual(60);
  });

  test('tokens that the app rejects early are renewed, and the call is repeated', async () => {
    const made = await bench.connect();
    bench.party.endAccess(openValues(bench, made)['accessToken'] ?? '');
    await Promise.all(Array.from({ length: 10 }, () => run(bench)));
    await run(bench, { actionId: 'add_note', input: { text: 'x' }, idempotencyKey: 'k1' });
    expect(bench.party.asked).toHaveLength(1);
    expect((await bench.row(made.credentialId)).version).toBe(2);
  });
});

describe('a credential', () => {
  let bench: OAuthBench;
  beforeEach(async () => {
    bench = await openOAuth();
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  test('a credential keeps its refresh token when the answer has none', async () => {
    bench.party.rotates = false;
    const made = await bench.connect();
    const { refreshToken } = openValues(bench, made);
    for (let round = 0; round < 2; round++) {
      bench.clock.advance(2 * HOUR);
      await run(bench);
    }
    const now = await requireCredential(bench.db, key(bench, made.credentialId));
    expect(now.version).toBe(3);
    expect(openValues(bench, now)['refreshToken']).toBe(refreshToken);
  });

  test('a credential is opened for a call without its refresh token', async () => {
    const made = await bench.connect();
    expect(Object.keys(openCredential(bench, bench.connector, made).values)).toEqual(['accessToken']);
  });

  test('a credential with short-lived tokens is not renewed by each call', async () => {
    bench.party.expiresIn = 300;
    const made = await bench.connect({ expiresAt: new Date(bench.clock.now() + 5 * MINUTE).toISOString() });
    for (let call = 0; call < 20; call++) {
      bench.clock.advance(MINUTE);
      await run(bench);
    }
    expect(bench.party.asked.length).toBeLessThanOrEqual(5);
    expect((await bench.row(made.credentialId)).state).toBe('active');
  });

  test('a credential without a refresh token needs to be reconnected after its expiry', async () => {
    const { accessToken } = bench.party.issue();
    const expiresAt = new Date(bench.clock.now() + HOUR).toISOString();
    const made = await updateCredential(bench, key(bench, (await bench.connect()).credentialId), {
      data: { accessToken, expiresAt },
    });
    bench.clock.advance(2 * HOUR);
    await expect(run(bench)).rejects.toMatchObject({
      code: 'credential_invalid',
      details: { state: 'needs_reconnect' },
    });
    expect(await bench.row(made.credentialId)).toMatchObject({ state: 'needs_reconnect' });
    expect(bench.party.asked).toEqual([]);
  });

  test('a credential stays active when the app rejects the OAuth app', async () => {
    const made = await bench.connect();
    bench.clock.advance(2 * HOUR);
    bench.party.answer = () => ({ status: 401, text: '{"error":"invalid_client"}' });
    await expect(run(bench)).rejects.toMatchObject({
      code: 'upstream_rejected',
      fix: expect.stringContaining('PUT /api/connectors/oauthy/oauth-app'),
      headers: { 'Retry-After': '30' },
    });
    expect(await bench.row(made.credentialId)).toMatchObject({ state: 'active', refresh_failures: 1 });
    bench.party.answer = undefined;
    await saveOAuthApp(bench, { environment: 'development', connectorId: 'oauthy' }, CLIENT);
    expect(await run(bench)).toEqual({ data: { id: 'acc_1', name: 'Ada' } });
  });

  test('a credential deleted during a renewal leaves no tokens at the third party', async () => {
    const made = await bench.connect();
    bench.clock.advance(2 * HOUR);
    const { asked, release } = bench.party.hold();
    const call = run(bench);
    await asked;
    await deleteCredential(bench, key(bench, made.credentialId));
    release();
    await expect(call).rejects.toMatchObject({ code: 'credential_not_found' });
    expect(bench.party.revoked).toHaveLength(2);
  });

  test('a credential with expired tokens is checked with renewed ones', async () => {
    const made = await bench.connect();
    bench.clock.advance(2 * HOUR);
    const { credential, checked } = await checkCredential(bench, key(bench, made.credentialId));
    expect(checked).toBe(true);
    expect(credential).toMatchObject({ state: 'active', version: 2 });
  });
});

/** Holds the statement by which a process takes its next lease. */
function holdLease({ db }: OAuthBench) {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const executor = db.getExecutor();
  const execute = executor.executeQuery.bind(executor);
  const value = async (...args: Parameters<typeof execute>) => {
    if (args[0].sql.startsWith('update "credentials" set "lease_token"')) {
      Reflect.deleteProperty(executor, 'executeQuery');
      asked.resolve();
      await released.promise;
    }
    return execute(...args);
  };
  Object.defineProperty(executor, 'executeQuery', { configurable: true, value });
  return { asked: asked.promise, release: released.resolve };
}
