import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { executeAction } from '../../src/actions/execute.ts';
import { describeCredential } from '../../src/credentials/credential.ts';
import { authenticationMetadata } from '../../src/credentials/metadata.ts';
import { openCredential } from '../../src/credentials/sealed-values.ts';
import { listCredentials } from '../../src/credentials/credential-lists.ts';
import {
  checkCredential,
  createCredential,
  deleteCredential,
  findCredential,
  updateCredential,
  type NewCredential,
} from '../../src/credentials/credential-records.ts';
import { createUser } from '../../src/identity/users.ts';
import { openActions, type ActionBench } from '../support/actions.ts';
import { GOOD_KEY, startThirdParty, type ThirdParty } from '../support/third-party.ts';

let bench: ActionBench;
let party: ThirdParty;

beforeEach(async () => {
  bench = await openActions();
  party = await startThirdParty();
});
afterEach(async () => {
  await bench[Symbol.asyncDispose]();
  await party[Symbol.asyncDispose]();
});

const create = (changes: Partial<NewCredential> = {}) =>
  createCredential(bench, {
    environment: 'development',
    userId: bench.userId,
    connectorId: 'shop',
    data: { apiKey: GOOD_KEY, origin: party.origin },
    ...changes,
  });
/** The key of another account. */
const another = () => ({ apiKey: party.otherKey(), origin: party.origin });
const key = (credentialId: string) => ({
  environment: 'development' as const,
  userId: bench.userId,
  credentialId,
});
const rows = () => bench.db.selectFrom('credentials').selectAll().execute();
const run = (credentialId?: string) =>
  executeAction(bench, {
    environment: 'development',
    caller: 'key:k1',
    requestId: 'req_1',
    userId: bench.userId,
    connectorId: 'shop',
    actionId: 'get_thing',
    input: { thingId: '5' },
    credentialId,
  });

describe('the metadata of a connector', () => {
  test('the metadata of a connector has the fields of a credential as JSON Schema', () => {
    const shop = bench.catalog.connector('development', 'shop');
    expect(shop && authenticationMetadata(shop)).toEqual([
      {
        type: 'api_key',
        title: 'API key',
        docsUrl: 'https://shop.example.com/keys',
        sampleInput: { apiKey: '<API key>', origin: 'https://shop.example.com' },
        inputSchema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          properties: {
            apiKey: { type: 'string', title: 'API key', minLength: 1, maxLength: 10_000, writeOnly: true },
            origin: {
              type: 'string',
              title: 'Address',
              minLength: 1,
              maxLength: 10_000,
              pattern: '^https?://[^\\s?#@]+$',
              format: 'uri',
              examples: ['https://shop.example.com'],
            },
          },
          required: ['apiKey', 'origin'],
          additionalProperties: false,
        },
      },
    ]);
  });
});

describe('creating a credential', () => {
  test('a new credential is probed, then stored sealed with its account', async () => {
    const made = await create();
    expect(party.seen.map((one) => one.path)).toEqual(['/me']);
    expect(describeCredential(made)).toEqual({
      credentialId: expect.stringMatching(/^cred_/),
      connectionId: made.credentialId,
      userId: bench.userId,
      connectorId: 'shop',
      type: 'api_key',
      name: 'Ada’s shop',
      state: 'active',
      account: { id: '77', name: 'Ada’s shop' },
      default: false,
      createdAt: '2026-03-01T12:00:00.000Z',
      updatedAt: '2026-03-01T12:00:00.000Z',
      lastUsedAt: null,
    });
    expect(JSON.stringify(await rows())).not.toContain(GOOD_KEY);
  });

  test('a new credential is not stored when the third party rejects the key', async () => {
    await expect(
      create({ data: { apiKey: 'wrong_key_123456', origin: party.origin } }),
    ).rejects.toMatchObject({
      code: 'credential_invalid',
      message: expect.not.stringContaining('wrong_key_123456'),
    });
    party.answer = () => ({ status: 403 });
    await expect(create()).rejects.toMatchObject({ code: 'credential_invalid' });
    party.answer = () => ({ status: 500 });
    await expect(create()).rejects.toMatchObject({ code: 'upstream_failed' });
    expect(await rows()).toEqual([]);
  });

  test('a new credential with faults lists each by field before anything is sent', async () => {
    const faultsOf = async (data: NewCredential['data']) => {
      const error: unknown = await create({ data }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'invalid_request' });
      return error instanceof Error && 'details' in error ? error.details : undefined;
    };
    expect(await faultsOf({ apikey: 'x', origin: 'shop.example.com' })).toEqual({
      faults: [
        { field: 'data.apikey', rule: 'is not a known member; known: apiKey, origin' },
        { field: 'data.apiKey', rule: 'is required (API key)' },
        { field: 'data.origin', rule: expect.stringContaining('https://shop.example.com') },
      ],
    });
    expect(await faultsOf({ apiKey: 'x'.repeat(10_001), origin: ['https://a.example'] })).toEqual({
      faults: [
        { field: 'data.apiKey', rule: 'must have at most 10000 characters, has 10001' },
        { field: 'data.origin', rule: 'must be a string, got an array' },
      ],
    });
    expect(await faultsOf({ apiKey: `${GOOD_KEY}\n`, origin: 'https://user:pw@shop.example.com' })).toEqual({
      faults: [
        { field: 'data.apiKey', rule: expect.stringContaining('line breaks') },
        { field: 'data.origin', rule: expect.any(String) },
      ],
    });
    expect(party.seen).toEqual([]);
  });

  test('a new credential of an unknown connector or type is refused', async () => {
    await expect(create({ connectorId: 'nope' })).rejects.toMatchObject({ code: 'connector_not_found' });
    await expect(create({ type: 'oauth2' })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { faults: [{ field: 'type', rule: 'must be one of: api_key' }] },
    });
  });

  test('a credential without authentication stores only the variables of a connector', async () => {
    const made = await create({ connectorId: 'open', data: { origin: `${party.origin}/` } });
    expect(made).toMatchObject({ type: 'none', name: 'Open', state: 'active' });
    const result = await executeAction(bench, {
      environment: 'development',
      caller: 'key:k1',
      requestId: 'req_1',
      userId: bench.userId,
      connectorId: 'open',
      actionId: 'get_open',
      input: {},
    });
    expect(result.data).toEqual({ open: true });
  });
});

