import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { freePort } from '../support/cli.ts';
import { connectClient } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { install, UNREACHABLE } from './install.ts';
import { startProgram } from './process.ts';

/* MCP servers of the npm registry as remote servers: one over streamable HTTP, and one over stdio behind a proxy. */

let service: Service;
let userId: string;
const ends: (() => Promise<void>)[] = [];
const urls: Record<string, string> = {};

const folder = await install('mcp-servers');

beforeAll(async () => {
  if (folder === undefined) return;
  const modules = join(folder, 'node_modules');
  const start = async (
    id: string,
    args: (port: string) => string[],
    health: { path: string; status: number },
  ) => {
    const port = String(await freePort());
    const origin = `http://127.0.0.1:${port}`;
    const env = { ...process.env, PORT: port, MEMORY_FILE_PATH: join(folder, `memory-${port}.jsonl`) };
    const { path, status } = health;
    ends.push(await startProgram(id, args(port), { cwd: folder, env, health: origin + path, status }));
    urls[id] = `${origin}/mcp`;
  };
  await start(
    'everything',
    () => [join(modules, '@modelcontextprotocol/server-everything/dist/index.js'), 'streamableHttp'],
    {
      path: '/mcp',
      status: 400,
    },
  );
  const memory = join(modules, '@modelcontextprotocol/server-memory/dist/index.js');
  await start(
    'memory',
    (port) => [
      join(modules, '.bin/mcp-proxy'),
      '--port',
      port,
      '--server',
      'stream',
      '--',
      process.execPath,
      memory,
    ],
    { path: '/ping', status: 200 },
  );
  service = await startService({});
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
beforeEach(({ skip }) => skip(folder === undefined, UNREACHABLE));
afterAll(async () => {
  await service?.stop();
  for (const end of ends) await end();
});

const add = (connectorId: string) =>
  service.call('POST', '/api/connectors', { body: { mcp: { connectorId, url: urls[connectorId] } } });
const run = (connectorId: string, actionId: string, input: object) =>
  service.call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input },
  });

test('the reference server answers with text, structure and progress', async () => {
  const made = await add('everything');
  expect([made.status, made.at('report.leftOut')]).toEqual([201, []]);
  expect((await run('everything', 'get_sum', { a: 2, b: 3 })).at('data.content.0.text')).toBe(
    'The sum of 2 and 3 is 5.',
  );
  const place = await run('everything', 'get_structured_content', { location: 'Chicago' });
  expect(place.at('data.structuredContent.temperature')).toEqual(expect.any(Number));
  const restrictions = { connectors: { allowedIds: ['everything'] } };
  const body = { name: 'everything', toolMode: 'direct', restrictions };
  const client = await connectClient(
    (await service.call('POST', '/api/servers', { body })).text('accessUrl'),
  );
  const steps: number[] = [];
  const slow = { name: 'everything_trigger_long_running_operation', arguments: { duration: 1, steps: 3 } };
  await client.callTool(slow, undefined, { onprogress: ({ progress }) => void steps.push(progress) });
  expect(steps.length).toBeGreaterThan(1);
  await client.close();
});

test('a memory is created, read, changed and deleted', async () => {
  expect((await add('memory')).status).toBe(201);
  const text = async (actionId: string, input: object) =>
    String((await run('memory', actionId, input)).at('data.content.0.text'));
  const entity = { name: 'Ada', entityType: 'person', observations: ['writes notes'] };
  expect(await text('create_entities', { entities: [entity] })).toContain('Ada');
  await text('add_observations', { observations: [{ entityName: 'Ada', contents: ['likes tea'] }] });
  expect(await text('read_graph', {})).toContain('likes tea');
  await text('delete_entities', { entityNames: ['Ada'] });
  expect(await text('read_graph', {})).not.toContain('Ada');
});
