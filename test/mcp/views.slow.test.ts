import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asObject, type Json, type JsonObject } from '../../src/lib/json.ts';
import { rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';

/* The document of MCP Apps over the wire: to clients that declare the extension, and to those that do not. */

const TYPE = 'text/html;profile=mcp-app';
const URI = 'ui://gatehouse/result';
const VIEWS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html', TYPE] } } };
/** Clients that do not declare the extension, or not with its media type. */
const OTHERS: [string, JsonObject][] = [
  ['no capabilities', {}],
  ['another extension', { extensions: { 'example.com/ui': { mimeTypes: [TYPE] } } }],
  ['the extension without media types', { extensions: { 'io.modelcontextprotocol/ui': {} } }],
  ['another media type', { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } } }],
  ['a media type that is no list', { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: TYPE } } }],
];
const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['sandbox', 'github'] }, confirm: ['destructive'] },
  });
});
afterAll(() => service.stop());

type Ask = (method: string, params?: JsonObject) => Promise<RpcAnswer>;

/** Returns a client of a session. */
async function inSession(capabilities: JsonObject): Promise<Ask> {
  const clientInfo = { name: 'test', version: '1' };
  const begun = await rpc(one.accessUrl, 'initialize', {
    protocolVersion: '2025-06-18',
    capabilities,
    clientInfo,
  });
  const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
  return (method, params) => rpc(one.accessUrl, method, params, { headers });
}

/** Returns a client of MCP 2026-07-28. */
const stateless =
  async (capabilities: JsonObject): Promise<Ask> =>
  (method, params = {}) =>
    modern(one.accessUrl, method, params, { capabilities });

