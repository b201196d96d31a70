import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { rpc, type RpcAnswer } from '../support/mcp.ts';
import { refusals } from '../support/model-apis.ts';
import { modern } from '../support/modern.ts';
import { appFile, startShop, type Shop } from '../support/shop.ts';

/* Invalid arguments of models that have only one possible meaning, and names that model APIs reject. */

/**
 * An app whose parameters have features that model APIs reject: special characters in names, references, recursion.
 */
const ODD = appFile(
  'odd',
  `schemas:
  folder:
    type: object
    properties:
      title: {type: string}
      parent: {$ref: '#/schemas/folder'}
actions:
  save_file:
    description: A new file.
    request: POST /things
    body:
      fileName: {type: string, required: true}
      folder: {$ref: '#/schemas/folder'}
      size: {type: [integer, 'null'], exclusiveMinimum: 0}
      shared: {type: boolean}
      kind: {type: integer, enum: [1, 2]}
      due: {type: string, format: date}
      colour: {enum: [red, '', null]}
      attachments:
        type: array
        items:
          type: object
          additionalProperties: false
          required: ['@odata.type']
          properties:
            '@odata.type': {const: '#file'}
            bytes: {type: string}
`,
);

let shop: Shop;
let url: string;
beforeAll(async () => {
  shop = await startShop({}, { odd: ODD });
  await shop.call('POST', `/users/${shop.userId}/credentials`, {
    body: { connectorId: 'odd', data: { apiKey: 'key_4fz0QmVtLr81canary', origin: shop.party.origin } },
  });
  const server = await shop.call('POST', '/api/servers', {
    body: { name: 'direct', toolMode: 'direct', duplicateGuard: 'off' },
  });
  url = server.text('accessUrl');
});
afterAll(() => shop[Symbol.asyncDispose]());
beforeEach(() => void (shop.party.seen.length = 0));

const tool = (name: string, args: object) => rpc(url, 'tools/call', { name, arguments: args });
/** Returns the last request that the app received. */
const sent = (): Json => parseJson(shop.party.seen.at(-1)?.body ?? 'null');
const corrections = (answer: RpcAnswer) => answer.at('result._meta.gatehouse/corrections');
const note = (answer: RpcAnswer) => {
  const content = answer.at('result.content');
  const texts = Array.isArray(content) ? content.map((block) => String(valueAt(block, 'text'))) : [];
  return texts.find((text) => text.startsWith('Arguments were corrected'));
};

describe('names that model APIs reject', () => {
  test('names that model APIs reject are listed under an alias, without recursion', async () => {
    const listed = await rpc(url, 'tools/list');
    const tools = [listed.at('result.tools') ?? null].flat();
    const odd = tools.find((one) => valueAt(one, 'name') === 'odd_save_file');
    const inputSchema = Object(valueAt(odd, 'inputSchema'));
    expect(refusals({ name: 'odd_save_file', inputSchema })).toEqual([]);
    expect(inputSchema.properties.attachments.items).toMatchObject({
      properties: { 'odata.type': { enum: ['#file'] } },
      required: ['odata.type'],
    });
    expect(inputSchema.properties.folder.properties).toEqual({
      title: { type: 'string' },
      parent: { type: 'object' },
    });
  });

  test('names that model APIs reject reach the app unchanged', async () => {
    const attachments = [{ 'odata.type': '#file', bytes: 'eA==' }];
    const answer = await tool('odd_save_file', { fileName: 'a.txt', attachments });
    expect(answer.at('result.isError')).toBeUndefined();
    expect(sent()).toEqual({ fileName: 'a.txt', attachments: [{ '@odata.type': '#file', bytes: 'eA==' }] });
    expect(corrections(answer)).toBeUndefined();
    await tool('execute_action_svc', {
      connectorId: 'odd',
      actionId: 'save_file',
      parameters: { fileName: 'a.txt', attachments: [{ '@odata.type': '#file' }] },
    });
    expect(sent()).toEqual({ fileName: 'a.txt', attachments: [{ '@odata.type': '#file' }] });
  });

  test('names that model APIs reject appear under their alias in an error', async () => {
    const answer = await tool('odd_save_file', { fileName: 'a.txt', attachments: [{ bytes: 'eA==' }] });
    expect(answer.at('result.structuredContent.error.details.faults')).toEqual([
      { field: 'attachments.0.odata.type', rule: 'is required' },
    ]);
    expect(shop.party.seen).toEqual([]);
  });
});

