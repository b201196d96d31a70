import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { BUILT_IN_BY_NAME } from '../../src/mcp/tools/tools.ts';
import { openStore } from '../../src/store/open-database.ts';
import { cliEnv, freePort, runCli, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';

const serverList = z.object({ servers: z.array(z.object({ name: z.string() })) });
const answerSchema = z.object({
  result: z.object({ tools: z.array(z.object({ name: z.string(), inputSchema: z.unknown() })) }),
});
const ACCESS_URL = /http:\/\/127\.0\.0\.1:\d+\/mcp\/srv_\w+\/gh_mcp_\w{43}/;

test('the first start writes keys and demonstration to a file, and logs only its path', async () => {
  using home = tempHome({ bare: true });
  await using gatehouse = await startCli(cliEnv(home.path));
  const file = join(home.path, 'first-keys');
  await until(() => gatehouse.out().includes('"file"'));
  const text = readFileSync(file, 'utf8');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(text).toMatch(/development\s+gh_dev_\w{49}\n/);
  expect(text).toMatch(/production\s+gh_prod_\w{49}\n/);
  expect(text).toContain(`${gatehouse.url}/docs`);
  expect(text).toMatch(ACCESS_URL);

  const { code, out, err } = await gatehouse.stop();
  expect(code).toBe(0);
  expect(out).toContain(JSON.stringify(file));
  expect(out + err).not.toMatch(/gh_(dev|prod|mcp)_/);
});

test('the access URL of the first start lists tools that reach the sandbox', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path));
  const url = await accessUrl(home.path);
  expect(url.startsWith(gatehouse.url)).toBe(true);
  const list = await rpc(url, 'tools/list', {});
  expect(list).toContain('"sandbox_list_orders"');
  const call = await rpc(url, 'tools/call', { name: 'sandbox_list_customers', arguments: { limit: 2 } });
  expect(call).toContain('cus_1001');
});

test('the program lists its own tools with the schemas that the sources compute', async () => {
  using home = tempHome();
  await using _ = await startCli(cliEnv(home.path));
  const answer = answerSchema.parse(JSON.parse(await rpc(await accessUrl(home.path), 'tools/list', {})));
  const listed = answer.result.tools.filter(({ name }) => name.endsWith('_svc'));
  expect(listed.map(({ name }) => name)).toContain('execute_action_svc');
  for (const { name, inputSchema } of listed)
    expect(inputSchema).toEqual(BUILT_IN_BY_NAME.get(name)?.definition.inputSchema);
});

