import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseYaml } from '../../src/connectors/parse.ts';
import { notesFile, startNotes, type NotesApp } from '../support/custom.ts';
import { rpc } from '../support/mcp.ts';
import { connectListener } from '../support/polls.ts';
import { startService, type Answer, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

const SOON = { interval: 20, timeout: PATIENCE_MS };

describe.each(STORE_KINDS)('custom connectors over %s', (kind) => {
  let here: Service;
  let there: Service;
  let app: NotesApp;
  let userId: string;
  beforeAll(async () => {
    app = await startNotes();
    here = await startService({ kind });
    there = await startService({ env: here.env });
    userId = (await here.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  });
  afterAll(async () => {
    await there.stop();
    await here.stop();
    await app[Symbol.asyncDispose]();
  });

  const put = (id: string, definition: unknown) =>
    here.call('PUT', `/api/connectors/${id}`, { body: { definition } });
  const add = (definition: unknown) => here.call('POST', '/api/connectors', { body: { definition } });
  const atOther = (path: string) => there.call('GET', path, { bearer: here.developmentKey });
  const connect = (connectorId: string) =>
    here.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId, data: { apiKey: 'key_0123456789' } },
    });
  const run = (service: Service, connectorId: string): Promise<Answer> =>
    service.call('POST', `/connectors/${connectorId}/actions/list_notes/execute`, {
      bearer: here.developmentKey,
      headers: { 'x-svc-userid': userId },
      body: { input: {} },
    });

  test('an added connector runs in every process, in its environment only', async () => {
    const added = await add(notesFile(app.origin));
    expect([added.status, added.body]).toEqual([201, { connectorId: 'notes', version: 1 }]);
    expect((await connect('notes')).status).toBe(201);
    expect((await run(here, 'notes')).at('data.path')).toBe('/notes');
    await until(async () => (await atOther('/connectors/notes')).status === 200);
    expect((await run(there, 'notes')).at('data.path')).toBe('/notes');
    const production = { bearer: here.productionKey };
    expect((await here.call('GET', '/connectors/notes', production)).status).toBe(404);
    expect((await here.call('GET', '/api/connectors/notes', production)).text('code')).toBe(
      'connector_not_found',
    );
    expect((await here.call('GET', '/api/connectors', production)).at('data')).toEqual([]);
  });

  test('a change reaches tools and listeners of another process', async () => {
    await add(notesFile(app.origin, { id: 'diary' }));
    await until(async () => (await atOther('/connectors/diary')).status === 200);
    const restrictions = { connectors: { allowedIds: ['diary'] } };
    const body = { name: 'diary', toolMode: 'direct', restrictions };
    const url = (await here.call('POST', '/api/servers', { body })).text('accessUrl');
    const client = await connectListener(there, url.replace(here.url, there.url));
    let heard = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard++);
    const tools = async () => JSON.stringify((await client.listTools()).tools);
    expect(await tools()).toContain('diary_list_notes');
    await put('diary', notesFile(app.origin, { id: 'diary', description: 'Lists all pages.' }));
    await expect.poll(() => heard, SOON).toBe(1);
    expect(await tools()).toContain('Lists all pages.');
    expect((await here.call('DELETE', '/api/connectors/diary')).status).toBe(200);
    await expect.poll(() => heard, SOON).toBe(2);
    expect(await tools()).not.toContain('diary');
    await client.close();
  });

  test('versions are listed, read and compared', async () => {
    const text = notesFile(app.origin, {
      id: 'pages',
      more: '  old_one: {description: Old., request: GET /old}\n',
    });
    expect((await add(text)).body).toEqual({ connectorId: 'pages', version: 1 });
    const parsed = parseYaml(notesFile(app.origin, { id: 'pages', description: 'Lists pages.' }), 'pages');
    if ('faults' in parsed) throw new Error('the file is faulty');
    const changed = Object(parsed.value);
    Object.assign(changed.actions, { new_one: { description: 'New.', request: 'DELETE /new' } });
    expect((await put('pages', changed)).body).toEqual({ connectorId: 'pages', version: 2 });
    // The same values in another spelling.
    expect((await put('pages', JSON.stringify(changed))).at('version')).toBe(2);
    const path = '/api/connectors/pages';
    expect((await here.call('GET', path)).body).toMatchObject({
      connectorId: 'pages',
      name: 'Notes',
      version: 2,
      kind: 'definition',
      origins: [app.origin],
      hiddenBy: null,
      definition: changed,
      text: null,
    });
    const versions = await here.call('GET', `${path}/versions?limit=1`);
    expect(versions.body).toMatchObject({ data: [{ version: 2 }], pagination: { hasMore: true } });
    expect((await here.call('GET', `${path}/versions/1`)).text('text')).toBe(text);
    expect((await here.call('GET', `${path}/versions/3`)).text('code')).toBe('connector_version_not_found');
    const diff = await here.call('GET', `${path}/versions/1/diff/2`);
    expect(diff.body).toEqual({
      connectorId: 'pages',
      from: 1,
      to: 2,
      added: ['new_one'],
      removed: ['old_one'],
      changed: [
        {
          actionId: 'list_notes',
          differences: [
            { path: 'description', change: 'changed', before: 'Lists the notes.', after: 'Lists pages.' },
          ],
        },
      ],
      file: [],
      truncated: false,
    });
    const listed = await here.call('GET', '/api/connectors');
    expect(JSON.stringify(listed.at('data'))).toContain('"connectorId":"pages"');
  });

  test('a deleted connector is gone everywhere, and a new one continues its versions', async () => {
    await add(notesFile(app.origin, { id: 'brief' }));
    await until(async () => (await atOther('/connectors/brief')).status === 200);
    expect((await here.call('DELETE', '/api/connectors/brief')).body).toMatchObject({ connectorId: 'brief' });
    expect((await here.call('DELETE', '/api/connectors/brief')).status).toBe(404);
    expect((await put('brief', notesFile(app.origin, { id: 'brief' }))).status).toBe(404);
    expect((await here.call('GET', '/api/connectors/brief/versions')).status).toBe(404);
    expect((await run(here, 'brief')).text('code')).toBe('connector_not_found');
    await until(async () => (await atOther('/connectors/brief')).status === 404);
    expect((await add(notesFile(app.origin, { id: 'brief' }))).at('version')).toBe(2);
  });

  test('one id that two callers add at once is added once', async () => {
    const file = notesFile(app.origin, { id: 'twice' });
    const answers = await Promise.all([
      add(file),
      there.call('POST', '/api/connectors', { bearer: here.developmentKey, body: { definition: file } }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    const changes = ['One.', 'Two.', 'Three.'].map((description) =>
      put('twice', notesFile(app.origin, { id: 'twice', description })),
    );
    const versions = (await Promise.all(changes)).map((one) => one.at('version'));
    expect(versions.sort()).toEqual([2, 3, 4]);
  });

  test('a stored connector is there after a restart', async () => {
    await add(notesFile(app.origin, { id: 'lasting' }));
    const again = await startService({ env: here.env });
    const found = await again.call('GET', '/connectors/lasting', { bearer: here.developmentKey });
    await again.stop();
    expect(found.at('actions.0.actionId')).toBe('list_notes');
  });

  test('a definition that other code has checked is checked again at the start', async () => {
    await add(notesFile(app.origin, { id: 'older' }));
    const { db } = here.context;
    const older = { checker: 'another release', definition: '{}' };
    const rows = db.updateTable('custom_connector_versions').set(older);
    await rows.where('connector_id', '=', 'older').execute();
    await add(notesFile(app.origin, { id: 'broken' }));
    const broken = { checker: 'another release', source: '"id: broken"' };
    await db
      .updateTable('custom_connector_versions')
      .set(broken)
      .where('connector_id', '=', 'broken')
      .execute();
    const again = await startService({ env: here.env });
    const read = (id: string) => again.call('GET', `/connectors/${id}`, { bearer: here.developmentKey });
    const found = [await read('older'), await read('broken'), await read('notes')];
    await again.stop();
    expect(found.map(({ status }) => status)).toEqual([200, 404, 200]);
    expect(again.logged.filter((line) => line.includes('custom connector left out'))).toHaveLength(1);
    const { checker } = await db
      .selectFrom('custom_connector_versions')
      .select('checker')
      .where('connector_id', '=', 'older')
      .executeTakeFirstOrThrow();
    expect(checker).not.toBe('another release');
    await here.call('DELETE', '/api/connectors/broken');
  });

  test('every change is in the audit log', async () => {
    await add(notesFile(app.origin, { id: 'audited' }));
    await put('audited', notesFile(app.origin, { id: 'audited', description: 'Other.' }));
    await here.call('DELETE', '/api/connectors/audited');
    const { body } = await here.call('GET', '/api/audit?limit=3');
    expect(body).toMatchObject({
      data: [
        { operation: 'deleteCustomConnector', status: 200 },
        { operation: 'putCustomConnector', status: 200 },
        { operation: 'createCustomConnector', status: 201 },
      ],
    });
  });

  test('a bare request names the tools of a custom connector', async () => {
    const body = { name: 'bare', restrictions: { connectors: { allowedIds: ['notes'] } } };
    const url = (await here.call('POST', '/api/servers', { body })).text('accessUrl');
    const tools = JSON.stringify((await rpc(url, 'tools/list')).at('result.tools'));
    expect(tools).toContain('"notes_list_notes"');
  });
});
