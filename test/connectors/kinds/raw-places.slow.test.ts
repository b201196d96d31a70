import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiKey } from '../../../src/identity/api-keys.ts';
import { notesFile, startNotes } from '../../support/custom.ts';
import { startFileApp, type FileApp } from '../../support/file-app.ts';
import { connectClient } from '../../support/mcp.ts';
import { startService } from '../../support/service.ts';
import { STORE_KINDS } from '../../support/stores.ts';
import { until } from '../../support/until.ts';
import { manual } from '../../support/workflows.ts';

const FILE = `baseUrl: '{origin}/api'
authentication: [{type: api_key, in: header, name: X-Key}]
actions:
  list_notes: {description: Lists notes., request: GET /notes}
`;
const CANARY = 'key-of-the-tests-canary';
const READ = { method: 'GET', path: '/notes/1' };

describe.each(STORE_KINDS)('the raw call on %s', (kind) => {
  let app: FileApp;
  beforeAll(async () => {
    app = await startFileApp(FILE, { kind });
    await app.connect({ apiKey: CANARY });
  });
  afterAll(() => app[Symbol.asyncDispose]());
  beforeEach(() => {
    app.seen.length = 0;
    app.answer = () => ({ body: { ok: true } });
  });

  const serverOf = (restrictions: object, bearer?: string) =>
    app.service.call('POST', '/api/servers', {
      ...(bearer === undefined ? { headers: { 'x-svc-userid': app.userId } } : { bearer }),
      body: { name: `raw ${Math.random()}`, toolMode: 'direct', restrictions },
    });
  const define = (steps: object[]) =>
    app.service.call('POST', '/workflows', {
      body: { name: `raw ${Math.random()}`, definition: manual(steps) },
    });
  const step = (input: object) => ({ stepId: 'raw', connectorId: 'app', actionId: 'request', input });
  const allowed = { actions: { mode: 'allowlist', allowedActions: ['app.request'] } };

  test('the raw call is listed last and marked, for keys that may run actions', async () => {
    const listed = await app.call('GET', '/connectors/app/actions');
    expect(listed.at('data')).toMatchObject([
      { actionId: 'list_notes' },
      { actionId: 'request', raw: true, effect: 'destructive' },
    ]);
    expect(listed.at('data.0.raw')).toBe(undefined);
    const page = await app.call('GET', '/connectors/app/actions?limit=1&offset=1');
    expect(page.at('data.0.actionId')).toBe('request');
    expect((await app.call('GET', '/connectors/app')).at('actionCount')).toBe(1);
    const key = await createApiKey(app.service.context, {
      environment: 'development',
      scopes: ['connectors:read'],
    });
    const seen = await app.service.call('GET', '/connectors/app/actions', { bearer: key });
    expect(seen.at('data')).toMatchObject([{ actionId: 'list_notes' }]);
    expect(seen.at('data.1')).toBe(undefined);
  });

  test('the raw call is a step of a workflow, with its method and expressions', async () => {
    const made = await define([
      step({ method: 'PUT', path: "='/notes/' & trigger.input.id", body: { title: '=trigger.input.title' } }),
    ]);
    expect([made.status, made.at('details')]).toEqual([201, undefined]);
    const at = `/workflows/${made.text('workflowId')}`;
    await app.call('POST', `${at}/install?userId=${app.userId}`, {});
    const start = async (id: string) => {
      const { body } = await app.call('POST', `${at}/run?userId=${app.userId}`, {
        input: { id, title: 'Hi' },
      });
      const { runId } = Object(body);
      await until(async () =>
        ['succeeded', 'failed'].includes((await app.call('GET', `${at}/runs/${runId}`)).text('status')),
      );
      return app.call('GET', `${at}/runs/${runId}`);
    };
    expect((await start('7')).at('status')).toBe('succeeded');
    expect(app.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['PUT', '/api/notes/7', '{"title":"Hi"}'],
    ]);
    expect((await start('../admin')).at('steps.0.error.code')).toBe('invalid_request');
    expect(app.seen).toHaveLength(1);
  });

  test('the raw call is checked when its workflow is saved', async () => {
    for (const [input, field] of [
      [{ path: '/notes' }, 'method'],
      [{ method: '=trigger.input.method', path: '/notes' }, 'method'],
      [{ method: 'TRACE', path: '/notes' }, 'method'],
      [{ method: 'GET' }, 'path'],
      [{ method: 'GET', path: 'notes' }, 'path'],
      [{ method: 'GET', path: '/notes/%2e%2e/x' }, 'path'],
      [{ method: 'GET', path: '/x', body: { a: 1 } }, 'body'],
      [{ method: 'GET', path: '/x', headers: { Authorization: '=config.key' } }, 'headers.Authorization'],
      [{ method: 'POST', path: '/x', query: { _method: 'DELETE' } }, 'query._method'],
      [{ method: 'GET', path: '/x', url: 'https://evil.example' }, 'url'],
    ] as const) {
      const refused = await define([step(input)]);
      expect([refused.status, refused.at('details.faults.0.field')]).toEqual([
        400,
        `definition.steps.0.input.${field}`,
      ]);
    }
  });

  test('the raw call in a workflow obeys the exact name and the effect of its method', async () => {
    const idOf = async (method: string) => {
      const workflowId = (await define([step({ method, path: '/notes/1' })])).text('workflowId');
      await app.call('POST', `/workflows/${workflowId}/install?userId=${app.userId}`, {});
      return workflowId;
    };
    const reads = await idOf('GET');
    const posts = await idOf('POST');
    const toolsOf = async (restrictions: object) => {
      const client = await connectClient((await serverOf(restrictions)).text('accessUrl'));
      const find = async (workflowId: string) =>
        (await client.listTools()).tools.find(({ _meta }) => _meta?.['gatehouse/workflowId'] === workflowId);
      return { client, find };
    };
    const all = await toolsOf(allowed);
    await until(async () => (await all.find(posts)) !== undefined);
    const destructive = (await all.find(posts))?.annotations?.destructiveHint;
    expect([destructive, (await all.find(reads))?.annotations?.readOnlyHint]).toEqual([true, true]);
    const patterns = await toolsOf({ actions: { mode: 'allowlist', allowedActions: ['app.*'] } });
    expect([await patterns.find(reads), await patterns.find(posts)]).toEqual([undefined, undefined]);
    const readOnly = await toolsOf({ ...allowed, effects: { allowed: ['read'] } });
    expect(await readOnly.find(posts)).toBe(undefined);
    const ran = await readOnly.client.callTool({ name: (await readOnly.find(reads))?.name ?? '' });
    expect(ran.isError).toBe(undefined);
    expect(app.seen.map(({ method }) => method)).toEqual(['GET']);
    for (const { client } of [all, patterns, readOnly]) await client.close();
  });

  test('the raw call gives a binary answer as a file of its user, and text as text', async () => {
    const content = randomBytes(300_000);
    app.answer = () => ({ headers: { 'content-type': 'image/png' }, body: content });
    const { body } = await app.execute('request', READ);
    const { fileId, ...rest } = Object(body).data;
    expect(rest).toEqual({ mediaType: 'image/png', size: content.length });
    const file = await fetch(`${app.service.url}/files/${fileId}?userId=${app.userId}`, {
      headers: { authorization: `Bearer ${app.service.developmentKey}`, 'x-api-version': '2025-09' },
    });
    expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true);
    app.answer = () => ({ headers: { 'content-type': 'text/html' }, body: '<p>Hi</p>' });
    expect((await app.execute('request', READ)).at('data')).toEqual({
      mediaType: 'text/html',
      size: 9,
      text: '<p>Hi</p>',
    });
    app.answer = () => ({ headers: { 'content-type': 'text/csv' }, body: 'a;b' });
    expect((await app.execute('request', READ)).at('data')).toBe('a;b');
    app.answer = () => ({ headers: { 'content-type': 'image/png' }, body: '' });
    expect((await app.execute('request', { ...READ, method: 'HEAD' })).at('data')).toBe(null);
    app.answer = () => ({ status: 404, headers: { 'content-type': 'image/png' }, body: content });
    expect((await app.execute('request', READ)).at('code')).toBe('upstream_rejected');
    app.answer = () => ({ body: { text: 'x'.repeat(11 * 1024 * 1024) } });
    expect((await app.execute('request', READ)).at('code')).toBe('upstream_too_large');
  });

  test("a user's server allows the raw call only with its exact name in the environment", async () => {
    const jwt = (await app.call('GET', `/2023-12/user/${app.userId}/token`)).text('token');
    const made = await serverOf(allowed, jwt);
    const client = await connectClient(made.text('accessUrl'));
    const outcome = async () => {
      const args = { connectorId: 'app', actionId: 'request', parameters: READ };
      const result = await client
        .callTool({ name: 'execute_action_svc', arguments: args })
        .catch((error: unknown) => error);
      const text = JSON.stringify(result, Object.getOwnPropertyNames(Object(result)));
      return /userServerRestrictions\.[\w.]+/.exec(JSON.stringify(Object(result)) + text)?.[0] ?? 'runs';
    };
    const simulated = async () =>
      (
        await app.call('POST', `/api/servers/${made.text('serverId')}/simulate`, {
          connectorId: 'app',
          actionId: 'request',
          input: READ,
          userId: app.userId,
        })
      ).at('rule') ?? 'runs';
    const rule = async (restrictions: object) => {
      await app.call('PUT', '/api/settings', { userServerRestrictions: restrictions });
      await until(async () => (await outcome()) === (await simulated()));
      const listed = (await client.listTools()).tools.some(({ name }) => name === 'app_request');
      return [await outcome(), listed];
    };
    const name = 'userServerRestrictions.actions.allowedActions';
    expect(await rule({ actions: { mode: 'allowlist', allowedActions: ['app.*'] } })).toEqual([name, false]);
    expect(await rule({ effects: { allowed: ['write'] } })).toEqual([
      'userServerRestrictions.effects.allowed',
      true,
    ]);
    expect(await rule(allowed)).toEqual(['runs', true]);
    expect(await rule({})).toEqual(['runs', true]);
    expect((await app.execute('request', READ)).status).toBe(200);
    await client.close();
  });
});

