import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { asObject } from '../../src/lib/json.ts';
import { startPlainRemote, type PlainRemote } from '../support/plain-remote.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('names of the tools of a remote server over %s', (kind) => {
  let service: Service;
  let remote: PlainRemote;
  let userId: string;
  let added = 0;
  let connectorId: string;
  beforeAll(async () => {
    service = await startService({ kind });
    remote = await startPlainRemote();
    userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  });
  afterAll(async () => {
    await service.stop();
    await remote[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    connectorId = `named${++added}`;
    remote.called.length = 0;
  });

  const offer = (...names: string[]) => {
    remote.tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
  };
  const add = () =>
    service.call('POST', '/api/connectors', {
      body: { mcp: { connectorId, url: remote.url, authentication: { type: 'none' } } },
    });
  const reimport = () => service.call('POST', `/api/connectors/${connectorId}/reimport`);
  /** The ids of the actions, by the server's names of the tools. */
  const ids = async () => {
    const { body } = await service.call('GET', `/api/connectors/${connectorId}`);
    const actions = asObject(asObject(asObject(body)['definition'])['actions']);
    return Object.fromEntries(
      Object.entries(actions).flatMap(([id, action]) => {
        const { name } = asObject(asObject(action)['mcp']);
        return name === undefined ? [] : [[String(name), id]];
      }),
    );
  };
  const run = (actionId: string) =>
    service.call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, {
      headers: { 'x-svc-userid': userId },
      body: { input: {} },
    });

  test.each([
    [['getUser', 'get_user', 'Get User']],
    [['Search', 'search']],
    [['a.b', 'a_b', 'a-b', 'a/b']],
    [['获取列表', '发送消息', 'отправить']],
    [['✉️ send', '🔍 find', '🔍️ find', 'zero​width']],
    [['constructor', '__proto__', 'toString']],
    [['x'.repeat(80), `${'x'.repeat(80)}y`, '1st', '_', 'list_svc', 'tools_list']],
  ])('tools called %j have valid and distinct ids', async (names) => {
    offer(...names);
    const made = await add();
    expect([made.status, made.at('report')]).toEqual([
      201,
      { tools: names.length, leftOut: [], changed: [] },
    ]);
    const found = await ids();
    expect(Object.keys(found).toSorted()).toEqual(names.toSorted());
    expect(new Set(Object.values(found)).size).toBe(names.length);
    for (const [name, id] of Object.entries(found)) {
      expect(id).toMatch(/^[a-z0-9_]{1,64}$/);
      expect((await run(id)).at('data.content.0.text')).toBe(`called ${name}`);
    }
    expect(remote.called.toSorted()).toEqual(names.toSorted());
  });

  test('the name that is the id has it, and the others end in a hash', async () => {
    offer('GetUser', 'getUser', 'get_user');
    await add();
    expect(await ids()).toEqual({
      get_user: 'get_user',
      GetUser: expect.stringMatching(/^get_user_[a-z0-9]{8}$/),
      getUser: expect.stringMatching(/^get_user_[a-z0-9]{8}$/),
    });
  });

  test('a list in another order changes no id and makes no version', async () => {
    offer('getUser', '获取列表', 'get-user', '发送消息');
    await add();
    const before = await ids();
    offer('发送消息', 'get-user', '获取列表', 'getUser');
    expect((await reimport()).at('version')).toBe(1);
    expect(await ids()).toEqual(before);
  });

  test('a tool keeps its id when another of the same words comes or goes', async () => {
    offer('getUser');
    await add();
    offer('get_user', 'getUser', 'GET-USER');
    await reimport();
    const { getUser, get_user: other } = await ids();
    expect(getUser).toBe('get_user');
    offer('get_user');
    await reimport();
    expect(await ids()).toEqual({ get_user: other });
    expect((await run('get_user')).status).toBe(404);
  });

  test('a tool that cannot be read is left out alone', async () => {
    let deep: object = { type: 'object' };
    for (let level = 0; level < 400; level++) deep = { anyOf: [deep] };
    remote.tools = [
      { name: 'deep', inputSchema: deep },
      { name: 'deep result', inputSchema: { type: 'object' }, _meta: deep },
      { name: '' },
      { name: 'n'.repeat(300) },
      null,
      7,
      { inputSchema: {} },
      { name: 'plain', description: null, title: null, inputSchema: null, annotations: null },
      { name: 'plain' },
      { name: 'large', inputSchema: { type: 'object', description: 'x'.repeat(70_000) } },
      { name: 'wrong', inputSchema: { type: 'object', properties: { a: { type: 'nothing' } } } },
      { name: 'text', inputSchema: 'object' },
    ];
    const made = await add();
    expect([made.status, made.at('report.tools')]).toEqual([201, 4]);
    const reasons = asObject(made.body)['report'];
    expect(reasons).toMatchObject({
      leftOut: [
        { name: 'deep', reason: 'is nested too deep' },
        { name: 'deep result', reason: 'is nested too deep' },
        { name: 'tool 3', reason: 'has no valid name' },
        { name: 'tool 4', reason: 'has no valid name' },
        { name: 'tool 5', reason: 'has no valid name' },
        { name: 'tool 6', reason: 'has no valid name' },
        { name: 'tool 7', reason: 'has no valid name' },
        { name: 'plain', reason: 'is listed twice' },
      ],
    });
    expect((await run('plain')).status).toBe(200);
  });

  test('values with hidden characters are left out of a schema', async () => {
    const properties = { mood: { type: 'string', enum: ['❤️', '👍'] }, note: { description: 'a​b' } };
    remote.tools = [
      { name: 'react', inputSchema: { type: 'object', properties } },
      { name: 'odd', inputSchema: { type: 'object', properties: { 'a​b': {} } } },
    ];
    const made = await add();
    expect([made.status, made.at('report.changed')]).toEqual([
      201,
      [{ name: 'odd', change: 'a name in its schema holds hidden characters, so every object is accepted' }],
    ]);
    const { body } = await service.call('GET', `/connectors/${connectorId}/actions/react`);
    expect(asObject(asObject(body)['inputSchema'])['properties']).toMatchObject({
      mood: { type: 'string' },
      note: { description: 'a\\u{200B}b' },
    });
  });
});
