import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkFile } from '../../src/author/check-file.ts';
import { inspectStored } from '../../src/custom/inspect-stored.ts';
import { notesFile } from '../support/custom.ts';
import { startService, type Service } from '../support/service.ts';

/* A map that writes a member which its unified model does not have. */

const FIELD = 'unified.commerce/products.map';
const RULE = 'writes "descripton", which the model does not have. Did you mean "description"?';

const fileOf = (id: string, member = 'descripton', more = '') =>
  notesFile('https://api.notes.example.com', {
    id,
    more: `    paging: {style: none}
  get_note: {description: Reads a note., request: 'GET /notes/{id}', path: {id: {type: string}}}
unified:
  commerce/products:
    list: list_notes
    get: {action: get_note, param: id}
    remoteId: id
    map: '{"${member}": text}'
${more}`,
  });

let service: Service;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-maps-'));
  for (const [id, member] of [
    ['filed', 'descripton'],
    ['good', 'description'],
  ] as const) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), fileOf(id, member));
  }
  service = await startService({ env: { GATEHOUSE_CONNECTORS: folder } });
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

const send = (method: 'POST' | 'PUT', path: string, definition: unknown) =>
  service.call(method, path, { body: { definition } });
const found = async (id: string) => (await service.call('GET', `/connectors/${id}`)).status;

test('adding and changing a connector refuse the unknown member by field', async () => {
  const added = await send('POST', '/api/connectors', fileOf('sent'));
  expect([added.status, added.at('code')]).toEqual([400, 'invalid_request']);
  expect(added.at('details.faults')).toEqual([
    { field: `definition.${FIELD}`, rule: `${RULE} (line 20)`, line: 20 },
  ]);
  expect((await send('POST', '/api/connectors', fileOf('sent', 'description'))).status).toBe(201);
  const changed = await send('PUT', '/api/connectors/sent', fileOf('sent'));
  expect([changed.status, changed.at('details.faults.0.field')]).toEqual([400, `definition.${FIELD}`]);
});

test('a large definition is refused for the unknown member too', async () => {
  const large = fileOf('large', 'descripton', `# ${'x'.repeat(110_000)}\n`);
  const refused = await send('POST', '/api/connectors', large);
  expect([refused.status, refused.at('details.faults.0.field')]).toEqual([400, `definition.${FIELD}`]);
});

test('a file of the folder is left out for the fault that the check prints', async () => {
  const path = join(folder, 'filed', 'connector.yaml');
  const fault = { file: path, line: 20, path: FIELD, rule: RULE };
  expect((await checkFile(path)).faults).toEqual([fault]);
  expect([await found('filed'), await found('good')]).toEqual([404, 200]);
  const logged = service.logged.filter((line) => line.includes('custom connector file is faulty'));
  expect(logged.map((line) => JSON.parse(line))).toEqual([expect.objectContaining(fault)]);
});

test('a connector that an earlier release stored loads with the unknown member', async () => {
  expect((await send('POST', '/api/connectors', fileOf('older', 'description'))).status).toBe(201);
  const { db } = service.context;
  await db
    .updateTable('custom_connector_versions')
    .set({ source: JSON.stringify(fileOf('older')), checker: 'an earlier release' })
    .where('connector_id', '=', 'older')
    .execute();
  expect(await inspectStored(db)).toEqual({ count: 2, faulty: [] });
  const upgraded = await startService({ env: { ...service.env, GATEHOUSE_CONNECTORS: folder } });
  const read = await upgraded.call('GET', '/connectors/older', { bearer: service.developmentKey });
  await upgraded.stop();
  expect(read.status).toBe(200);
  expect(upgraded.logged.filter((line) => line.includes('custom connector left out'))).toEqual([]);
});
