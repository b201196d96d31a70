import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { servicePrograms } from '../support/built.ts';
import { cliEnv, startCli, tempHome, type Started } from '../support/cli.ts';
import { notesFile } from '../support/custom.ts';
import { connectClient } from '../support/mcp.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { documentWith, operation } from '../openapi/documents.ts';

/* A service that runs from a copy of the build, whose code is replaced after the start: as between an update and a restart. */

const ROOT = resolve(import.meta.dirname, '../..');
const INSTALLED = ['bin', 'data', 'dist', 'package.json', 'node_modules/better-sqlite3'];
/** Code that a process reads when it starts. */
const PROGRAMS = /-(?:process|thread)\.js$/;
const isBuilt = servicePrograms().builds !== undefined;
const SOON = { timeout: PATIENCE_MS };

describe.skipIf(!isBuilt)('a service whose code was replaced', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-installed-'));
  const home = tempHome();
  let service: Started;
  let accessUrl: string;
  let key: string;

  beforeAll(async () => {
    mkdirSync(join(folder, 'node_modules'));
    for (const name of INSTALLED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    const env = cliEnv(home.path, { LOG_LEVEL: 'debug' });
    service = await startCli(env, ['serve'], { bin: join(folder, 'bin/gatehouse.js') });
    await until(() => service.out().includes('load of further code done'));
    await until(() => existsSync(join(home.path, 'first-keys')));
    const keys = readFileSync(join(home.path, 'first-keys'), 'utf8');
    accessUrl = /http:\S+\/mcp\/\S+/.exec(keys)?.[0] ?? '';
    key = /gh_dev_\w+/.exec(keys)?.[0] ?? '';
    for (const name of readdirSync(join(folder, 'dist')))
      if (name.endsWith('.js') && !PROGRAMS.test(name))
        writeFileSync(join(folder, 'dist', name), 'throw new Error("code of another release");');
  });
  afterAll(async () => {
    await service.stop('SIGKILL');
    rmSync(folder, { recursive: true });
    home[Symbol.dispose]();
  });

  async function call(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    const response = await fetch(service.url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'x-api-version': '2025-09',
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, body: isJson ? parseJson(text) : text };
  }
  const textAt = (value: Json, path: string) => String(valueAt(value, path));

  test(
    'a service with replaced code answers tools, prompts, resources and search',
    async () => {
      const client = await connectClient(accessUrl);
      const tools = await client.listTools();
      expect(tools.tools.map(({ name }) => name)).toContain('sandbox_list_orders');
      const { prompts } = await client.listPrompts();
      const [prompt] = prompts;
      const got = await client.getPrompt({
        name: prompt?.name ?? '',
        arguments: Object.fromEntries((prompt?.arguments ?? []).map(({ name }) => [name, 'sandbox'])),
      });
      expect(got.messages.length).toBeGreaterThan(0);
      await client.listResources();
      await client.listResourceTemplates();
      const called = await client.callTool({ name: 'sandbox_list_customers', arguments: { limit: 1 } });
      expect(JSON.stringify(called)).toContain('cus_1001');
      await client.close();
    },
    PATIENCE_MS,
  );

  test(
    'a service with replaced code answers every operation that reads',
    async () => {
      const { body } = await call('GET', '/openapi.json');
      const paths = Object.entries(valueAt(body, 'paths') ?? {}).filter(([, item]) => 'get' in item);
      expect(paths.length).toBeGreaterThan(50);
      const failed: string[] = [];
      for (const [path] of paths.filter(([name]) => !name.includes('stream'))) {
        const { status } = await call('GET', path.replaceAll(/\{\w+\}/g, 'sandbox'));
        // A busy machine may be 503 at /ready.
        if (status === 500) failed.push(`${path}: ${status}`);
      }
      expect(failed).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'a service with replaced code starts processes of expressions and imports',
    async () => {
      const made = await call('POST', '/workflow-starters/low-stock-message', {});
      const workflowId = textAt(made.body, 'workflowId');
      const users = await call('GET', '/users');
      const userId = textAt(users.body, 'data.0.userId');
      const config = { recipient: 'me@example.com', threshold: 20 };
      await call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { config });
      const run = await call('POST', `/workflows/${workflowId}/run?userId=${userId}`, {});
      const runId = textAt(run.body, 'runId');
      const state = async () =>
        textAt((await call('GET', `/workflows/${workflowId}/runs?userId=${userId}`)).body, 'data.0.status');
      await expect.poll(state, SOON).toBe('succeeded');
      expect(runId).toMatch(/^run_/);

      const document = documentWith({ '/tickets': { get: operation({ operationId: 'listTickets' }) } });
      const imported = await call('POST', '/api/connectors', { openapi: { document, connectorId: 'desk' } });
      expect([imported.status, imported.body]).toEqual([201, expect.objectContaining({})]);
    },
    2 * PATIENCE_MS,
  );

  test('a service with replaced code reads YAML from REST and the connectors folder', async () => {
    const definition = notesFile('https://notes.example.com');
    expect((await call('POST', '/api/connectors', { definition })).status).toBe(201);
    const own = join(home.path, 'connectors/memos');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'connector.yaml'), notesFile('https://memos.example.com', { id: 'memos' }));
    await expect.poll(async () => (await call('GET', '/connectors/memos')).status, SOON).toBe(200);
  });

  test('a service with replaced code makes and checks tokens of users', async () => {
    const users = await call('GET', '/users');
    const userId = textAt(users.body, 'data.0.userId');
    const token = textAt((await call('GET', `/2023-12/user/${userId}/token`)).body, 'token');
    const asUser = { authorization: `Bearer ${token}`, 'x-svc-userid': userId };
    expect((await call('GET', '/api/servers?token=false', undefined, asUser)).status).toBe(200);
  });

  test('a service with replaced code logs no error and stops normally', async () => {
    const { code, out } = await service.stop();
    expect(code).toBe(0);
    expect(out.split('\n').filter((line) => /"level":[56]0/.test(line))).toEqual([]);
  });
});
