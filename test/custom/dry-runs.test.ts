import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkerHash } from '../../src/connectors/checker.ts';
import { notesFile, startNotes, type NotesApp } from '../support/custom.ts';
import { startRemoteServer, type RemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';

/* Connectors that are only checked: `dryRun` of POST and PUT /api/connectors, for each form of the body. */

let service: Service;
let app: NotesApp;
let remote: RemoteServer;
beforeAll(async () => {
  app = await startNotes();
  remote = await startRemoteServer();
  service = await startService();
});
afterAll(async () => {
  await service.stop();
  await remote[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'Corner shop', version: '1' },
  servers: [{ url: 'https://api.shop.example.com' }],
  paths: { '/items': { get: { operationId: 'listItems', responses: { 200: { description: 'ok' } } } } },
};
const forms = (id: string): [form: string, body: object, report: unknown][] => [
  ['definition', { definition: notesFile(app.origin, { id }) }, undefined],
  ['openapi', { openapi: { document: DOCUMENT, connectorId: id } }, expect.objectContaining({ imported: 1 })],
  [
    'mcp',
    { mcp: { connectorId: id, url: remote.url, authentication: { type: 'none' } } },
    expect.objectContaining({ tools: expect.any(Number) }),
  ],
];

test.each([0, 1, 2])('a new connector that is only checked is not stored (form %i)', async (at) => {
  const [form, body, report] = forms(`new-${at}`)[at] ?? ['', {}, undefined];
  const checked = await service.call('POST', '/api/connectors', { body: { ...body, dryRun: true } });
  expect([form, checked.status, checked.at('version')]).toEqual([form, 200, 0]);
  expect(checked.body).toMatchObject({ connectorId: `new-${at}`, ...(report ? { report } : {}) });
  expect((await service.call('GET', `/connectors/new-${at}`)).status).toBe(404);
  expect((await service.call('GET', '/api/connectors')).at('data')).toEqual([]);
  expect(await service.context.db.selectFrom('custom_connector_revisions').selectAll().execute()).toEqual([]);
});

test('a check of a taken id is refused as its addition is', async () => {
  const check = (definition: unknown) =>
    service.call('POST', '/api/connectors', { body: { definition, dryRun: true } });
  const taken = await check(notesFile(app.origin, { id: 'github' }));
  expect([taken.status, taken.at('code')]).toEqual([409, 'connector_exists']);
  expect((await check({ id: 'faulty' })).at('code')).toBe('invalid_request');
});

test.each([0, 1, 2])('a new version that is only checked is not stored (form %i)', async (at) => {
  const id = `old-${at}`;
  const [, body = {}] = forms(id)[at] ?? [];
  expect((await service.call('POST', '/api/connectors', { body })).status).toBe(201);
  const [, other] = forms(id)[(at + 1) % 3] ?? [];
  const path = `/api/connectors/${id}`;
  const checked = await service.call('PUT', path, { body: { ...other, dryRun: true } });
  expect([checked.status, checked.at('version')]).toEqual([200, 1]);
  expect((await service.call('GET', path)).body).toMatchObject({
    version: 1,
    kind: ['definition', 'openapi', 'mcp'][at],
  });
});

test('connectors of every form are stored as checked by this release', async () => {
  for (const [, body] of forms('kept'))
    await service.call('POST', '/api/connectors', {
      body: JSON.parse(JSON.stringify(body).replaceAll('kept', `kept-${Object.keys(body)[0]}`)),
    });
  const stored = await service.context.db
    .selectFrom('custom_connector_versions')
    .select(['connector_id', 'checker'])
    .where('connector_id', 'like', 'kept-%')
    .execute();
  expect(stored.map(({ connector_id: id }) => id).toSorted()).toEqual([
    'kept-definition',
    'kept-mcp',
    'kept-openapi',
  ]);
  expect(new Set(stored.map(({ checker }) => checker))).toEqual(new Set([checkerHash()]));
});