test.each(STORE_KINDS)('a server that pins its tools pins the raw call too, on %s', async (kind) => {
  await using app = await startNotes();
  await using service = await startService({ kind });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const put = (file: string, method = 'PUT', path = '/api/connectors/notes') =>
    service.call(method, path, { body: { definition: file } });
  await put(notesFile(app.origin), 'POST', '/api/connectors');
  await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'notes', data: { apiKey: CANARY } },
  });
  const changes = async () => {
    const found = (await service.call('GET', '/api/tools/changes')).at('data');
    return Array.isArray(found) ? found.map((one) => Object(one)) : [];
  };
  const approve = async () =>
    service.call('POST', '/api/tools/approve', {
      body: {
        tools: (await changes()).map(({ connectorId, actionId, hash }) => ({ connectorId, actionId, hash })),
      },
    });
  // The custom connector is newer than the baseline, so its definitions are approved first.
  await approve();
  const made = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: {
      name: 'pinned',
      toolMode: 'direct',
      pinTools: true,
      restrictions: { actions: { mode: 'allowlist', allowedActions: ['notes.*', 'notes.request'] } },
    },
  });
  const client = await connectClient(made.text('accessUrl'));
  const raw = async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name);
    const result = await client
      .callTool({
        name: 'execute_action_svc',
        arguments: { connectorId: 'notes', actionId: 'request', parameters: READ },
      })
      .catch((error: unknown) => Object(error));
    const answered = Object(result).structuredContent?.data?.path;
    const refused = /pinTools/.exec(JSON.stringify(result) + String(result))?.[0];
    return [names.includes('notes_request'), answered ?? refused];
  };
  expect(await raw()).toEqual([true, '/notes/1']);
  // Another action changes. The raw call needs no approval for that.
  await put(notesFile(app.origin, { description: 'Lists all pages.' }));
  expect((await changes()).map(({ actionId }) => actionId)).toEqual(['list_notes']);
  expect(await raw()).toEqual([true, '/notes/1']);
  // The base address changes, and with it the target of the raw call.
  await put(notesFile(`${app.origin}/v2`));
  expect(new Set((await changes()).map(({ actionId }) => actionId))).toEqual(
    new Set(['list_notes', 'request']),
  );
  expect(await raw()).toEqual([false, 'pinTools']);
  await approve();
  expect(await changes()).toEqual([]);
  expect(await raw()).toEqual([true, '/v2/notes/1']);
  await client.close();
});

