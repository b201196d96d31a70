import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { afterEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { sourceHash } from '../../../src/connectors/fragments.ts';
import { faultsOfFile, lineOf, startFileApp, type FileApp } from '../../support/file-app.ts';

const FRAGMENTS = `
key:
  type: api_key
  in: header
  name: X-Key
  fields: {apiKey: {title: Key of the suite, secret: true}}
paged: {style: page, pageParam: page, limitParam: size, maxLimit: 50}
list: {extends: suite.described, paging: pages}
described: {description: Records of the suite.}
loop: {extends: suite.loop}
`;
const FILE = `baseUrl: '{origin}'
authentication: [{type: api_key, extends: suite.key, name: X-Other}]
paging: {pages: {extends: suite.paged, maxLimit: 10}}
actions:
  list_things: {extends: suite.list, request: GET /things}
`;
const files = { 'suite/fragments.yaml': FRAGMENTS };

let app: FileApp | undefined;
afterEach(() => app?.[Symbol.asyncDispose]());

test('a file takes over the fragments of another folder, and its own members win', async () => {
  const suite = FILE.replace('suite.key, name: X-Other', 'app.key');
  app = await startFileApp(suite.replaceAll('suite.', 'app.'), {
    files: { 'app/fragments.yaml': FRAGMENTS.replaceAll('suite.', 'app.') },
  });
  app.answer = ({ headers }) => ({ body: headers['x-key'] === 'key-1' ? [{ id: 1 }] : [] });
  expect((await app.connect({ apiKey: 'key-1' })).status).toBe(201);
  expect((await app.execute('list_things', { limit: 10 })).at('data')).toEqual([{ id: 1 }]);
  expect(app.seen[0]?.target).toBe('/things?page=1&size=10');
  const { body } = await app.call('GET', '/connectors/app/credentials/metadata');
  expect(JSON.stringify(body)).toContain('Key of the suite');
});

test('the file of another folder is checked with its fragments', async () => {
  expect(await faultsOfFile(FILE, files)).toEqual([]);
});

test.each<[reference: string, fault: string]>([
  ['suite.keys', '"keys" is no fragment of suite/fragments.yaml; fragments: key, paged'],
  ['other.key', 'there is no other/fragments.yaml'],
  ['../suite.key', 'is no <connector id>.<fragment>'],
  ['suite.loop', 'extends more than 5 fragments in a row'],
])('the reference %s is a fault with its line', async (reference, fault) => {
  const file = FILE.replace('suite.key', reference);
  const faults = await faultsOfFile(file, files);
  expect(faults.join('\n')).toContain(`authentication.0.extends: `);
  expect(faults.join('\n')).toContain(fault);
  expect(faults[0]).toMatch(new RegExp(`^${lineOf(file, 'authentication')} `));
});

test('a faulty member of a fragment is reported at the mapping that extends it', async () => {
  const faults = await faultsOfFile(FILE, {
    'suite/fragments.yaml': FRAGMENTS.replace('in: header', 'in: cookies'),
  });
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(new RegExp(`^${lineOf(FILE, 'authentication')} authentication.0.in: `));
});

test('a change of a fragment is seen although the file stays the same', () => {
  const shipped = resolve(import.meta.dirname, '../../../data/connectors/google-drive/connector.yaml');
  const text = readFileSync(shipped, 'utf8');
  expect(text).toContain('extends: gmail.');
  expect(sourceHash(text, shipped)).not.toBe(sourceHash(text, '/nowhere/x/connector.yaml'));
});

test('a change of a fragment that a fragment extends is seen too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fragments-'));
  const file = join(folder, 'app/connector.yaml');
  const text = 'actions: {list_things: {extends: suite.list}}';
  for (const name of ['suite', 'base']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'suite/fragments.yaml'), 'list: {extends: base.described}');
  const hashOf = (description: string) => {
    writeFileSync(join(folder, 'base/fragments.yaml'), `described: {description: ${description}}`);
    return sourceHash(text, file);
  };
  expect(hashOf('One.')).not.toBe(hashOf('Two.'));
});

test('the schema for editors accepts a mapping that extends a fragment', () => {
  const read = (path: string) => readFileSync(resolve(import.meta.dirname, '../../../data', path), 'utf8');
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(
    JSON.parse(read('connector.schema.json')),
  );
  const drive = parse(read('connectors/google-drive/connector.yaml'));
  expect([validate(drive), validate.errors]).toEqual([true, null]);
  delete drive.authentication[0].extends;
  expect(validate(drive)).toBe(false);
});