test('the Claude Desktop settings of the first start run a server over stdio', async () => {
  using home = tempHome();
  const gatehouse = await startCli(cliEnv(home.path));
  await until(() => existsSync(join(home.path, 'first-keys')));
  await gatehouse.stop();
  const text = readFileSync(join(home.path, 'first-keys'), 'utf8');
  const snippet: {
    mcpServers: { gatehouse: { command: string; args: string[]; env: Record<string, string> } };
  } = JSON.parse(text.slice(text.indexOf('{'), text.indexOf('\n    }\n') + 7));
  const { command, args, env } = snippet.mcpServers.gatehouse;
  expect(command).toBe(process.execPath);
  expect(env).toEqual({ GATEHOUSE_HOME: home.path });
  const call = { name: 'sandbox_get_product', arguments: { productId: 'prd_101' } };
  const lines = [
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call },
  ];
  const input = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
  const { code, out, err } = await runCli(args.slice(1), cliEnv(home.path), { input });
  expect(code).toBe(0);
  const logged = err.trim().split('\n');
  expect(logged).toHaveLength(1);
  expect(JSON.parse(logged[0] ?? '')).toMatchObject({ msg: 'action', action: 'sandbox.get_product' });
  expect(out.trim().split('\n')).toHaveLength(2);
  expect(out).toContain('prd_101');

  // Links lead to the port of the service, and the answer says when no process serves.
  const connect = { name: 'create_credential_svc', arguments: { connectorId: 'sandbox' } };
  const asked = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: connect })}\n`;
  const { PORT: _port, ...ofClient } = cliEnv(home.path);
  const link = async () => (await runCli(args.slice(1), ofClient, { input: asked })).out;
  const stopped = await link();
  expect(stopped).toContain(`${gatehouse.url}/connect/s/`);
  expect(stopped).toContain(`No Gatehouse serves ${gatehouse.url} at the moment`);
  await using again = await startCli(cliEnv(home.path));
  const served = await link();
  expect(served).toContain(`${again.url}/connect/s/`);
  expect(served).not.toContain('No Gatehouse serves');
});

test('a later start prints the addresses and no secret', async () => {
  using home = tempHome();
  const first = await startCli(cliEnv(home.path));
  await first.stop();
  const written = readFileSync(join(home.path, 'first-keys'), 'utf8');
  const second = await startCli(cliEnv(home.path));
  expect((await fetch(`${second.url}/health`)).status).toBe(200);
  const { code, out, err } = await second.stop();
  expect(code).toBe(0);
  expect(out + err).not.toMatch(/gh_(dev|prod|mcp)_/);
  expect(out).toContain('the first API keys are still in this file');
  expect(readFileSync(join(home.path, 'first-keys'), 'utf8')).toBe(written);
});

test('preset keys work from the start, are not written, and make no demonstration', async () => {
  using home = tempHome();
  const keys = {
    GATEHOUSE_DEVELOPMENT_KEY: newApiKey('development'),
    GATEHOUSE_PRODUCTION_KEY: newApiKey('production'),
  };
  await using gatehouse = await startCli(cliEnv(home.path, keys));
  for (const key of Object.values(keys)) expect(await serverNames(gatehouse.url, key)).toEqual([]);
  expect(existsSync(join(home.path, 'first-keys'))).toBe(false);
});

test('a start with NODE_ENV=production makes neither sandbox nor demonstration', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path, { NODE_ENV: 'production' }));
  await until(() => existsSync(join(home.path, 'first-keys')));
  expect(readFileSync(join(home.path, 'first-keys'), 'utf8')).not.toContain('/mcp/');
  expect((await fetch(`${gatehouse.url}/sandbox/api/customers`)).status).toBe(404);
});

test.runIf(process.platform === 'linux').each<[number, Record<string, string>]>([
  [16, {}],
  [5, { UV_THREADPOOL_SIZE: '5' }],
])('gatehouse runs with %i threads when the environment says %o', async (count, env) => {
  using home = tempHome({ bare: true });
  await using gatehouse = await startCli(cliEnv(home.path, env));
  const tasks = `/proc/${gatehouse.child.pid}/task`;
  const nameOf = (task: string) => readFileSync(join(tasks, task, 'comm'), 'utf8').trim();
  await until(() => readdirSync(tasks).some((task) => nameOf(task) === 'libuv-worker'));
  expect(readdirSync(tasks).filter((task) => nameOf(task) === 'libuv-worker')).toHaveLength(count);
});

test('every wrong variable has its own line, and the exit code is 1', async () => {
  using home = tempHome();
  const wrong = { PORT: '70000', GATEHOUSE_PUBLIC_URL: 'gatehouse.example.com', LOG_LEVEL: 'loud' };
  const { code, out, err } = await runCli(['serve'], cliEnv(home.path, wrong));
  expect([code, out]).toEqual([1, '']);
  const lines = err.trim().split('\n');
  expect(lines).toHaveLength(3);
  for (const [index, name] of Object.keys(wrong).entries()) {
    expect(lines[index]).toMatch(new RegExp(`^gatehouse: ${name}: must be `));
  }
});

test('a malformed preset key stops the start and names its variable', async () => {
  using home = tempHome();
  const { code, err } = await runCli([], cliEnv(home.path, { GATEHOUSE_DEVELOPMENT_KEY: 'gh_dev_short' }));
  expect(code).toBe(1);
  expect(err).toMatch(/^gatehouse: GATEHOUSE_DEVELOPMENT_KEY: must be gh_dev_.*\n$/);
});

test('a port in use is named with a way to choose another, and nothing is lost', async () => {
  using home = tempHome();
  const port = await freePort();
  const other = createServer();
  await new Promise<void>((listens) => other.listen(port, '127.0.0.1', listens));
  const { code, err } = await runCli(['serve'], cliEnv(home.path, { PORT: String(port) }));
  await new Promise((closed) => other.close(closed));
  expect(code).toBe(1);
  expect(err).toBe(
    `gatehouse: Port ${port} of 127.0.0.1 is in use. Stop what uses it, or choose another: PORT=${port + 1} gatehouse serve\n`,
  );
  // The next start makes the keys, because it can show them.
  await using gatehouse = await startCli(cliEnv(home.path));
  await until(() => gatehouse.out().includes('first-keys'));
});

test('a home that is a file stops the start with one line', async () => {
  using home = tempHome();
  const file = join(home.path, 'file');
  writeFileSync(file, '');
  const { code, err } = await runCli(['serve'], cliEnv(file));
  expect(code).toBe(1);
  expect(err).toMatch(/^gatehouse: Cannot open the database .*set GATEHOUSE_HOME.*\n$/);
});

test('another master key stops the start, and the message names the needed one', async () => {
  using home = tempHome();
  await (await startCli(cliEnv(home.path))).stop();
  const other = Buffer.alloc(32, 'a key').toString('base64');
  const { code, err } = await runCli(['serve'], cliEnv(home.path, { GATEHOUSE_MASTER_KEY: other }));
  expect(code).toBe(1);
  expect(err).toMatch(
    /^gatehouse: The master key does not open this store: .*GATEHOUSE_MASTER_KEY, or master\.key.*\n$/,
  );
  const again = await startCli(cliEnv(home.path));
  expect((await again.stop()).code).toBe(0);
});

test('a database of a newer release stops the start and stays unchanged', async () => {
  using home = tempHome();
  await (await startCli(cliEnv(home.path))).stop();
  const path = join(home.path, 'gatehouse.db');
  {
    await using store = await openStore({ kind: 'sqlite', path });
    await store.db
      .insertInto('schema_versions')
      .values({ version: 999, name: 'future', applied_at: 0 })
      .execute();
  }
  for (const command of ['serve', 'migrate']) {
    const { code, err } = await runCli([command], cliEnv(home.path));
    expect(code).toBe(1);
    expect(err).toMatch(
      /^gatehouse: The database is at schema version 999, this release knows \d+: .*newer Gatehouse.*\n$/,
    );
  }
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s lets a running request finish and exits 0', async (signal) => {
  using home = tempHome();
  const gatehouse = await startCli(cliEnv(home.path));
  const url = await accessUrl(home.path);
  const { answer } = await callSlow(url, 700);
  const { code, out } = await gatehouse.stop(signal);
  expect(await answer).toContain('waitedMs');
  expect(code).toBe(0);
  expect(out).toContain('"stopped"');
});

test('the start warns of a variable that nothing reads', async () => {
  using home = tempHome();
  const gatehouse = await startCli(cliEnv(home.path, { GATEHOUSE_PUBLIC_URI: 'https://example.com' }));
  const { out } = await gatehouse.stop();
  const warning = out.split('\n').find((line) => line.includes('unknown variable, not read'));
  expect(JSON.parse(warning ?? '{}')).toMatchObject({ level: 40, variable: 'GATEHOUSE_PUBLIC_URI' });
});

test('a stop closes unused connections while a request runs, a second signal all', async () => {
  using home = tempHome();
  const gatehouse = await startCli(cliEnv(home.path));
  const unused = connect(Number(new URL(gatehouse.url).port), '127.0.0.1');
  await once(unused, 'connect');
  const { answer } = await callSlow(await accessUrl(home.path), 10_000);
  let end = 'none';
  const ended = answer.then(
    () => (end = 'answered'),
    () => (end = 'cut'),
  );
  const closed = once(unused, 'close');
  gatehouse.child.kill('SIGTERM');
  await until(() => gatehouse.out().includes('"stopping"'));
  await closed;
  expect(end).toBe('none');
  const { signal } = await gatehouse.stop('SIGTERM');
  expect([signal, await ended]).toEqual(['SIGTERM', 'cut']);
});

test('keys rotate ends the old key at once and prints only the new one', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path));
  await until(() => existsSync(join(home.path, 'first-keys')));
  const old = /gh_dev_\w{49}/.exec(readFileSync(join(home.path, 'first-keys'), 'utf8'))?.[0] ?? '';
  expect(await serverNames(gatehouse.url, old)).toEqual(['Sandbox']);

  const { code, out, err } = await runCli(['keys', 'rotate', 'development'], cliEnv(home.path));
  expect(code).toBe(0);
  expect(out).toMatch(/^gh_dev_\w{49}\n$/);
  expect(err).not.toContain('gh_dev_');
  await until(async () => (await serverNames(gatehouse.url, old)) === 401);
  expect(await serverNames(gatehouse.url, out.trim())).toEqual(['Sandbox']);
});

async function accessUrl(home: string): Promise<string> {
  const file = join(home, 'first-keys');
  await until(() => existsSync(file));
  return ACCESS_URL.exec(readFileSync(file, 'utf8'))?.[0] ?? '';
}

async function serverNames(url: string, key: string): Promise<string[] | number> {
  const response = await fetch(`${url}/api/servers`, { headers: { authorization: `Bearer ${key}` } });
  if (!response.ok) return response.status;
  return serverList.parse(await response.json()).servers.map(({ name }) => name);
}

/** Returns the answer. `onText` is called for each part of it. */
async function rpc(url: string, method: string, params: object, onText = () => {}): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: '1', method, params }),
  });
  expect(response.status).toBe(200);
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    onText();
  }
  return text;
}

/** Calls the slow action of the sandbox, and waits until it runs. */
async function callSlow(url: string, milliseconds: number): Promise<{ answer: Promise<string> }> {
  const running = Promise.withResolvers<void>();
  const params = { name: 'sandbox_slow', arguments: { milliseconds }, _meta: { progressToken: 1 } };
  const answer = rpc(url, 'tools/call', params, () => running.resolve());
  await Promise.race([running.promise, answer]);
  return { answer };
}
