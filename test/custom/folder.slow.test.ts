import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkFolder } from '../../src/cli/doctor/doctor-service.ts';
import { readConfig } from '../../src/config.ts';
import { notesFile } from '../support/custom.ts';
import { connectListener } from '../support/polls.ts';
import { startService, type Service } from '../support/service.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

const BASE = 'https://api.notes.example.com';
const SOON = { interval: 20, timeout: PATIENCE_MS };

let folder: string;
let env: Record<string, string>;
const services: Service[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-own-'));
  env = { GATEHOUSE_CONNECTORS: folder };
});
afterEach(async () => {
  for (const one of services.splice(0)) await one.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(more: Record<string, string> = {}): Promise<Service> {
  const service = await startService({ env: { ...env, ...more } });
  services.push(service);
  return service;
}

/** Writes a connector file, whole at once, as editors and git do. */
function write(id: string, text: string, name = 'connector.yaml'): void {
  mkdirSync(join(folder, id), { recursive: true });
  writeFileSync(join(folder, id, `.${name}`), text);
  renameSync(join(folder, id, `.${name}`), join(folder, id, name));
}

const file = (id: string, description = 'Lists the notes.') => notesFile(BASE, { id, description });
const described = async (service: Service, id: string, bearer = service.developmentKey) =>
  (await service.call('GET', `/connectors/${id}`, { bearer })).at('actions.0.description');
const faultsIn = ({ logged }: Service) =>
  logged.filter((line) => line.includes('custom connector file is faulty'));

test('a file is used from the start, and its changes and removal without a restart', async () => {
  write('notes', file('notes'));
  const service = await start();
  expect(await described(service, 'notes')).toBe('Lists the notes.');
  const production = { bearer: service.productionKey };
  expect((await service.call('GET', '/connectors/notes', production)).status).toBe(200);
  const restrictions = { connectors: { allowedIds: ['notes', 'later'] } };
  const body = { name: 'notes', toolMode: 'direct', restrictions };
  const url = (await service.call('POST', '/api/servers', { body })).text('accessUrl');
  const client = await connectListener(service, url);
  let heard = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard++);

  write('notes', file('notes', 'Lists all notes.'));
  await until(async () => (await described(service, 'notes')) === 'Lists all notes.');
  await expect.poll(() => heard, SOON).toBe(1);
  write('notes', 'actions: {list_notes: {description: Lists by overlay.}}', 'overlay.yaml');
  await until(async () => (await described(service, 'notes')) === 'Lists by overlay.');
  write('later', file('later'));
  await until(async () => (await described(service, 'later')) === 'Lists the notes.');
  rmSync(join(folder, 'notes'), { recursive: true });
  await until(async () => (await described(service, 'notes')) === undefined);
  await client.close();
  expect(faultsIn(service)).toEqual([]);
});

test('a file that becomes faulty keeps its last good version, with one line of the log', async () => {
  write('notes', file('notes'));
  const service = await start();
  write('notes', file('notes', 'Lists it.').replace('request:', 'requests:'));
  await until(() => faultsIn(service).length > 0);
  expect(await described(service, 'notes')).toBe('Lists the notes.');
  write('other', file('other'));
  await until(async () => (await described(service, 'other')) !== undefined);
  expect(faultsIn(service)).toHaveLength(2);
  expect(faultsIn(service).join('')).toContain('actions.list_notes.requests');
  write('notes', file('notes', 'Lists again.'));
  await until(async () => (await described(service, 'notes')) === 'Lists again.');
  expect(faultsIn(service)).toHaveLength(2);
});

test('a large file is checked, and its faults are reported, while the service runs', async () => {
  write('notes', file('notes'));
  const service = await start();
  const padding = `# ${'x'.repeat(70_000)}\n`;
  write('notes', padding + file('notes', 'Lists a large file.').replace('request:', 'requests:'));
  await until(() => faultsIn(service).length > 0);
  expect(faultsIn(service).join('')).toContain('actions.list_notes.requests');
  expect(await described(service, 'notes')).toBe('Lists the notes.');
  write('notes', padding + file('notes', 'Lists a large file.'));
  await until(async () => (await described(service, 'notes')) === 'Lists a large file.');
});

test('faulty files do not stop a start, and doctor names them', async () => {
  const secret = join(mkdtempSync(join(tmpdir(), 'gatehouse-secret-')), 'connector.yaml');
  writeFileSync(secret, 'top: secret');
  write('good', file('good'));
  write('broken', 'id: [');
  write('shopify', file('shopify'));
  write('named', file('others'));
  write('bare', `${file('bare')}toolNames: bare\n`);
  write('plain', notesFile('http://notes.example.com', { id: 'plain' }));
  write('deep', '['.repeat(20_000));
  mkdirSync(join(folder, 'linked'));
  symlinkSync(secret, join(folder, 'linked', 'connector.yaml'));
  symlinkSync(join(secret, '..'), join(folder, 'outside'));
  write('overlaid', file('overlaid'));
  symlinkSync(secret, join(folder, 'overlaid', 'overlay.yaml'));
  symlinkSync(join(folder, 'good'), join(folder, 'inside'));
  mkdirSync(join(folder, 'empty'));
  mkdirSync(join(folder, 'nested', 'connector.yaml'), { recursive: true });
  mkdirSync(join(folder, '.git'));
  writeFileSync(join(folder, 'README.md'), 'Our connectors.');

  const service = await start();
  const faulty = ['bare', 'broken', 'deep', 'empty', 'inside', 'linked', 'named', 'nested', 'outside'];
  faulty.push('overlaid', 'plain', 'shopify');
  const named = (text: string) =>
    faulty.filter((id) => text.includes(`${join(folder, id)}/`) || text.includes(`${join(folder, id)}"`));
  expect(named(faultsIn(service).join('\n'))).toEqual(faulty);
  // Broken YAML is reported once, because its further faults follow from the first.
  expect(faultsIn(service)).toHaveLength(faulty.length);
  expect(await described(service, 'good')).toBe('Lists the notes.');
  for (const id of faulty.filter((one) => one !== 'shopify'))
    expect([id, (await service.call('GET', `/connectors/${id}`)).status]).toEqual([id, 404]);

  const finding = await checkFolder(readConfig({ ...env, GATEHOUSE_HOME: folder }));
  expect(finding.state).toBe('fail');
  expect(named(finding.found)).toEqual(faulty);
  expect(finding.found).toContain('is a link that leads out of the folder');
  expect(JSON.stringify([finding, service.logged])).not.toContain('top: secret');
});

test('a folder that is missing or cannot be read leaves out its connectors alone', async () => {
  const missing = await start({ GATEHOUSE_CONNECTORS: join(folder, 'absent') });
  expect((await missing.call('GET', '/connectors/sandbox')).status).toBe(200);
  expect(faultsIn(missing)).toEqual([]);
  writeFileSync(join(folder, 'file'), '');
  const plain = await start({ GATEHOUSE_CONNECTORS: join(folder, 'file') });
  expect((await plain.call('GET', '/connectors/sandbox')).status).toBe(200);
  expect(faultsIn(plain)).toHaveLength(1);
  chmodSync(folder, 0o700);
});

test('the default folder is in the home', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-home-'));
  folder = join(home, 'connectors');
  env = { GATEHOUSE_HOME: home };
  write('notes', file('notes'));
  expect(await described(await start(), 'notes')).toBe('Lists the notes.');
});