describe('parameters with one meaning', () => {
  test.each<[string, object, object, object[]]>([
    [
      'as JSON text',
      { parameters: '{"label":"lamp"}' },
      { label: 'lamp' },
      [{ path: 'parameters', from: '{"label":"lamp"}', to: { label: 'lamp' } }],
    ],
    [
      'with null for one that is optional',
      { parameters: { label: 'lamp', count: null }, credentialId: null },
      { label: 'lamp' },
      [
        { path: 'credentialId', from: null, to: '(left out)' },
        { path: 'parameters.count', from: null, to: '(left out)' },
      ],
    ],
    [
      'with a number as text',
      { parameters: { label: 'lamp', count: '7' } },
      { label: 'lamp', count: 7 },
      [{ path: 'parameters.count', from: '7', to: 7 }],
    ],
    [
      'in other letter case',
      { parameters: { Label: 'lamp', COUNT: 7 } },
      { label: 'lamp', count: 7 },
      [
        { path: 'parameters.Label', from: 'Label', to: 'label' },
        { path: 'parameters.COUNT', from: 'COUNT', to: 'count' },
      ],
    ],
    [
      'next to parameters',
      { label: 'lamp', parameters: { count: 7 } },
      { label: 'lamp', count: 7 },
      [{ path: 'label', from: 'label', to: 'parameters.label' }],
    ],
  ])('parameters %s are read, and the answer says so', async (_, call, body, corrected) => {
    const answer = await tool('execute_action_svc', {
      connectorId: 'shop',
      actionId: 'create_thing',
      ...call,
    });
    expect(answer.at('result.isError')).toBeUndefined();
    expect(sent()).toEqual(body);
    expect(corrections(answer)).toEqual(corrected);
    expect(note(answer)?.split('\n')).toHaveLength(1);
  });

  test('parameters with one meaning are corrected in a direct tool and in a batch', async () => {
    const direct = await tool('odd_save_file', {
      file_name: 'a',
      shared: 'TRUE',
      size: '5',
      folder: '{"title":"x"}',
    });
    expect(sent()).toEqual({ fileName: 'a', shared: true, size: 5, folder: { title: 'x' } });
    expect(corrections(direct)).toHaveLength(4);
    const batch = await tool('execute_batch_svc', {
      calls: [{ actionId: 'shop.createThing', label: 'lamp', parameters: { count: '2' } }],
    });
    expect(sent()).toEqual({ label: 'lamp', count: 2 });
    expect(corrections(batch)).toMatchObject([
      { path: 'calls.0.actionId', from: 'shop.createThing' },
      { path: 'calls.0.label', to: 'parameters.label' },
      { path: 'calls.0.actionId', from: 'createThing', to: 'create_thing' },
      { path: 'calls.0.parameters.count', to: 2 },
    ]);
  });

  test('parameters with one meaning are corrected with MCP 2026-07-28', async () => {
    const answer = await modern(url, 'tools/call', {
      name: 'shop_create_thing',
      arguments: { Label: 'lamp' },
    });
    expect(sent()).toEqual({ label: 'lamp' });
    expect(corrections(answer)).toEqual([{ path: 'Label', from: 'Label', to: 'label' }]);
  });
});

describe('names with one meaning', () => {
  test.each<[string, object, Json]>([
    ['in other letter case', { connectorId: 'Shop', actionId: 'Get_Me' }, ['connectorId', 'actionId']],
    ['in camel case', { connectorId: 'shop', actionId: 'getMe' }, ['actionId']],
    ['in one text', { actionId: 'shop.get_me' }, ['actionId']],
    ['in one text and a second time', { connectorId: 'shop', actionId: 'shop.get_me' }, ['actionId']],
  ])('names %s are found', async (_, call, paths) => {
    const answer = await tool('execute_action_svc', call);
    expect(answer.at('result.structuredContent.data.id')).toBe(77);
    expect([corrections(answer) ?? null].flat().map((one) => valueAt(one, 'path') ?? null)).toEqual(paths);
    expect(note(answer)).toContain('get_me');
  });

  test('misspelt names with one meaning are found when an action is read', async () => {
    const answer = await tool('get_action_svc', {
      actions: ['shop.get_me', { connectorId: 'SHOP', actionId: 'getThing' }],
    });
    expect(answer.at('result.structuredContent.actions')).toMatchObject([
      { connectorId: 'shop', actionId: 'get_me' },
      { connectorId: 'shop', actionId: 'get_thing' },
    ]);
  });

  test.each<[string, object, string, string]>([
    [
      'connector',
      { connectorId: 'shopp', actionId: 'get_me' },
      'connector_not_found',
      'Did you mean "shop"?',
    ],
    [
      'action',
      { connectorId: 'shop', actionId: 'get_thingg' },
      'action_not_found',
      'Did you mean "get_thing"?',
    ],
    [
      'action by a word',
      { connectorId: 'shop', actionId: 'thing_create' },
      'action_not_found',
      '"create_thing"',
    ],
  ])('names of an unknown %s are proposed and not run', async (_, call, code, proposal) => {
    const answer = await tool('execute_action_svc', call);
    expect(answer.at('result.structuredContent.error.code')).toBe(code);
    expect(answer.at('result.content.0.text')).toContain(proposal);
    expect(shop.party.seen).toEqual([]);
  });

  test('names are suggested for an unknown parameter', async () => {
    const answer = await tool('shop_create_thing', { label: 'lamp', coumt: 3 });
    expect(answer.at('result.content.0.text')).toContain(
      'coumt: is not a known parameter. Did you mean "count"?',
    );
  });
});

