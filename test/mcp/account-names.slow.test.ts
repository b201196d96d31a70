import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { connectClient, rpc, type RpcAnswer } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { appFile, startShop, type Shop } from '../support/shop.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { GOOD_KEY } from '../support/third-party.ts';

/** An app whose tools answer with content of MCP. */
const NOTES = appFile(
  'notes',
  `probe: list_notes
actions:
  list_notes:
    description: All notes.
    request: GET /notes
    response: {body: content}
`,
);
const TOOL = 'set_default_credential_svc';

describe.each(STORE_KINDS)('a user with accounts called Home and Work, over %s', (kind) => {
  let shop: Shop;
  let url: string;
  let discovery: string;
  let home: string;
  let work: string;
  let keys: [string, string, string];
  beforeAll(async () => {
    shop = await startShop({ kind }, { notes: NOTES });
    keys = [GOOD_KEY, shop.party.otherKey(), shop.party.otherKey()];
    url = await server('direct');
    discovery = await server('discovery');
    home = shop.credentialId;
    await rename(home, 'Home');
  });
  afterAll(() => shop[Symbol.asyncDispose]());
  afterEach(() => void (shop.party.answer = undefined));

  async function server(toolMode: string): Promise<string> {
    return (await shop.call('POST', '/api/servers', { body: { name: toolMode, toolMode } })).text(
      'accessUrl',
    );
  }
  const change = (credentialId: string, body: object) =>
    shop.call('PUT', `/users/${shop.userId}/credentials/${credentialId}`, { body });
  const rename = (credentialId: string, name: string) => change(credentialId, { name });
  async function connect(key: string, name: string, connectorId = 'shop'): Promise<string> {
    const made = await shop.call('POST', `/users/${shop.userId}/credentials`, {
      body: { connectorId, name, data: { apiKey: key, origin: shop.party.origin } },
    });
    return made.text('credentialId');
  }
  const call = (name: string, args: object, at = url) => rpc(at, 'tools/call', { name, arguments: args });
  const get = (args: object = {}) => call('shop_get_thing', { thingId: 'a', ...args });
  const code = (answer: RpcAnswer) => answer.at('result.structuredContent.error.code');
  const text = (answer: RpcAnswer) => String(answer.at('result.content.0.text'));
  const usedKey = () => shop.party.seen.at(-1)?.headers['x-key'];
  const toolNames = async (at: string) => {
    const client = await connectClient(at);
    const { tools } = await client.listTools();
    await client.close();
    return tools.map(({ name }) => name);
  };
  const defaults = async () => {
    const listed = await shop.call('GET', `/users/${shop.userId}/credentials?connectorId=shop`);
    return [listed.at('data') ?? null]
      .flat()
      .filter((one) => valueAt(one, 'default') === true)
      .map((one) => valueAt(one, 'name'));
  };
  const clear = async () => {
    for (const one of [home, work]) await change(one, { default: false });
  };

  test('a user with one account sees no account in answers', async () => {
    const answer = await get();
    expect(answer.at('result.structuredContent')).toEqual({ data: { id: 'a' } });
    expect(await toolNames(url)).not.toContain(TOOL);
  });

  test('a user with two accounts chooses one by its exact name, and answers name it', async () => {
    work = await connect(keys[1], 'Work');
    const account = { credentialId: work, name: 'Work' };
    const direct = await get({ credentialId: 'Work' });
    expect(direct.at('result.structuredContent')).toEqual({ data: { id: 'a' }, account });
    expect(text(direct)).toContain('"name":"Work"');
    expect(usedKey()).toBe(keys[1]);
    const ids = { connectorId: 'shop', actionId: 'get_thing', parameters: { thingId: 'a' } };
    const executed = await call('execute_action_svc', { ...ids, credentialId: 'Home' });
    expect(executed.at('result.structuredContent.account')).toEqual({ credentialId: home, name: 'Home' });
    expect(usedKey()).toBe(keys[0]);
    const batch = await call('execute_batch_svc', {
      calls: ['Home', work].map((credentialId) => ({ ...ids, credentialId })),
    });
    expect(batch.at('result.structuredContent.results')).toMatchObject([
      { account: { name: 'Home' } },
      { account },
    ]);
  });

  test('a user who misspells the name of an account is refused with the nearest one', async () => {
    shop.party.seen.length = 0;
    const answer = await get({ credentialId: 'work' });
    expect([code(answer), shop.party.seen]).toEqual(['credential_not_found', []]);
    expect(text(answer)).toContain(`Did you mean "${work}"?`);
    expect(text(answer)).toContain(home);
    const names = JSON.parse(String(answer.at('result.content.1.text')));
    expect(names.accounts.map((one: object) => Object.entries(one).flat())).toEqual([
      expect.arrayContaining([home, 'Home']),
      expect.arrayContaining([work, 'Work']),
    ]);
    const repaired = await get({ credentialId: /Did you mean "(\w+)"/.exec(text(answer))?.[1] });
    expect(repaired.at('result.structuredContent.account.name')).toBe('Work');
  });

  test('a user with two accounts sees the account in errors too', async () => {
    shop.party.answer = () => ({ status: 422, body: { error: { message: 'No.' } } });
    const answer = await get({ credentialId: 'Work' });
    const account = { credentialId: work, name: 'Work' };
    expect(answer.at('result.structuredContent.error.details.account')).toEqual(account);
    expect(JSON.stringify(answer.at('result.content'))).toContain('Work');
  });

  test('a user with two accounts sees the account next to the content of an app', async () => {
    await connect(keys[0], 'Mine', 'notes');
    const ours = await connect(keys[1], 'Ours', 'notes');
    shop.party.answer = () => ({ status: 200, body: { content: [{ type: 'text', text: 'A note.' }] } });
    const answer = await call('notes_list_notes', { credentialId: 'Ours', Other: null });
    expect(code(answer)).toBe('invalid_request');
    const noted = await call('notes_list_notes', { credential_id: 'Ours' });
    expect(noted.at('result.content')).toMatchObject([
      { text: 'A note.' },
      { text: JSON.stringify({ account: { credentialId: ours, name: 'Ours' } }) },
      { text: expect.stringContaining('credential_id') },
    ]);
    expect(noted.at('result._meta')).toEqual({
      'gatehouse/account': { credentialId: ours, name: 'Ours' },
      'gatehouse/corrections': [{ path: 'credential_id', from: 'credential_id', to: 'credentialId' }],
    });
  });

  test('a user with accounts of one name has to choose by id', async () => {
    const third = await connect(keys[2], 'Work');
    shop.party.seen.length = 0;
    const answer = await get({ credentialId: 'Work' });
    expect([code(answer), shop.party.seen]).toEqual(['credential_ambiguous', []]);
    for (const id of [work, third]) expect(text(answer)).toContain(id);
    expect(text(answer)).not.toContain(home);
    await shop.call('DELETE', `/users/${shop.userId}/credentials/${third}`);
    expect((await get({ credentialId: 'Work' })).at('result.structuredContent.account.name')).toBe('Work');
  });

  test('the tool for a default is listed only while a user has several accounts', async () => {
    for (const at of [url, discovery]) expect(await toolNames(at)).toContain(TOOL);
  });

  describe('that has no default', () => {
    afterEach(clear);

    test('a user without a default account sets one with the token of the agreement', async () => {
      expect(code(await get())).toBe('credential_ambiguous');
      expect(text(await get())).toContain(TOOL);
      const asked = await call(TOOL, { credentialId: 'Work' });
      expect(code(asked)).toBe('confirmation_required');
      expect(text(asked)).toContain(`call ${TOOL} with the same arguments`);
      expect(JSON.stringify(asked.at('result.content'))).toContain('Work');
      expect(await defaults()).toEqual([]);
      const confirmationToken = asked.at('result.structuredContent.error.details.confirmationToken');
      const other = await call(TOOL, { credentialId: home, confirmationToken });
      expect([code(other), await defaults()]).toEqual(['confirmation_required', []]);
      const done = await call(TOOL, { credentialId: work, confirmationToken });
      expect(done.at('result.structuredContent')).toMatchObject({
        account: { credentialId: work, name: 'Work' },
        default: true,
      });
      expect(await defaults()).toEqual(['Work']);
      const answer = await get();
      expect(answer.at('result.structuredContent.account.name')).toBe('Work');
      expect(usedKey()).toBe(keys[1]);
      const again = await call(TOOL, { credentialId: work });
      expect(again.at('result.structuredContent.default')).toBe(true);
      const audit = await shop.service.call('GET', '/api/audit?operation=updateCredential&limit=1');
      expect(audit.at('data.0.target')).toContain(work);
    });

    test.each([
      ['accept', ['Home']],
      ['decline', []],
    ] as const)(
      'a user is asked in the client about a default account, and the answer %s counts',
      async (action, after) => {
        const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
        const asked: string[] = [];
        client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
          asked.push(params.message);
          return { action, content: {} };
        });
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        await client.callTool({ name: TOOL, arguments: { credentialId: 'Home' } });
        await client.close();
        expect(asked).toEqual([expect.stringMatching(/account of Shop[^]*"Home"[^]*cred_/)]);
        expect(await defaults()).toEqual(after);
      },
    );

    test('a user is asked about a default account between requests of MCP 2026-07-28', async () => {
      const send = (more: JsonObject = {}) =>
        modern(
          url,
          'tools/call',
          { name: TOOL, arguments: { credentialId: 'Work' }, ...more },
          { capabilities: { elicitation: { form: {} } } },
        );
      const asked = await send();
      expect(asked.at('result.resultType')).toBe('input_required');
      const requestState: Json = asked.at('result.requestState') ?? null;
      await send({ inputResponses: { confirm: { action: 'accept', content: {} } }, requestState });
      expect(await defaults()).toEqual(['Work']);
    });
  });

  test.each([
    ['an unknown account', { credentialId: 'Office' }, 'credential_not_found'],
    ['an account of another app', { credentialId: 'Ours', connectorId: 'shop' }, 'credential_not_found'],
    ['an app that is not here', { credentialId: 'Work', connectorId: 'shopp' }, 'connector_not_found'],
  ])('a user cannot make %s the default', async (_, args, expected) => {
    expect(code(await call(TOOL, args))).toBe(expected);
    expect(await defaults()).toEqual([]);
  });

  test('a user cannot make an account that does not work the default', async () => {
    const third = await connect(keys[2], 'Old');
    shop.party.keys.delete(keys[2]);
    await get({ credentialId: third });
    expect(code(await call(TOOL, { credentialId: 'Old' }))).toBe('credential_invalid');
    expect(await defaults()).toEqual([]);
  });
});