test('a later start sees what changed between two starts', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-home-'));
  env = { ...env, GATEHOUSE_HOME: home, GATEHOUSE_MASTER_KEY: Buffer.alloc(32, 'a key').toString('base64') };
  write('notes', file('notes'));
  write('same', file('same'));
  const seen: unknown[] = [];
  let key: string | undefined;
  for (const description of ['Lists the notes.', 'Lists the notes.', 'Lists more.']) {
    write('notes', file('notes', description));
    const service = await startService({ env });
    key ??= service.developmentKey;
    seen.push(await described(service, 'notes', key), await described(service, 'same', key));
    await service.app.close();
    await service.context.close();
  }
  expect(seen).toEqual([
    ...Array.from({ length: 5 }, (_, at) => (at === 4 ? 'Lists more.' : 'Lists the notes.')),
    'Lists the notes.',
  ]);
  rmSync(home, { recursive: true });
});

test('a file hides a stored connector of its id, which returns when the file is gone', async () => {
  const service = await start();
  const stored = { definition: file('notes', 'Lists what is stored.') };
  expect((await service.call('POST', '/api/connectors', { body: stored })).status).toBe(201);
  write('notes', file('notes', 'Lists the files.'));
  await until(async () => (await described(service, 'notes')) === 'Lists the files.');
  expect((await service.call('GET', '/api/connectors/notes')).body).toMatchObject({
    version: 1,
    hiddenBy: 'folder',
  });
  const bearer = service.productionKey;
  const taken = await service.call('POST', '/api/connectors', { bearer, body: stored });
  expect([taken.status, taken.at('code')]).toEqual([409, 'connector_exists']);
  expect(taken.text('error')).toContain('GATEHOUSE_CONNECTORS');
  rmSync(join(folder, 'notes'), { recursive: true });
  await until(async () => (await described(service, 'notes')) === 'Lists what is stored.');
});

test('a credential of a file is bound to its origins', async () => {
  write('notes', file('notes').replace(BASE, 'http://127.0.0.1:9'));
  const service = await start();
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const as = (path: string, body: object) =>
    service.call('POST', path, { body, headers: { 'x-svc-userid': userId } });
  await as(`/users/${userId}/credentials`, { connectorId: 'notes', data: { apiKey: 'key_0123456789' } });
  const reason = async () =>
    (await as('/connectors/notes/actions/list_notes/execute', { input: {} })).at('details.reason');
  expect(await reason()).not.toBe('other_origin');
  write('notes', file('notes').replace(BASE, 'http://127.0.0.1:10'));
  await until(async () => (await reason()) === 'other_origin');
});
