import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseJson, valueAt } from '../../src/lib/json.ts';
import { notesFile } from '../support/custom.ts';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';

test('a new connector is good, is used without a restart, and is listed', async () => {
  using home = tempHome();
  const env = cliEnv(home.path);
  await using gatehouse = await startCli(env);
  await until(() => existsSync(join(home.path, 'first-keys')));
  const key = /gh_dev_\w+/.exec(readFileSync(join(home.path, 'first-keys'), 'utf8'))?.[0] ?? '';
  const api = (method: string, path: string, body?: object) =>
    fetch(gatehouse.url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'x-api-version': '2025-09',
        'content-type': 'application/json',
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });

  const made = await runCli(['connectors', 'new', 'my-app'], env);
  const file = join(home.path, 'connectors', 'my-app', 'connector.yaml');
  expect([made.code, made.out]).toEqual([0, `${file}\n`]);
  expect(made.err).toContain(`gatehouse connectors check ${file}`);
  const [, schema = ''] = /^# yaml-language-server: \$schema=(.*)\n/.exec(readFileSync(file, 'utf8')) ?? [];
  expect(existsSync(schema)).toBe(true);
  const checked = await runCli(['connectors', 'check', file], env);
  expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('2 examples replayed')]);
  await until(async () => (await api('GET', '/connectors/my-app')).status === 200);
  for (const id of ['notes', 'later']) {
    const definition = notesFile('https://api.notes.example.com', { id });
    expect((await api('POST', '/api/connectors', { definition })).status).toBe(201);
  }
  expect((await runCli(['connectors', 'new', 'later'], env)).code).toBe(0);

  const listed = await runCli(['connectors', 'list', '--json'], env);
  expect(listed.code).toBe(0);
  const connectors = valueAt(parseJson(listed.out), 'data');
  const named = Array.isArray(connectors)
    ? connectors.filter((one) =>
        ['later', 'my-app', 'notes', 'sandbox'].includes(String(valueAt(one, 'connectorId'))),
      )
    : [];
  expect(named).toMatchObject([
    { connectorId: 'later', place: 'folder', version: null, actions: 2, hiddenBy: null },
    { connectorId: 'later', place: 'store', version: 1, actions: null, hiddenBy: 'folder' },
    { connectorId: 'my-app', place: 'folder', actions: 2 },
    { connectorId: 'notes', place: 'store', version: 1, actions: 1 },
    { connectorId: 'sandbox', place: 'shipped', version: null },
  ]);
  const production = await runCli(['connectors', 'list', '--environment', 'production'], env);
  expect(production.out).toMatch(/^my-app +My app +folder +- +2 +-$/m);
  expect(production.out).not.toMatch(/^notes /m);
});

test('a new connector of an OpenAPI document is good, and is not overwritten', async () => {
  using home = tempHome();
  const env = cliEnv(home.path);
  const document = join(home.path, 'api.yaml');
  writeFileSync(document, PETS);
  const args = ['connectors', 'new', 'pets', '--openapi', document];
  const made = await runCli([...args, '--method', 'GET'], env);
  const file = join(home.path, 'connectors', 'pets', 'connector.yaml');
  expect([made.code, made.out]).toEqual([0, expect.stringContaining('1 of 2 operations are actions')]);
  expect(made.err).toContain(`gatehouse connectors check ${file}`);
  expect((await runCli(['connectors', 'check', file], env)).code).toBe(0);

  const again = await runCli(args, env);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('exists already')]);
  const shipped = await runCli(['connectors', 'new', 'slack', '--openapi', document], env);
  expect([shipped.code, shipped.err]).toEqual([1, expect.stringContaining('a shipped connector "slack"')]);
});

const PETS = `
openapi: 3.1.0
info: { title: Pets, version: '1' }
servers: [{ url: https://pets.example.com }]
paths:
  /pets:
    get:
      operationId: listPets
      summary: Lists the pets.
      responses: { 200: { description: Pets, content: { application/json: { schema: { type: array } } } } }
    post:
      operationId: addPet
      summary: Adds a pet.
      responses: { 201: { description: Added } }
`;

test('ids that are taken or not allowed, and existing files, make no connector', async () => {
  using home = tempHome();
  const env = cliEnv(home.path);
  const refused = async (id: string) => {
    const { code, out, err } = await runCli(['connectors', 'new', id], env);
    expect([code, out]).toEqual([1, '']);
    return err;
  };
  expect(await refused('shopify')).toContain('There is a shipped connector "shopify"');
  expect(await refused('sandbox')).toContain('There is a shipped connector "sandbox"');
  expect(await refused('../x')).toContain('must be 1 to 32 of a-z, 0-9 and -');
  expect(await refused('gatehouse')).toContain('is a name of Gatehouse itself');
  expect((await runCli(['connectors', 'new', 'once'], env)).code).toBe(0);
  expect(await refused('once')).toContain('exists already');
});

test('the check of a file in the folder applies the rules of custom connectors', async () => {
  using home = tempHome();
  const env = cliEnv(home.path);
  await runCli(['connectors', 'new', 'mine'], env);
  const file = join(home.path, 'connectors', 'mine', 'connector.yaml');
  writeFileSync(file, `${readFileSync(file, 'utf8')}toolNames: bare\n`);
  const inFolder = await runCli(['connectors', 'check', file], env);
  expect(inFolder.code).toBe(1);
  expect(inFolder.err).toMatch(/connector\.yaml:\d+: toolNames: must be prefixed in a custom connector/);
  const elsewhere = { ...env, GATEHOUSE_CONNECTORS: join(home.path, 'other') };
  expect((await runCli(['connectors', 'check', file], elsewhere)).code).toBe(0);
});