describe('arguments without a certain meaning', () => {
  test.each<[string, object | string]>([
    ['text that is no number', { label: 'lamp', count: 'seven' }],
    ['a number where text belongs', { label: 7 }],
    ['null for one that is required', { label: null }],
    ['two names of one parameter', { label: 'lamp', count: 1, Count: 2 }],
    ['text that holds a list where an object belongs', '[1]'],
  ])('an argument without a certain meaning is rejected, and nothing is sent: %s', async (_, parameters) => {
    const answer = await tool('execute_action_svc', {
      connectorId: 'shop',
      actionId: 'create_thing',
      parameters,
    });
    expect(answer.at('result.structuredContent.error.code')).toBe('invalid_request');
    expect(shop.party.seen).toEqual([]);
  });
});

test('a reported correction holds no hidden characters', async () => {
  const answer = await tool('execute_action_svc', {
    connectorId: 'shop',
    actionId: 'create_thing',
    parameters: '{"label":"a\u200Bb"}',
  });
  expect(note(answer)).toContain('\\u{200B}');
});

describe('a call over REST', () => {
  test('a call over REST is corrected like MCP, and its answer lists the corrections', async () => {
    const answer = await shop.execute('createThing', { Label: 'lamp', count: '7' });
    expect([answer.status, sent()]).toEqual([200, { label: 'lamp', count: 7 }]);
    expect(answer.at('corrections')).toEqual([
      { path: 'path.actionId', from: 'createThing', to: 'create_thing' },
      { path: 'input.Label', from: 'Label', to: 'label' },
      { path: 'input.count', from: '7', to: 7 },
    ]);
  });

  test('a call over REST takes a JSON text as input, and parameters next to it', async () => {
    const post = (body: object) =>
      shop.call('POST', '/connectors/shop/actions/create_thing/execute', {
        headers: { 'x-svc-userid': shop.userId },
        body,
      });
    const text = await post({ input: '{"label":"lamp"}', credentialId: null });
    expect([text.status, sent()]).toEqual([200, { label: 'lamp' }]);
    expect(text.at('corrections')).toHaveLength(2);
    const next = await post({ input: { count: 7 }, label: 'lamp' });
    expect([next.status, sent()]).toEqual([200, { label: 'lamp', count: 7 }]);
    expect(next.at('corrections')).toEqual([{ path: 'label', from: 'label', to: 'input.label' }]);
  });

  test('a call in a REST batch is corrected too', async () => {
    const answer = await shop.call('POST', '/actions/execute', {
      headers: { 'x-svc-userid': shop.userId },
      body: { calls: [{ actionId: 'shop.createThing', input: { LABEL: 'lamp' } }] },
    });
    expect([answer.at('results.0.status'), sent()]).toEqual([200, { label: 'lamp' }]);
    expect(answer.at('corrections')).toMatchObject([
      { path: 'calls.0.actionId', from: 'shop.createThing' },
      { path: 'calls.0.actionId', to: 'create_thing' },
      { path: 'calls.0.input.LABEL', to: 'label' },
    ]);
  });

  test('a call over REST without a correction has no list of corrections', async () => {
    const answer = await shop.execute('create_thing', { label: 'lamp' });
    expect([answer.status, answer.at('corrections')]).toEqual([200, undefined]);
  });

  test('a call over REST lists its corrections with an error too', async () => {
    const refused = await shop.execute('create_thing', { Label: 'lamp', coumt: 3 });
    expect([refused.status, refused.text('error')]).toEqual([
      400,
      expect.stringContaining('Did you mean "count"?'),
    ]);
    expect(refused.at('details.corrections')).toEqual([{ path: 'input.Label', from: 'Label', to: 'label' }]);
    expect(shop.party.seen).toEqual([]);
  });

  test('a call over REST with an unknown name is refused with a proposal', async () => {
    const unknown = await shop.execute('create_thin', { label: 'lamp' });
    expect([unknown.status, unknown.text('error')]).toEqual([404, expect.stringContaining('"create_thing"')]);
  });
});

test('get_action_svc takes a single action for a list of one, and says so', async () => {
  const only = { connectorId: 'shop', actionId: 'create_thing' };
  const answer = await rpc(url, 'tools/call', { name: 'get_action_svc', arguments: only });
  expect(answer.at('result.structuredContent.actions.0')).toMatchObject(only);
  expect(answer.at('result._meta')).toMatchObject({
    'gatehouse/corrections': [{ path: 'actions', from: only, to: [only] }],
  });
});
