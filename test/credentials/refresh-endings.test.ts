import { describe, test } from 'vitest';
import { openValues } from '../../src/credentials/sealed-values.ts';
import { requireCredential, updateCredential } from '../../src/credentials/credential-records.ts';
import { HOUR } from '../../src/lib/clock.ts';
import { credentialKey as key, openOAuth, runAction as run } from '../support/oauth.ts';
import { STORE_KINDS } from '../support/stores.ts';

/** Tests of what ends a credential. They run concurrently, because a second attempt takes five seconds. */
describe.concurrent.each(STORE_KINDS)('tokens on %s', (kind) => {
  test('tokens end only with a second invalid_grant, five seconds after the first', async ({ expect }) => {
    await using bench = await openOAuth(kind);
    const made = await bench.connect();
    const other = await bench.another();
    bench.party.end(openValues(bench, made)['refreshToken'] ?? '');
    bench.clock.advance(2 * HOUR);
    const began = performance.now();
    const calls = [bench, other].flatMap((one) => Array.from({ length: 5 }, () => run(one)));
    for (const { status } of await Promise.allSettled(calls)) expect(status).toBe('rejected');
    expect(performance.now() - began).toBeGreaterThan(4900);
    expect(bench.party.asked).toHaveLength(2);
    const row = await bench.row(made.credentialId);
    expect(row.state).toBe('revoked');
    expect(row.reason).toContain('Oauthy no longer renews the access');
    const lines = [...bench.logged, ...other.logged];
    expect(lines.filter((line) => line.includes('"cause":"invalid_grant"'))).toHaveLength(1);
    expect([...lines, row.reason].join()).not.toContain('canary');
    await expect(run(bench)).rejects.toMatchObject({ code: 'credential_invalid' });
    expect(bench.party.asked).toHaveLength(2);
    await other[Symbol.asyncDispose]();
  });

  test('tokens saved by another process replace an invalid_grant', async ({ expect }) => {
    await using bench = await openOAuth(kind);
    const made = await bench.connect();
    bench.party.end(openValues(bench, made)['refreshToken'] ?? '');
    bench.clock.advance(2 * HOUR);
    const call = run(bench);
    await expect.poll(() => bench.party.asked.length).toBe(1);
    const other = await bench.another();
    const expiresAt = new Date(bench.clock.now() + HOUR).toISOString();
    await updateCredential(other, key(other, made.credentialId), {
      data: { ...bench.party.issue(), expiresAt },
    });
    expect(await call).toEqual({ data: { id: 'acc_1', name: 'Ada' } });
    expect(bench.party.asked).toHaveLength(1);
    await other[Symbol.asyncDispose]();
  });

  test('tokens that lose the race to be saved are kept as spares and tried last', async ({ expect }) => {
    await using bench = await openOAuth(kind);
    const made = await bench.connect();
    const other = await bench.another();
    bench.clock.advance(2 * HOUR);
    const { asked, release } = bench.party.hold();
    const call = run(bench);
    await asked;
    const replaced = bench.party.issue();
    const expiresAt = new Date(bench.clock.now() + HOUR).toISOString();
    await updateCredential(other, key(other, made.credentialId), { data: { ...replaced, expiresAt } });
    release();
    await call;
    const now = await requireCredential(bench.db, key(bench, made.credentialId));
    expect(openValues(bench, now)['refreshToken']).toBe(replaced.refreshToken);
    const spares = await bench.db.selectFrom('spare_tokens').selectAll().execute();
    expect(spares).toHaveLength(1);
    expect(JSON.stringify(spares)).not.toContain('canary');

    bench.party.end(replaced.refreshToken);
    bench.clock.advance(2 * HOUR);
    expect(await run(bench)).toEqual({ data: { id: 'acc_1', name: 'Ada' } });
    expect(await bench.row(made.credentialId)).toMatchObject({ state: 'active', version: 3 });
    expect(await bench.db.selectFrom('spare_tokens').selectAll().execute()).toEqual([]);
    expect(bench.party.reused).toBe(0);
    await other[Symbol.asyncDispose]();
  });
});