describe.each([
  ['in a session', inSession],
  ['with MCP 2026-07-28', stateless],
])('%s', (_name, connect) => {
  const toolsOf = async (capabilities: JsonObject): Promise<JsonObject[]> => {
    const tools = (await (await connect(capabilities))('tools/list')).at('result.tools');
    return Array.isArray(tools) ? tools.map(asObject) : [];
  };
  const viewed = async (capabilities: JsonObject): Promise<string[]> =>
    (await toolsOf(capabilities))
      .filter(({ _meta: meta }) => asObject(meta)['ui'] !== undefined)
      .map(({ name }) => String(name));

  test.each(OTHERS)('a client with %s gets the same answers as without', async (_title, capabilities) => {
    const [plain, other] = [await connect({}), await connect(capabilities)];
    for (const method of LISTS) {
      const [expected, got] = [await plain(method), await other(method)];
      expect(JSON.stringify(got.body)).toBe(JSON.stringify(expected.body));
      expect(JSON.stringify(got.body)).not.toContain('ui://');
    }
    const read = await other('resources/read', { uri: URI });
    expect(read.at('error.data.code')).toBe('not_found');
    const list = await other('tools/call', { name: 'sandbox_list_orders', arguments: { limit: 1 } });
    expect(JSON.stringify(list.body)).not.toContain('gatehouse/view');
    const link = await other('tools/call', {
      name: 'create_credential_svc',
      arguments: { connectorId: 'github' },
    });
    expect(link.at('result.structuredContent.connectUrl')).toBeDefined();
    expect(JSON.stringify(link.body)).not.toContain('gatehouse/view');
    const question = await other('tools/call', {
      name: 'sandbox_delete_customer',
      arguments: { customerId: 'cus_1001' },
    });
    expect(question.at('result.structuredContent.error.code')).toBe('confirmation_required');
    expect(JSON.stringify(question.body)).not.toContain('gatehouse/view');
  });

  test('a client with the extension gets the same lists, and the address of the document', async () => {
    const [plain, ours] = [await connect({}), await connect(VIEWS)];
    const without = (await toolsOf(VIEWS)).map(({ _meta: meta, ...tool }) => {
      const { ui: _ui, ...rest } = asObject(meta);
      return { ...tool, _meta: rest };
    });
    expect(without).toEqual((await plain('tools/list')).at('result.tools'));
    const [expected, got] = [await plain('resources/list'), await ours('resources/list')];
    const resources = listOf(got.at('result.resources'));
    expect(resources.slice(0, -1)).toEqual(expected.at('result.resources'));
    expect(resources.at(-1)).toMatchObject({ uri: URI, mimeType: TYPE });
    for (const method of ['resources/templates/list', 'prompts/list'])
      expect((await ours(method)).body).toEqual((await plain(method)).body);
  });

  test('tools with links, lists or questions name the document', async () => {
    const unasked = await viewed(VIEWS);
    expect(unasked).toEqual(
      expect.arrayContaining([
        'create_credential_svc',
        'execute_action_svc',
        'read_result_svc',
        'undo_action_svc',
        'sandbox_list_orders',
        'sandbox_delete_customer',
      ]),
    );
    for (const name of [
      'list_connectors_svc',
      'search_actions_svc',
      'sandbox_get_order',
      'sandbox_create_customer',
    ])
      expect(unasked).not.toContain(name);
    const asked = await viewed({ ...VIEWS, elicitation: { form: {} } });
    expect(unasked.filter((name) => !asked.includes(name))).toEqual(
      expect.arrayContaining(['undo_action_svc', 'sandbox_delete_customer']),
    );
    expect(asked).toContain('sandbox_list_orders');
  });

  test('no tool is for the document alone', async () => {
    const meta = (await toolsOf(VIEWS)).map((tool) => asObject(asObject(tool['_meta'])['ui'])['visibility']);
    expect(meta.filter((visibility) => visibility !== undefined)).toEqual([]);
  });

  test('the document is whole, small, and reaches no address', async () => {
    const read = await (await connect(VIEWS))('resources/read', { uri: URI });
    const content = asObject(read.at('result.contents.0'));
    expect(content).toMatchObject({
      uri: URI,
      mimeType: TYPE,
      _meta: {
        ui: {
          csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
          permissions: { clipboardWrite: {} },
          prefersBorder: true,
        },
      },
    });
    const html = String(content['text']);
    expect(html.startsWith('<!doctype html>')).toBe(true);
    expect(Buffer.byteLength(html)).toBeLessThan(40_000);
    expect(html).toContain("default-src 'none'");
    expect(html.match(/https?:\/\/[^"'`\s]+/g)).toEqual(['http://www.w3.org/2000/svg']);
    expect(html).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/);
  });

  test('a list has the name of its action, and whether the document may ask for more', async () => {
    const ask = await connect(VIEWS);
    const list = await ask('tools/call', { name: 'sandbox_list_orders', arguments: { limit: 1 } });
    expect(factsOf(list)).toMatchObject({
      tool: 'sandbox_list_orders',
      failed: false,
      app: { connectorId: 'sandbox', name: 'Sandbox', letter: 'S' },
      action: { name: 'List orders', pages: true },
    });
    const args = {
      connectorId: 'sandbox',
      actionId: 'create_customer',
      parameters: { name: 'Ada', email: 'a@b.example' },
    };
    const made = await ask('tools/call', { name: 'execute_action_svc', arguments: args });
    expect(factsOf(made)).toMatchObject({ action: { pages: false } });
  });

  test('a link has what the account needs, and the accounts that work already', async () => {
    const ask = await connect(VIEWS);
    const made = await ask('tools/call', {
      name: 'create_credential_svc',
      arguments: { connectorId: 'sandbox' },
    });
    expect(factsOf(made)).toMatchObject({
      connect: {
        url: made.at('result.structuredContent.connectUrl'),
        known: [one.credentialId],
        ways: expect.arrayContaining([{ title: 'Sandbox key', fields: ['Sandbox key'] }]),
      },
    });
    const args = { connectorId: 'github', actionId: 'get_authenticated_user', parameters: {} };
    const lacking = await ask('tools/call', { name: 'execute_action_svc', arguments: args });
    const { connect: link } = factsOf(lacking);
    expect(asObject(link)['url']).toBe(lacking.at('result.structuredContent.error.details.connectUrl'));
    expect(asObject(link)['known']).toEqual([]);
  });

  test('a question has its ids, and no token for the document', async () => {
    const ask = await connect(VIEWS);
    const args = { customerId: 'cus_1001' };
    const asked = await ask('tools/call', { name: 'sandbox_delete_customer', arguments: args });
    const facts = factsOf(asked);
    expect(facts).toMatchObject({
      failed: true,
      question: asked.at('result.structuredContent.error.details.question'),
      subject: 'sandbox.delete_customer',
    });
    expect(JSON.stringify(facts)).not.toContain('gh_confirm_');
  });
});

test('a single request without a session gets no document', async () => {
  const answer = await rpc(one.accessUrl, 'resources/read', { uri: URI });
  expect(answer.at('error.data.code')).toBe('not_found');
});

function factsOf(answer: RpcAnswer): JsonObject {
  return asObject(asObject(answer.at('result._meta'))['gatehouse/view']);
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
