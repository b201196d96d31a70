import { afterAll, beforeAll, expect, test } from 'vitest';
import { notesFile, startNotes, type NotesApp } from '../support/custom.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let app: NotesApp;
let receiver: Receiver;
let userId: string;
let connectionId: string;

beforeAll(async () => {
  app = await startNotes();
  receiver = await startReceiver();
  // A failed poll is repeated after an hour, unless its connector returns.
  service = await startService({ env: { GATEHOUSE_POLL_INTERVAL: '3600' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  await add();
  const body = { connectorId: 'notes', data: { apiKey: 'key_0123456789' } };
  connectionId = (await as('POST', `/users/${userId}/credentials`, body)).text('credentialId');
});
afterAll(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

const as = (method: string, path: string, body?: unknown) =>
  service.call(method, path, { headers: { 'x-svc-userid': userId }, ...(body ? { body } : {}) });
const add = () => as('POST', '/api/connectors', { definition: FILE() });
const remove = () => as('DELETE', '/api/connectors/notes');

const FILE = () =>
  notesFile(app.origin, {
    more: `    paging: {style: none}
    response: {data: notes, whenEmpty: [path]}
  get_note: {description: Reads a note., request: 'GET /notes/{id}', path: {id: {type: string}}}
unified:
  commerce/customers: {list: list_notes, get: {action: get_note, param: id}, remoteId: id, map: '{}'}
`,
  });

test('a subscription polls again when its connector returns', async () => {
  const path = `/2023-03/one/webhooks?connectionId=${connectionId}`;
  const subscribed = await as('POST', path, { address: receiver.url, scope: 'commerce/customers' });
  expect(subscribed.status).toBe(201);
  const { db } = service.context;
  const source = () => db.selectFrom('sources').selectAll().executeTakeFirstOrThrow();
  await until(async () => (await source()).baseline_at !== null);
  await remove();
  await db.updateTable('sources').set({ next_poll_at: 0 }).execute();
  await until(async () => (await source()).failures > 0);
  expect((await as('GET', path)).at('data.0.status')).toBe('active');
  const refused = await as('GET', `/2023-03/one/commerce/customers?connectionId=${connectionId}`);
  expect([refused.status, refused.at('code')]).toEqual([404, 'connector_not_found']);
  expect(refused.text('error')).toContain('works again');
  await add();
  await until(async () => (await source()).failures === 0);
});

test('a workflow and a server that name a missing connector work when it returns', async () => {
  const definition = {
    trigger: { type: 'manual' },
    steps: [{ stepId: 'list', connectorId: 'notes', actionId: 'list_notes', input: {} }],
  };
  const made = await as('POST', '/workflows', { name: 'notes', definition });
  const workflow = `/workflows/${made.text('workflowId')}`;
  expect((await as('POST', `${workflow}/install?userId=${userId}`, { config: {} })).status).toBe(201);
  const restrictions = { connectors: { allowedIds: ['notes'] } };
  const server = await as('POST', '/api/servers', { name: 'notes', toolMode: 'direct', restrictions });
  const tools = async () =>
    JSON.stringify((await as('GET', `/api/servers/${server.text('serverId')}/tools`)).body);
  expect(await tools()).toContain('notes_list_notes');
  await remove();
  expect(await tools()).not.toContain('notes_list_notes');
  const started = await as('POST', `${workflow}/run?userId=${userId}`, {});
  const run = `${workflow}/runs/${started.text('runId')}`;
  const status = async () => (await as('GET', run)).at('status');
  await until(async () => (await status()) === 'failed');
  expect(JSON.stringify((await as('GET', run)).body)).toContain('connector_not_found');
  await add();
  expect(await tools()).toContain('notes_list_notes');
  expect((await as('POST', `${run}/retry`)).status).toBeLessThan(300);
  await until(async () => (await status()) === 'succeeded');
});