test('files of one user are limited in number and bytes, and the others stay', async () => {
  const env = { GATEHOUSE_USER_FILES: '4', GATEHOUSE_USER_FILES_MIB: '1' };
  await using app = await startFileApp(FILE, { env });
  await app.connect({ apiKey: CANARY });
  const content = randomBytes(400_000);
  app.answer = () => ({ headers: { 'content-type': 'image/png' }, body: content });
  const ids = [await app.upload('a'), await app.upload(content)];
  // 400,001 bytes are used, so two more answers of 400,000 are too many.
  expect((await app.execute('request', READ)).status).toBe(200);
  const full = await app.execute('request', READ);
  expect([full.status, full.at('code'), full.at('details.limit')]).toEqual([409, 'limit_reached', 1_048_576]);
  app.answer = () => ({ headers: { 'content-type': 'image/png' }, body: Buffer.from([0, 1]) });
  expect((await app.execute('request', READ)).status).toBe(200);
  const many = await app.execute('request', READ);
  expect([many.at('code'), many.at('details')]).toEqual(['limit_reached', { limit: 4, used: 4 }]);
  expect(many.text('error')).toContain('A user may have 4 files at a time');
  for (const fileId of ids)
    expect((await app.call('GET', `/files/${fileId}?userId=${app.userId}`)).status).toBe(200);
  await app.call('DELETE', `/files/${ids[0]}?userId=${app.userId}`);
  expect((await app.execute('request', READ)).status).toBe(200);
});
