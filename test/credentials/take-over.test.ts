import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openValues } from '../../src/credentials/sealed-values.ts';
import {
  createCredential,
  deleteCredential,
  updateCredential,
} from '../../src/credentials/credential-records.ts';
import { HOUR } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { credentialKey, openOAuth, runAction, type OAuthBench } from '../support/oauth.ts';
import { CLIENT } from '../support/token-server.ts';

let bench: OAuthBench;
beforeEach(async () => {
  bench = await openOAuth('sqlite', {
    fields: { shop: { title: 'Shop', format: 'subdomain' } },
    capture: { host: { from: 'token:host', format: 'host', required: false } },
  });
});
afterEach(() => bench[Symbol.asyncDispose]());

const create = (data: JsonObject, type = 'oauth2') =>
  createCredential(bench, {
    environment: 'development',
    userId: bench.userId,
    connectorId: 'oauthy',
    type,
    data,
  });
const rows = () => bench.db.selectFrom('credentials').selectAll().execute();

describe('a live account', () => {
  test('a live account is imported with its facts, probed, and returned without secrets', async () => {
    const expiresAt = bench.clock.now() + HOUR;
    const made = await create({
      ...bench.party.issue(),
      shop: 'My-Shop',
      host: 'eu.example.com',
      expiresAt: new Date(expiresAt).toISOString(),
      scopes: ['read'],
    });
    expect(made).toMatchObject({
      state: 'active',
      name: 'Ada',
      account: { id: 'acc_1', name: 'Ada' },
      scopes: ['read'],
      expiresAt,
    });
    expect(openValues(bench, made)).toMatchObject({ shop: 'my-shop', host: 'eu.example.com' });
    expect(JSON.stringify([await rows(), bench.logged])).not.toContain('canary');
    expect(bench.party.asked).toEqual([]);
  });

  test('a live account imported twice keeps its record with the latest tokens', async () => {
    const first = await create({ ...bench.party.issue(), shop: 'my-shop' });
    const tokens = bench.party.issue();
    const again = await create({ ...tokens, shop: 'my-shop' });
    expect(again.credentialId).toBe(first.credentialId);
    expect(openValues(bench, again)).toMatchObject(tokens);
    expect(await rows()).toHaveLength(1);
  });

  test('a live account with an expired access token is renewed first', async () => {
    const made = await create({
      ...bench.party.issue(),
      shop: 'my-shop',
      expiresAt: new Date(bench.clock.now() - HOUR).toISOString(),
    });
    expect(made).toMatchObject({ state: 'active', expiresAt: bench.clock.now() + HOUR });
    expect(bench.party.asked).toHaveLength(1);
    await runAction(bench);
  });

  test.each([
    [{ expiresAt: 'soon' }, 'data.expiresAt'],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'data.expiresAt'],
    [{ scopes: [1] }, 'data.scopes'],
    [{ host: 'evil.com/x' }, 'data.host'],
    [{ accessToken: '' }, 'data.accessToken'],
    [{ nonsense: 'x' }, 'data.nonsense'],
  ])('a live account is not taken over with %j', async (changes, field) => {
    const { accessToken } = bench.party.issue();
    const failed = create({ accessToken, shop: 'my-shop', ...changes });
    await expect(failed).rejects.toMatchObject({ code: 'invalid_request', details: { faults: [{ field }] } });
    expect(await rows()).toEqual([]);
  });

  test('a live account is not stored when the app rejects its token', async () => {
    const failed = create({ accessToken: 'at_unknown', shop: 'my-shop' });
    await expect(failed).rejects.toMatchObject({ code: 'credential_invalid' });
    expect(await rows()).toEqual([]);
  });

  test('a live account keeps its tokens when another field changes', async () => {
    const pair = bench.party.issue();
    const expiresAt = new Date(bench.clock.now() + HOUR).toISOString();
    const made = await create({ ...pair, shop: 'my-shop', expiresAt });
    const key = credentialKey(bench, made.credentialId);
    const moved = await updateCredential(bench, key, { data: { shop: 'other' } });
    expect(openValues(bench, moved)).toEqual({ ...pair, shop: 'other' });
    expect(moved).toMatchObject({ version: 2, expiresAt: made.expiresAt });

    const { accessToken } = bench.party.issue();
    const renewed = await updateCredential(bench, key, { data: { accessToken } });
    expect(openValues(bench, renewed)).toEqual({ accessToken, shop: 'other' });
    expect(renewed).toMatchObject({ version: 3, expiresAt: null });
  });

  test('a live account is revoked at the app when it is deleted, even if the app fails', async () => {
    const pair = bench.party.issue();
    for (const mode of ['ok', '500'] as const) {
      bench.party.mode = mode;
      const { credentialId } = await create({ ...pair, shop: 'my-shop' });
      await deleteCredential(bench, credentialKey(bench, credentialId));
    }
    expect(await rows()).toEqual([]);
    expect(bench.party.revoked.map(({ params }) => params.get('token'))).toEqual([
      pair.refreshToken,
      pair.refreshToken,
    ]);
    expect(bench.logged.join()).toMatch(/"revoked":true.*"revoked":false/s);
    expect(bench.logged.join()).not.toContain('canary');
  });
});

describe('client credentials', () => {
  test('client credentials fetch their tokens and request new ones after expiry', async () => {
    const made = await create({ ...CLIENT }, 'oauth2_client_credentials');
    expect(made).toMatchObject({
      state: 'active',
      account: { id: 'acc_1' },
      expiresAt: bench.clock.now() + HOUR,
    });
    bench.clock.advance(2 * HOUR);
    await Promise.all(Array.from({ length: 10 }, () => runAction(bench)));
    expect(bench.party.asked).toHaveLength(2);
    expect(bench.party.asked[1]?.params.get('grant_type')).toBe('client_credentials');
  });

  test('client credentials are stored only after they worked', async () => {
    const wrong = { ...CLIENT, clientSecret: 'wrong_canary' };
    await expect(create(wrong, 'oauth2_client_credentials')).rejects.toMatchObject({
      code: 'credential_invalid',
      message: expect.stringContaining('invalid_client'),
    });
    expect(await rows()).toEqual([]);
    const { credentialId } = await create({ ...CLIENT }, 'oauth2_client_credentials');
    const key = credentialKey(bench, credentialId);
    const failed = updateCredential(bench, key, { data: { clientSecret: 'wrong_canary' } });
    await expect(failed).rejects.toMatchObject({ code: 'credential_invalid' });
    const changed = await updateCredential(bench, key, { data: { clientSecret: CLIENT.clientSecret } });
    expect(changed).toMatchObject({ state: 'active', version: 2 });
    expect(bench.logged.join()).not.toContain('canary');
  });
});