describe('a credential', () => {
  test('a credential belongs to one user and one environment', async () => {
    const { credentialId } = await create();
    const other = await createUser(bench, { environment: 'development', username: 'bob' });
    for (const foreign of [
      { ...key(credentialId), userId: other.userId },
      { ...key(credentialId), environment: 'production' as const },
      key('cred_0000000000000000000000'),
      key("' or 1=1 --\u0000"),
    ]) {
      expect(await findCredential(bench.db, foreign)).toBeUndefined();
      await expect(updateCredential(bench, foreign, { name: 'mine' })).rejects.toMatchObject({
        code: 'credential_not_found',
      });
      await expect(deleteCredential(bench, foreign)).rejects.toMatchObject({
        code: 'credential_not_found',
      });
      await expect(checkCredential(bench, foreign)).rejects.toMatchObject({ code: 'credential_not_found' });
    }
    expect(await rows()).toHaveLength(1);
  });

  test('credentials are listed page by page, oldest first', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      bench.clock.advance(1000);
      ids.push((await create({ name: `key ${i}`, data: another() })).credentialId);
    }
    const filter = { environment: 'development' as const, userId: bench.userId, limit: 2 };
    const page = await listCredentials(bench.db, { ...filter, offset: 2 });
    expect(page.credentials.map((one) => one.credentialId)).toEqual(ids.slice(2, 4));
    expect(page.hasMore).toBe(true);
    expect(await listCredentials(bench.db, { ...filter, connectorId: 'open', offset: 0 })).toEqual({
      credentials: [],
      hasMore: false,
    });
  });

  test('a credential rejected in a call needs to be reconnected and is not used again', async () => {
    const { credentialId } = await create();
    await run();
    party.keys.clear();
    await expect(run()).rejects.toMatchObject({ code: 'credential_invalid' });
    const [row] = await rows();
    expect(row?.state).toBe('needs_reconnect');
    expect(row?.reason).toMatch(/Shop refused the credential \(HTTP 401/);
    expect(row?.reason).not.toContain(GOOD_KEY);
    const sent = party.seen.length;
    for (const chosen of [undefined, credentialId]) {
      await expect(run(chosen)).rejects.toMatchObject({ code: 'credential_invalid' });
    }
    expect(party.seen).toHaveLength(sent);
  });

  test('a credential stays active through outages and rejected input', async () => {
    await create();
    for (const status of [400, 403, 404, 422, 429, 500, 503]) {
      party.answer = ({ path }) => (path === '/me' ? undefined : { status });
      await run().catch(() => {});
    }
    expect((await rows())[0]?.state).toBe('active');
  });

  test('a credential stays active when its key was replaced during a call', async () => {
    const { credentialId } = await create();
    party.keys.add('key_of_the_new_age');
    const released = Promise.withResolvers<void>();
    const sent = party.seen.length;
    party.answer = ({ path, headers }) =>
      headers['x-key'] === GOOD_KEY
        ? { status: 401, ...(path === '/me' ? {} : { after: released.promise }) }
        : undefined;
    const running = run().catch((error: unknown) => error);
    await expect.poll(() => party.seen.length).toBe(sent + 1);
    await updateCredential(bench, key(credentialId), { data: { apiKey: 'key_of_the_new_age' } });
    released.resolve();
    expect(await running).toMatchObject({ code: 'credential_invalid' });
    expect((await rows())[0]?.state).toBe('active');
  });

  test('a credential is activated or ended by a check', async () => {
    const { credentialId } = await create();
    party.keys.clear();
    expect(await checkCredential(bench, key(credentialId))).toMatchObject({
      checked: true,
      credential: { state: 'needs_reconnect', reason: expect.stringContaining('refused') },
    });
    party.answer = () => ({ status: 503 });
    await expect(checkCredential(bench, key(credentialId))).rejects.toMatchObject({
      code: 'upstream_failed',
    });
    party.answer = undefined;
    party.keys.add(GOOD_KEY);
    expect(await checkCredential(bench, key(credentialId))).toMatchObject({
      checked: true,
      credential: { state: 'active', reason: null },
    });
    await run();
  });

  test('a credential keeps its id and its other fields when its key is replaced', async () => {
    const { credentialId } = await create();
    party.keys.add('key_number_two');
    party.keys.delete(GOOD_KEY);
    await expect(
      updateCredential(bench, key(credentialId), { data: { apiKey: 'wrong' } }),
    ).rejects.toMatchObject({
      code: 'credential_invalid',
    });
    const changed = await updateCredential(bench, key(credentialId), {
      name: 'rotated',
      data: { apiKey: 'key_number_two' },
    });
    expect(changed).toMatchObject({ credentialId, name: 'rotated', state: 'active' });
    await run();
    expect(party.seen.at(-1)?.headers['x-key']).toBe('key_number_two');
  });

  test('a credential is not found after its deletion', async () => {
    const { credentialId } = await create();
    await run();
    await deleteCredential(bench, key(credentialId));
    await expect(run()).rejects.toMatchObject({ code: 'credential_required' });
    await expect(run(credentialId)).rejects.toMatchObject({ code: 'credential_not_found' });
  });

  test('a credential does not open in another row, for another user, or altered', async () => {
    const first = await create();
    const second = await create({ data: another() });
    const shop = bench.catalog.connector('development', 'shop');
    if (!shop) throw new Error('no shop');
    const open = (changes: object) => () => openCredential(bench, shop, { ...first, ...changes });
    expect(open({})().values['apiKey']?.open()).toBe(GOOD_KEY);
    expect(open({ sealed: second.sealed })).toThrow(/altered, or moved/);
    expect(open({ userId: 'usr_other' })).toThrow(/altered, or moved/);
    expect(open({ environment: 'production' })).toThrow(/altered, or moved/);
    for (let at = 12; at < first.sealed.length; at += 17) {
      const c = first.sealed.charAt(at);
      const sealed = first.sealed.slice(0, at) + (c === 'A' ? 'B' : 'A') + first.sealed.slice(at + 1);
      expect(open({ sealed })).toThrow(/sealed record/);
    }
  });
});

