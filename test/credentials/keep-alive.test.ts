import { expect, test } from 'vitest';
import { renewIdle } from '../../src/credentials/keep-alive.ts';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { openOAuth, type OAuthBench } from '../support/oauth.ts';
import { STORE_KINDS } from '../support/stores.ts';

/** Connects another account each time; connecting the same one again would renew its credential. */
function connectAccount(bench: OAuthBench, account: number) {
  bench.party.apiAnswer = { id: `acc_${account}`, name: 'Ada' };
  return bench.connect();
}

test.each(STORE_KINDS)(
  'idle credentials are renewed at half the life of their refresh token, once (%s)',
  async (kind) => {
    await using bench = await openOAuth(kind, { refreshTokenDays: 14 });
    const other = await bench.another();
    for (let made = 0; made < 25; made++) await connectAccount(bench, made);
    await renewIdle(bench);
    bench.clock.advance(7 * DAY - HOUR);
    await renewIdle(bench);
    expect(bench.party.asked).toHaveLength(0);

    bench.clock.advance(2 * HOUR);
    await Promise.all([renewIdle(bench), renewIdle(other)]);
    await renewIdle(bench);
    expect(bench.party.asked).toHaveLength(25);
    expect(bench.party.reused).toBe(0);
    const rows = await bench.db.selectFrom('credentials').select(['version', 'refresh_by']).execute();
    expect(new Set(rows.map(({ version }) => version))).toEqual(new Set([2]));
    expect(Math.min(...rows.map((row) => row.refresh_by ?? 0))).toBe(bench.clock.now() + 7 * DAY);
    await other[Symbol.asyncDispose]();
  },
);

test('a refresh token of unknown lifetime is used every thirty days', async () => {
  await using bench = await openOAuth();
  await bench.connect();
  bench.clock.advance(30 * DAY - HOUR);
  await renewIdle(bench);
  expect(bench.party.asked).toHaveLength(0);
  bench.clock.advance(2 * HOUR);
  await renewIdle(bench);
  expect(bench.party.asked).toHaveLength(1);
});

test('a failed renewal is retried in an hour and does not block others', async () => {
  await using bench = await openOAuth();
  const first = await connectAccount(bench, 1);
  await connectAccount(bench, 2);
  bench.clock.advance(31 * DAY);
  let answers = 0;
  bench.party.answer = () =>
    answers++ === 0 ? { status: 503, text: '{}' } : { text: '{"access_token":"at_new"}' };
  await renewIdle(bench);
  await renewIdle(bench);
  expect(bench.party.asked).toHaveLength(2);
  const failed = await bench.db
    .selectFrom('credentials')
    .select(['state', 'credential_id'])
    .where('refresh_failures', '=', 1)
    .execute();
  expect(failed).toMatchObject([{ state: 'active', credential_id: first.credentialId }]);
  bench.clock.advance(HOUR + MINUTE);
  await renewIdle(bench);
  expect(bench.party.asked).toHaveLength(3);
});

test('expired consents and connect sessions are deleted', async () => {
  await using bench = await openOAuth();
  const now = bench.clock.now();
  const session = (id: string, expiresAt: number) => ({
    session_id: id,
    token_hash: id,
    environment: 'development' as const,
    user_id: bench.userId,
    via: 'link' as const,
    status: 'open' as const,
    expires_at: expiresAt,
    created_at: now,
    updated_at: now,
  });
  await bench.db
    .insertInto('connect_sessions')
    .values([session('old', now - 2 * DAY), session('late', now - HOUR), session('open', now + HOUR)])
    .execute();
  await bench.db
    .insertInto('oauth_states')
    .values(
      [-1, HOUR].map((ms) => ({
        state_hash: `h${ms}`,
        session_id: 'open',
        connector_id: 'oauthy',
        type: 'oauth2',
        sealed: 'x',
        expires_at: now + ms,
        created_at: now,
      })),
    )
    .execute();
  await deleteOldRows(bench.db, now);
  const sessions = await bench.db.selectFrom('connect_sessions').select('session_id').execute();
  expect(sessions.map((row) => row.session_id).toSorted()).toEqual(['late', 'open']);
  expect(await bench.db.selectFrom('oauth_states').select('state_hash').execute()).toEqual([
    { state_hash: `h${HOUR}` },
  ]);
});
