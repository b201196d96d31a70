import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { documentWith, operation } from './documents.ts';

/** `gatehouse connectors import` into the store, of this machine and of a remote Gatehouse. */
const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-store-import-'));
let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
  rmSync(scratch, { recursive: true, force: true });
});

const base = () => ({ PATH: process.env['PATH'] ?? '', HOME: scratch, LOG_LEVEL: 'warn' });
const remote = () => ({ ...base(), GATEHOUSE_URL: service.url, GATEHOUSE_KEY: service.developmentKey });
const local = () => ({ ...base(), ...service.env });

function write(name: string, content: object | string): string {
  const path = join(scratch, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const ORDERS = { '/orders': { get: operation({ operationId: 'listOrders' }) } };
const GONE = { '/carts': { get: operation({ operationId: 'listCarts' }) } };

test('an import adds a connector, updates it, and exits 3 where callers would break', async () => {
  const run = (file: string, ...flags: string[]) =>
    runCli(['connectors', 'import', file, '--id', 'far', ...flags], remote());
  const stored = () => service.call('GET', '/api/connectors/far');
  const document = write('far.json', documentWith({ ...ORDERS, ...GONE }));
  const dry = await run(document, '--dry-run');
  expect(dry).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^far: 2 of 2 operations are actions\n[^]*because of --dry-run\n$/),
  });
  expect((await stored()).status).toBe(404);
  expect(await run(document)).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringContaining('is written'),
  });
  expect((await stored()).body).toMatchObject({ version: 1, kind: 'openapi' });
  expect((await run(document)).out).toContain('is up to date');

  write('far.json', documentWith(ORDERS));
  for (const flags of [[], ['--dry-run']]) {
    const refused = await run(document, ...flags);
    expect(refused.code).toBe(3);
    expect(refused.out).toContain('breaks callers: list_carts: the action is gone');
    expect(refused.out).toContain('Nothing was written, because callers would break.');
  }
  expect((await stored()).at('version')).toBe(1);
  const accepted = await run(document, '--accept-breaking', '--json');
  expect([accepted.code, JSON.parse(accepted.out)]).toEqual([
    0,
    expect.objectContaining({
      connectorId: 'far',
      version: 2,
      written: true,
      report: expect.objectContaining({ imported: 1 }),
      changes: expect.objectContaining({ removed: ['list_carts'] }),
    }),
  ]);
});

test('files that a document refers to are stored with it', async () => {
  const document = write(
    'split/api.yaml',
    'openapi: 3.0.0\ninfo: {title: Split, version: 1}\nservers: [{url: https://split.example}]\npaths: {/a: {$ref: paths/a.yaml}}\n',
  );
  write(
    'split/paths/a.yaml',
    "get: {operationId: listA, parameters: [{$ref: '../shared.yaml#/page'}], responses: {default: {$ref: '#/x'}}}\nx: {description: None}",
  );
  write('split/shared.yaml', 'page: {name: page, in: query, schema: {type: integer}}');
  expect(await runCli(['connectors', 'import', document], local())).toMatchObject({ code: 0, err: '' });
  const read = () => service.call('GET', '/connectors/split/actions/list_a');
  await until(async () => (await read()).status === 200);
  expect((await read()).at('inputSchema.properties.page.type')).toBe('integer');
});

test('a connector that was not imported is not replaced', async () => {
  const definition = {
    id: 'byhand',
    name: 'By hand',
    description: 'A connector of the tests.',
    categories: ['data'],
    website: 'https://byhand.example',
    sources: [{ title: 'the tests', read: '2026-11-25' }],
    baseUrl: 'https://byhand.example',
    authentication: [{ type: 'bearer' }],
    actions: { get_me: { description: 'Reads the account.', request: 'GET /me' } },
  };
  expect((await service.call('POST', '/api/connectors', { body: { definition } })).status).toBe(201);
  const document = write('byhand.json', documentWith(ORDERS));
  expect(await runCli(['connectors', 'import', document, '--id', 'byhand'], remote())).toMatchObject({
    code: 1,
    err: expect.stringContaining('"byhand" of the store was not made by an import'),
  });
});

test.each([
  [['--overwrite'], '--overwrite goes with --into'],
  [['--into', 'x', '--environment', 'production'], '--into writes a file'],
])('an import with %j is wrong usage', async (flags, message) => {
  const done = await runCli(['connectors', 'import', 'x.json', ...flags], local());
  expect([done.code, done.err]).toEqual([2, expect.stringContaining(message)]);
});