describe('the credential of a call', () => {
  test('a call uses the only active credential, or must name one', async () => {
    await expect(run()).rejects.toMatchObject({
      code: 'credential_required',
      details: { connectorId: 'shop' },
    });
    const first = await create({ name: 'first' });
    await run();
    bench.clock.advance(1000);
    const second = await create({ name: 'second', data: another() });
    await expect(run()).rejects.toMatchObject({
      code: 'credential_ambiguous',
      details: {
        credentials: [
          { credentialId: first.credentialId, name: 'first', state: 'active' },
          { credentialId: second.credentialId, name: 'second', state: 'active' },
        ],
      },
    });
    await run(second.credentialId);
  });

  test('the credential header chooses an account only for its own connector', async () => {
    const shop = await create();
    await create({ data: another() });
    const open = await create({ connectorId: 'open', data: { origin: party.origin } });
    const execute = (credentialHeader: string, credentialId?: string) =>
      executeAction(bench, {
        environment: 'development',
        caller: 'key:k1',
        requestId: 'req_1',
        userId: bench.userId,
        connectorId: 'shop',
        actionId: 'get_thing',
        input: { thingId: '5' },
        credentialHeader,
        credentialId,
      });
    await execute(shop.credentialId);
    await execute(shop.credentialId, shop.credentialId);
    await execute(open.credentialId, shop.credentialId);
    await expect(execute(open.credentialId)).rejects.toMatchObject({ code: 'credential_ambiguous' });
    await expect(execute(shop.credentialId, open.credentialId)).rejects.toMatchObject({
      code: 'credential_conflict',
    });
    await expect(execute('cred_0000000000000000000000')).rejects.toMatchObject({
      code: 'credential_not_found',
    });
    await expect(run(open.credentialId)).rejects.toMatchObject({ code: 'credential_not_found' });
  });
});
