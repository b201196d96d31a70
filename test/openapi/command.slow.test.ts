import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { cliEnv, runCli } from '../support/cli.ts';
import { documentWith, operation } from './documents.ts';

/** `gatehouse connectors import` as a process. */
const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-import-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;

function write(name: string, content: object | string): string {
  const path = join(scratch, `case-${++folders}`, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function run(document: string, ...flags: string[]) {
  const into = join(dirname(document), 'connectors');
  return runCli(['connectors', 'import', document, '--into', into, ...flags], cliEnv(scratch));
}

function connectorOf(document: string, id = 'desk'): string {
  return join(dirname(document), 'connectors', id, 'connector.yaml');
}

const ORDERS = {
  '/orders/{id}': {
    get: operation(
      { operationId: 'getOrder', parameters: [{ name: 'expand', in: 'query', schema: { type: 'string' } }] },
      { type: 'object', properties: { id: { type: 'string' }, total: { type: 'number' } } },
    ),
    put: { operationId: 'putOrder', requestBody: { content: { 'application/xml': {} } } },
  },
};

describe('the first import', () => {
  test('the first import writes a good connector and reports what it left out', async () => {
    const document = write('api.json', documentWith(ORDERS));
    const done = await run(document);
    expect(done).toMatchObject({ code: 0, err: expect.stringContaining('gatehouse connectors check') });
    expect(done.out).toContain('desk: 1 of 2 operations are actions');
    expect(done.out).toContain(
      'left out: PUT /orders/{id}: it sends application/xml, which connectors cannot send yet',
    );
    const checked = await runCli(['connectors', 'check', connectorOf(document)], cliEnv(scratch));
    expect(checked).toMatchObject({ code: 0, out: expect.stringContaining('desk is good') });
    const again = await run(document);
    expect(again.out).toContain('is up to date');
  });

  test('--dry-run writes nothing, --json prints the report', async () => {
    const document = write('api.json', documentWith(ORDERS));
    const done = await run(document, '--dry-run', '--json', '--id', 'shop-desk');
    expect(JSON.parse(done.out)).toMatchObject({
      connectorId: 'shop-desk',
      written: false,
      report: { operations: 2, imported: 1, leftOut: [{ operation: 'PUT /orders/{id}' }] },
    });
    expect(readdirSync(dirname(document))).toEqual(['api.json']);
  });

  test('an import follows references to files of the folder', async () => {
    const document = write(
      'api.yaml',
      'openapi: 3.0.0\ninfo: {title: Desk, version: 1}\npaths: {/a: {$ref: paths/a.yaml}}\n',
    );
    mkdirSync(join(dirname(document), 'paths'));
    writeFileSync(
      join(dirname(document), 'paths/a.yaml'),
      "get: {parameters: [{$ref: '../shared.yaml#/id'}], responses: {}}",
    );
    writeFileSync(
      join(dirname(document), 'shared.yaml'),
      'id: {name: id, in: query, schema: {type: string}}',
    );
    expect(await run(document)).toMatchObject({ code: 0 });
    expect(readFileSync(connectorOf(document), 'utf8')).toContain('get_a:');
  });

  test('an import refuses references out of the folder, by path and by link', async () => {
    const secret = write('secret.yaml', 'get: {responses: {}}');
    const document = write(
      'api.yaml',
      `openapi: 3.0.0\ninfo: {title: Desk, version: 1}\npaths: {/a: {$ref: ${secret}}}\n`,
    );
    const outside = 'the file is outside of the folder of the document';
    expect(await run(document)).toMatchObject({ code: 1, err: expect.stringContaining(outside) });
    writeFileSync(document, readFileSync(document, 'utf8').replace(secret, 'link.yaml'));
    symlinkSync(secret, join(dirname(document), 'link.yaml'));
    const done = await run(document);
    expect(done).toMatchObject({
      code: 1,
      err: expect.stringContaining(`#/paths/~1a: $ref to "link.yaml": ${outside}`),
    });
    expect(done.err).not.toContain('    at ');
  });

  test('an import refuses the id of a built-in connector, a folder and a missing file', async () => {
    const document = write('api.json', documentWith(ORDERS));
    expect(await run(document, '--id', 'sandbox')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is a shipped connector "sandbox". Choose another id.'),
    });
    expect(await run(dirname(document))).toMatchObject({
      code: 1,
      err: expect.stringContaining('is no file'),
    });
    expect(await run(`${document}.gone`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('Cannot read'),
    });
    expect(await run(document, '--id', 'No Id')).toMatchObject({
      code: 1,
      err: expect.stringContaining('id: must be 1 to 32'),
    });
  });
});

describe('the second import', () => {
  test('the second import prints what breaks, and writes with --accept-breaking', async () => {
    const document = write('api.json', documentWith({ ...ORDERS, '/old': { get: operation() } }));
    await run(document);
    const before = readFileSync(connectorOf(document), 'utf8');
    const changed = structuredClone(ORDERS);
    Object.assign(
      changed['/orders/{id}'].get,
      operation(
        {
          operationId: 'renamed',
          parameters: [{ name: 'expand', in: 'query', required: true, schema: { type: 'integer' } }],
        },
        { type: 'object', properties: { id: { type: 'integer' } } },
      ),
    );
    writeFileSync(document, JSON.stringify(documentWith({ ...changed, '/new': { get: operation() } })));
    const done = await run(document);
    expect(done.code).toBe(3);
    const breaks = done.out.split('\n').filter((line) => line.includes('breaks callers:'));
    expect(breaks.map((line) => line.split('breaks callers: ')[1])).toEqual([
      'get_old: the action is gone',
      'get_order: expand is now required',
      'get_order: expand changes its type from string to integer',
      'get_order: id of its answer changes its type from string to integer',
      'get_order: its answer has no total',
    ]);
    expect(done.out).toContain('added: get_new');
    expect(readFileSync(connectorOf(document), 'utf8')).toBe(before);
    expect(await run(document, '--accept-breaking')).toMatchObject({
      code: 0,
      out: expect.stringContaining('is updated'),
    });
    expect(readFileSync(connectorOf(document), 'utf8')).toContain('get_new:');
  });

  test('the second import keeps the overlay, and refuses an import that it does not fit', async () => {
    const document = write('api.json', documentWith({ ...ORDERS, '/old': { get: operation() } }));
    await run(document);
    const overlay = join(dirname(connectorOf(document)), 'overlay.yaml');
    const text =
      'name: My desk\nactions:\n  get_order: {name: Fetch, response: null}\n  get_old: {effect: write}\n';
    writeFileSync(overlay, text);
    const checked = await runCli(['connectors', 'check', connectorOf(document)], cliEnv(scratch));
    expect(checked.code).toBe(0);
    writeFileSync(document, JSON.stringify(documentWith(ORDERS)));
    const done = await run(document, '--accept-breaking');
    expect(done).toMatchObject({ code: 1, out: '' });
    expect(done.err).toContain(`${overlay}:4: actions.get_old.request: is required`);
    expect(done.err).toContain('The overlay does not fit the imported document; nothing was written.');
    expect(readFileSync(overlay, 'utf8')).toBe(text);
    writeFileSync(overlay, text.replace(/ {2}get_old.*\n/, ''));
    expect(await run(document, '--accept-breaking')).toMatchObject({ code: 0 });
  });

  test('the second import takes the first choice, and refuses a file changed by hand', async () => {
    const document = write(
      'api.json',
      documentWith({ ...ORDERS, '/users': { get: operation({ tags: ['a'] }) } }),
    );
    await run(document, '--tag', 'a');
    expect(await run(document)).toMatchObject({
      out: expect.stringContaining('1 of 3 operations are actions, 2 were not chosen'),
    });
    const file = connectorOf(document);
    writeFileSync(file, readFileSync(file, 'utf8').replace('name: Desk', 'name: My desk'));
    const done = await run(document);
    expect(done).toMatchObject({
      code: 1,
      err: expect.stringContaining('was changed since its import. Move the changes to'),
    });
    expect(readFileSync(file, 'utf8')).toContain('My desk');
    expect(await run(document, '--overwrite')).toMatchObject({
      code: 0,
      out: expect.stringContaining('is updated'),
    });
    writeFileSync(file, 'id: desk\n');
    expect(await run(document)).toMatchObject({
      code: 1,
      err: expect.stringContaining('was not written by an import'),
    });
  });
});
