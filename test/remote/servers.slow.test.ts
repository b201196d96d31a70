import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  ElicitResultSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectListener } from '../support/polls.ts';
import { startRemoteServer, type RemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS, testOnce } from '../support/stores.ts';
import { until } from '../support/until.ts';

const TOKEN = 'token_of_ada_1';

describe.each(STORE_KINDS)('remote MCP servers over %s', (kind) => {
  const once = testOnce(kind);
  let service: Service;
  let remote: RemoteServer;
  let userId: string;
  beforeAll(async () => {
    remote = await startRemoteServer();
    service = await startService({ kind });
    userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  });
  afterAll(async () => {
    await service.stop();
    await remote[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    remote.tokens.clear();
    remote.tools = () => {};
    remote.instead = undefined;
  });

  const add = (connectorId: string, authentication: object, more: object = {}) =>
    service.call('POST', '/api/connectors', {
      body: { mcp: { connectorId, url: remote.url, authentication, ...more } },
    });
  const connect = (connectorId: string, data: object) =>
    service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId, data },
    });
  const run = (connectorId: string, actionId: string, input: object = {}) =>
    service.call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, {
      headers: { 'x-svc-userid': userId },
      body: { input },
    });
  const read = (connectorId: string) => service.call('GET', `/api/connectors/${connectorId}`);
  const effects = async (connectorId: string) => {
    const { body } = await service.call('GET', `/connectors/${connectorId}/actions`);
    const { data } = body as { data: { actionId: string; effect: string }[] };
    return Object.fromEntries(data.map(({ actionId, effect }) => [actionId, effect]));
  };
  const urlOf = async (connectorId: string, confirm: string[] = []) => {
    const restrictions = { connectors: { allowedIds: [connectorId] }, confirm };
    const body = { name: connectorId, toolMode: 'direct', restrictions };
    return (await service.call('POST', '/api/servers', { body })).text('accessUrl');
  };

  test('the tools of a server become actions with the effects that it claims', async () => {
    const made = await add('open', { type: 'none' }, { name: 'Open notes' });
    expect([made.status, made.at('version'), made.at('pending'), made.at('report')]).toEqual([
      201,
      1,
      false,
      { tools: 6, leftOut: [], changed: [] },
    ]);
    expect(await effects('open')).toEqual({
      add_numbers: 'read',
      who_am_i: 'read',
      broken: 'read',
      slow: 'read',
      save_note: 'write',
      erase: 'destructive',
    });
    expect((await run('open', 'add_numbers', { a: 2, b: 3 })).at('data.content.0.text')).toBe('5');
    const refused = await run('open', 'add_numbers', { a: 'two', b: 3 });
    expect([refused.status, refused.at('details.faults.0.field')]).toEqual([400, 'a']);
  });

  once?.('the tools of a server with keys are unknown until a user connects an account', async () => {
    remote.tokens.add(TOKEN);
    const made = await add('later', { type: 'bearer' });
    expect([made.status, made.at('pending')]).toEqual([201, true]);
    expect((await read('later')).at('remote')).toMatchObject({ pending: true, operatorAccess: false });
    expect((await connect('later', { token: 'token_of_nobody' })).text('code')).toBe('credential_invalid');
    expect((await connect('later', { token: TOKEN })).status).toBe(201);
    await until(async () => (await read('later')).at('remote.pending') === false);
    expect((await run('later', 'who_am_i')).at('data.content.0.text')).toBe('Bearer [secret]');
  });

  once?.('values of the operator read the tools and never make a call', async () => {
    remote.tokens.add(TOKEN).add('token_of_operator');
    const made = await add('ours', { type: 'bearer', token: 'token_of_operator' });
    expect([made.status, made.at('pending'), made.at('report.tools')]).toEqual([201, false, 6]);
    expect((await run('ours', 'add_numbers', { a: 1, b: 1 })).text('code')).toBe('credential_required');
    expect(JSON.stringify((await read('ours')).body)).not.toContain('token_of_operator');
    await connect('ours', { token: TOKEN });
    remote.heard.length = 0;
    expect((await run('ours', 'add_numbers', { a: 1, b: 1 })).status).toBe(200);
  });

  once?.('named headers carry the credential', async () => {
    const made = await add('headed', {
      type: 'headers',
      names: ['X-Key'],
      values: { 'X-Key': 'key_0123456789' },
    });
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ version: 1 })]);
    const bad = await add('bad', { type: 'headers', names: ['Mcp-Session-Id'] });
    expect([bad.status, bad.at('details.faults.0.field')]).toEqual([400, 'mcp.authentication.names.0']);
  });

  once?.('a client of ours sees the tools, their changes, progress and log messages', async () => {
    await add('live', { type: 'none' });
    const client = await connectListener(service, await urlOf('live'));
    let heard = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard++);
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).toContain('live_save_note');
    const steps: unknown[] = [];
    const done = await client.callTool({ name: 'live_slow', arguments: {} }, undefined, {
      onprogress: (progress) => void steps.push(progress),
    });
    expect(done.content).toMatchObject([{ type: 'text', text: 'done' }]);
    expect(steps).toEqual([{ progress: 1, total: 2, message: 'half' }]);
    remote.tools = (server) =>
      void server.registerTool('fresh', { description: 'Is new.' }, () => ({ content: [] }));
    remote.forget();
    const again = await service.call('POST', '/api/connectors/live/reimport');
    expect([again.at('version'), again.at('report.tools')]).toEqual([2, 7]);
    await until(() => heard > 0);
    expect(await names()).toContain('live_fresh');
    const changes = await service.call('GET', '/api/connectors/live/versions/1/diff/2');
    expect(changes.at('added')).toEqual(['fresh']);
    expect((await service.call('POST', '/api/connectors/live/reimport')).at('version')).toBe(2);
    await client.close();
  });

  once?.('a question of the server reaches the user of the client', async () => {
    const requestedSchema = { type: 'object' as const, properties: { title: { type: 'string' as const } } };
    remote.tools = (server) =>
      void server.registerTool('ask', { annotations: { readOnlyHint: true } }, async (extra) => {
        const params = { message: 'Which note?', requestedSchema };
        const asked = await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
        return { content: [{ type: 'text', text: JSON.stringify(asked) }] };
      });
    await add('curious', { type: 'none' });
    const questions: string[] = [];
    const url = await urlOf('curious');
    const client = new Client({ name: 'tests', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message);
      return { action: 'accept', content: { title: 'shopping' } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const answered = await client.callTool({ name: 'curious_ask', arguments: {} });
    expect(answered.content).toMatchObject([{ text: '{"action":"accept","content":{"title":"shopping"}}' }]);
    expect(questions).toEqual(['curious asks: Which note?']);
    await client.close();
    const mute = await connectListener(service, url);
    const unanswered = await mute.callTool({ name: 'curious_ask', arguments: {} });
    expect(unanswered.content).toMatchObject([{ text: '{"action":"cancel"}' }]);
    await mute.close();
    expect((await run('curious', 'ask')).at('data.isError')).toBe(true);
  });

  test('an overlay sets effects and hides tools, also after changes of the server', async () => {
    await add('tuned', { type: 'none' });
    const actions = { save_note: { effect: 'destructive', description: 'Saves.' }, erase: null };
    const put = await service.call('PUT', '/api/connectors/tuned/overlay', { body: { actions } });
    expect([put.status, put.at('version'), put.at('unused')]).toEqual([200, 2, []]);
    expect(await effects('tuned')).toMatchObject({ save_note: 'destructive', add_numbers: 'read' });
    expect(await effects('tuned')).not.toHaveProperty('erase');
    remote.tools = (server) =>
      void server.registerTool('fresh', { description: 'Is new.' }, () => ({ content: [] }));
    const again = await service.call('POST', '/api/connectors/tuned/reimport');
    expect([again.at('version'), again.at('breaking')]).toEqual([3, []]);
    expect(await effects('tuned')).toMatchObject({ save_note: 'destructive', fresh: 'destructive' });
    expect(await effects('tuned')).not.toHaveProperty('erase');
    const later = { fresh: { effect: 'read' }, missing: { effect: 'read' } };
    const more = await service.call('PUT', '/api/connectors/tuned/overlay', { body: { actions: later } });
    expect(more.at('unused')).toEqual(['missing']);
    remote.tools = () => {};
    const without = await service.call('POST', '/api/connectors/tuned/reimport');
    expect(without.at('breaking')).toEqual(['fresh: the action is gone']);
    expect(await effects('tuned')).toMatchObject({ save_note: 'write', erase: 'destructive' });
    expect((await service.call('GET', '/api/connectors/tuned/overlay')).at('unused')).toEqual([
      'fresh',
      'missing',
    ]);
    expect((await read('tuned')).at('remote.error')).toBeNull();
  });

  test('failed reads of tools are stored while further servers are claimed', async () => {
    const ids = Array.from({ length: 6 }, (_, n) => `away${n}`);
    for (const id of ids) expect((await add(id, { type: 'none' })).status).toBe(201);
    remote.instead = (req) => {
      req.socket.destroy();
      return true;
    };
    await service.context.db
      .updateTable('remote_servers')
      .set({ next_at: 0 })
      .where('connector_id', 'like', 'away%')
      .execute();
    await until(async () => {
      const errors = await Promise.all(ids.map(async (id) => (await read(id)).at('remote.error')));
      return errors.every((error) => typeof error === 'string');
    });
    for (const id of ids) await service.call('DELETE', `/api/connectors/${id}`);
  });

  once?.('a call that its server may use to destroy is confirmed', async () => {
    await add('guarded', { type: 'none' });
    const client = await connectListener(service, await urlOf('guarded', ['destructive']));
    const asked = await client.callTool({ name: 'guarded_erase', arguments: {} });
    expect([asked.isError, JSON.stringify(asked)]).toEqual([
      true,
      expect.stringContaining('confirmation_required'),
    ]);
    await client.close();
  });

  once?.('a server that cannot be reached or does not speak MCP is not added', async () => {
    remote.instead = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>');
      return true;
    };
    const page = await add('page', { type: 'none' });
    expect([page.status, page.text('code')]).toEqual([502, 'upstream_failed']);
    expect((await read('page')).status).toBe(404);
    const both = await service.call('POST', '/api/connectors', {
      body: { definition: 'id: x', mcp: { connectorId: 'x', url: remote.url } },
    });
    expect(both.status).toBe(400);
  });

  test('a deleted server leaves nothing behind, and its id can return as a file', async () => {
    await add('short', { type: 'none' });
    expect((await service.call('DELETE', '/api/connectors/short')).status).toBe(200);
    expect((await run('short', 'erase')).text('code')).toBe('connector_not_found');
    expect((await add('short', { type: 'none' })).at('version')).toBe(2);
  });
});
