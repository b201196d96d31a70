import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { BIN, cliEnv, runCli, startCli, tempHome, type Started } from '../support/cli.ts';
import { until } from '../support/until.ts';

/* Commands of daily work, over the store of this machine and against a remote Gatehouse. */

let home: ReturnType<typeof tempHome>;
let gatehouse: Started;
let local: Record<string, string>;
let remote: Record<string, string>;

beforeAll(async () => {
  home = tempHome();
  local = cliEnv(home.path);
  gatehouse = await startCli(local);
  const file = join(home.path, 'first-keys');
  // The file is written again when the demonstration is there.
  await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('/mcp/srv_'));
  const key = /gh_dev_\w+/.exec(readFileSync(file, 'utf8'))?.[0] ?? '';
  remote = {
    PATH: process.env['PATH'] ?? '',
    HOME: home.path,
    GATEHOUSE_URL: gatehouse.url,
    GATEHOUSE_KEY: key,
  };
});

afterAll(async () => {
  await gatehouse.stop('SIGKILL');
  home[Symbol.dispose]();
});

const rows = z.array(z.record(z.string(), z.unknown()));
const listed = z.union([
  z.object({ data: rows, pagination: z.object({ hasMore: z.boolean() }) }),
  z.object({ servers: rows, count: z.int() }).transform(({ servers }) => ({ data: servers })),
]);

async function recordsOf(args: string[], env: Record<string, string>) {
  const { out, err, code } = await runCli([...args, '--json'], env);
  expect({ err, code }).toEqual({ err: '', code: 0 });
  return listed.parse(JSON.parse(out)).data;
}

describe.each([
  ['the local store', () => local],
  ['a remote Gatehouse', () => remote],
])('%s', (place, env) => {
  const username = place.replaceAll(' ', '-');

  test('users are created, found by name and listed', async () => {
    const made = await runCli(['users', 'create', username], env());
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^userId +usr_\w+\nusername +/) });
    const { out } = await runCli(['users', 'get', username, '--json'], env());
    expect(JSON.parse(out)).toMatchObject({ username, enabled: true });
    const table = (await runCli(['users', 'list'], env())).out.split('\n');
    expect(table[0]).toMatch(/^USER +USERNAME +ENABLED +CREATED$/);
    expect(table.some((line) => line.includes(username))).toBe(true);
    expect(await runCli(['users', 'create', username], env())).toMatchObject({
      code: 1,
      err: expect.stringContaining('is taken'),
    });
  });

  test('a list has titles, and names the option of its next page', async () => {
    await runCli(['users', 'create', `${username}-2`], env());
    const first = await runCli(['users', 'list', '--limit', '1'], env());
    const [, cursor = ''] = /^There are more\. The next page: --cursor (\S+)\n$/.exec(first.err) ?? [];
    const second = await runCli(['users', 'list', '--limit', '1', '--cursor', cursor], env());
    const all = await recordsOf(['users', 'list'], env());
    expect([first, second].map(({ out }) => out.split('\n')[1]?.split(/ {2,}/)[0])).toEqual(
      all.slice(0, 2).map(({ userId }) => userId),
    );
    const servers = await runCli(['servers', 'list', '--offset', '1'], env());
    expect(servers).toMatchObject({ code: 0, out: '', err: 'There are no servers to list.\n' });
    for (const args of [
      ['keys', 'list'],
      ['connectors', 'list'],
      ['audit', 'list'],
      ['credentials', 'list', '--user', 'demo'],
    ]) {
      const { out } = await runCli(args, env() === remote ? local : env());
      expect(out).toMatch(/^[A-Z]+( {2,}[A-Z]+( [A-Z]+)*)+\n/);
      expect(out).not.toMatch(/-\d\dT\d\d:/);
    }
  });

  test('executions list shows the names of user and server', async () => {
    const url = /http:\S+\/mcp\/srv\S+/.exec(readFileSync(join(home.path, 'first-keys'), 'utf8'))?.[0] ?? '';
    const params = { name: 'sandbox_get_order', arguments: { orderId: 'ord_5001' } };
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    await until(async () => {
      const { out } = await runCli(['executions', 'list', '--action', 'get_order'], env());
      return /^TIME +ACTION +OUTCOME +MS +USER +SERVER +CALLER +EXECUTION\n\S+ \S+Z +sandbox\.get_order +\w+.* demo +Sandbox /.test(
        out,
      );
    });
  });

  test('an action is called, and its execution listed and shown', async () => {
    const { out, err, code } = await runCli(
      ['call', 'sandbox.list_orders', '--user', 'demo', '--input', '{"limit": 2}'],
      env(),
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject([{ id: 'ord_5001' }, { id: 'ord_5002' }]);
    expect(err).toBe('There are more: --input with "offset": 2 reads on.\n');
    const args = ['executions', 'list', '--user', 'demo', '--action', 'list_orders', '--limit', '1'];
    const [execution] = await recordsOf(args, env());
    expect(execution).toMatchObject({ connectorId: 'sandbox', outcome: 'succeeded' });
    const shown = await runCli(['executions', 'get', String(execution?.['executionId'])], env());
    expect(shown.out).toMatch(/^outcome +succeeded$/m);
  });

  test('a call reads a file that Windows wrote, and keeps the digits of its integers', async () => {
    const input = '{"customerId": 9007199254740993}';
    const refused = [];
    for (const bytes of [Buffer.from(`\ufeff${input}`), Buffer.from(`\ufeff${input}`, 'utf16le')]) {
      const file = join(home.path, 'input.json');
      writeFileSync(file, bytes);
      const { err } = await runCli(
        ['call', 'sandbox.get_customer', '--user', 'demo', '--input-file', file],
        env(),
      );
      refused.push(err);
    }
    expect(refused[0]).toContain('9007199254740993');
    expect(refused[1]).toBe(refused[0]);
  });

  test('a refused call prints the sentence of the answer and ends with 1', async () => {
    const wrong = await runCli(['call', 'sandbox.list_ordrs', '--user', 'demo'], env());
    expect(wrong).toMatchObject({ code: 1, out: '' });
    expect(wrong.err).toBe('gatehouse: Sandbox has no action "list_ordrs". Did you mean "list_orders"?\n');
    const nobody = await runCli(['call', 'sandbox.list_orders', '--user', 'bob'], env());
    expect(nobody.err).toBe('gatehouse: There is no user "bob". `gatehouse users list` shows them.\n');
    const file = join(home.path, `${username}.json`);
    writeFileSync(file, '[1]');
    const list = await runCli(['call', 'sandbox.fail', '--user', 'demo', '--input-file', file], env());
    expect(list.err).toBe(`gatehouse: ${file} must be a JSON object, such as {"limit": 5}.\n`);
  });

  test('accounts are listed and checked, and a link is printed', async () => {
    const [account] = await recordsOf(['credentials', 'list', '--user', 'demo'], env());
    expect(account).toMatchObject({ connectorId: 'sandbox', state: 'active' });
    const id = String(account?.['credentialId']);
    const checked = await runCli(['credentials', 'check', id, '--user', 'demo', '--json'], env());
    expect(JSON.parse(checked.out)).toMatchObject({ credentialId: id, state: 'active' });
    const link = await runCli(['connect', 'demo', 'github'], env());
    expect(link.out).toMatch(new RegExp(`^${gatehouse.url}/connect/s/[\\w-]+\n$`));
    expect((await fetch(link.out.trim())).status).toBe(200);
  });

  test('a server is switched off and on again', async () => {
    const off = await runCli(['servers', 'disable', 'sandbox', '--json'], env());
    expect(JSON.parse(off.out)).toMatchObject({ name: 'Sandbox', enabled: false });
    expect(await recordsOf(['servers', 'list'], env())).toMatchObject([{ enabled: false }]);
    const on = await runCli(['servers', 'enable', 'sandbox', '--json'], env());
    expect(JSON.parse(on.out)).toMatchObject({ enabled: true });
  });

  test.each([['list'], ['get', 'Sandbox'], ['enable', 'Sandbox']])(
    'servers %s prints an access token only with --show-token',
    async (...args) => {
      const asked = async () => {
        const rows = await recordsOf(['audit', 'list', '--limit', '500'], remote);
        return rows.filter(({ operation }) => /^(list|get)Servers?$/.test(String(operation))).length;
      };
      const before = await asked();
      for (const form of [[], ['--json']]) {
        const { out } = await runCli(['servers', ...args, ...form], env());
        expect(out).not.toContain('gh_mcp_');
        expect(out.includes('/***')).toBe(args[0] !== 'list' || form.length > 0);
      }
      expect(await asked()).toBe(before);
      const shown = await runCli(['servers', ...args, '--json', '--show-token'], env());
      expect(shown.out).toContain('/gh_mcp_');
      expect(await asked()).toBe(before + (args[0] === 'enable' ? 0 : 1));
    },
  );
});

test('a workflow is run for its user, and the run is shown with its steps', async () => {
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${gatehouse.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${remote['GATEHOUSE_KEY']}`,
        'x-api-version': '2025-09',
        'content-type': 'application/json',
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    expect(answer.ok).toBe(true);
    return z.record(z.string(), z.unknown()).parse(await answer.json());
  };
  const definition = {
    trigger: { type: 'manual' },
    steps: [{ stepId: 'first', connectorId: 'sandbox', actionId: 'list_orders', input: { limit: 1 } }],
  };
  await call('POST', '/workflows', { name: 'Read orders', definition });
  const [user] = await recordsOf(['users', 'list'], remote);
  const [workflow] = await recordsOf(['workflows', 'list'], local);
  expect(workflow).toMatchObject({ name: 'Read orders', version: 1 });
  const path = `/workflows/${String(workflow?.['workflowId'])}/install?userId=${String(user?.['userId'])}`;
  await call('POST', path, {});

  const started = await runCli(['workflows', 'run', 'read orders', '--user', 'demo'], local);
  expect(started).toMatchObject({ code: 0, out: expect.stringMatching(/^run_\w+\n$/) });
  const logs = ['workflows', 'logs', 'read orders'];
  await until(async () => {
    const { out } = await runCli([...logs, '--run', started.out.trim()], remote);
    return /succeeded\nSTEP +STATUS.*\nfirst +succeeded +1 /.test(out);
  });
  const [run] = await recordsOf(logs, local);
  expect(run).toMatchObject({ runId: started.out.trim(), status: 'succeeded', trigger: 'manual' });
});

test('executions list --follow prints new calls until it is stopped', async () => {
  const child = spawn(process.execPath, [BIN, 'executions', 'list', '--follow', '--json'], { env: remote });
  let out = '';
  let err = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  try {
    await until(() => err.includes('Waiting for executions'));
    await runCli(['call', 'sandbox.fail', '--user', 'demo', '--input', '{"status": 418}'], remote);
    await until(() => out.includes('\n'));
    const lines = out.trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ actionId: 'fail', outcome: 'failed' });
  } finally {
    child.kill('SIGINT');
  }
  expect(await ended).toBe(0);
});

test('an address without key, a wrong key and a closed port are refused in words', async () => {
  const { GATEHOUSE_KEY: _, ...withoutKey } = remote;
  const said = async (env: Record<string, string>, ...args: string[]) => {
    const { code, out, err } = await runCli(['servers', 'list', ...args], env);
    expect({ code, out }).toEqual({ code: args.includes('--environment') ? 2 : 1, out: '' });
    return err;
  };
  expect(await said(withoutKey)).toMatch(
    /^gatehouse: A remote Gatehouse needs an API key: set GATEHOUSE_KEY/,
  );
  expect(await said({ ...remote, GATEHOUSE_KEY: 'gh_dev_x' })).toMatch(/^gatehouse: The API key is unknown/);
  expect(await said(remote, '--url', 'http://127.0.0.1:9')).toMatch(/127\.0\.0\.1:9 cannot be reached/);
  expect(await said(remote, '--url', 'gatehouse.example.com')).toMatch(/must begin with https:/);
  expect(await said(remote, '--environment', 'production')).toMatch(/is for the local store/);
});

test.each([
  [['call', 'sandbox', '--user', 'demo'], 'must be <connector>.<action>'],
  [['call', 'sandbox.list_orders', '--user', 'demo', '--input', '{bad'], '--input is not JSON'],
  [['call', 'sandbox.list_orders', '--user', 'demo', '--input', '[]'], '--input must be a JSON object'],
  [
    ['call', 'sandbox.list_orders', '--user', 'demo', '--input', '{}', '--input-file', '-'],
    '--input and --input-file exclude each other',
  ],
  [['workflows', 'run', 'wf', '--user', 'demo', '--input', '{bad'], '--input is not JSON'],
  [['users', 'list', '--environment', 'staging'], '--environment must be development or production'],
  [['call', 'sandbox.list_orders'], "required option '--user"],
  [['servers', 'list', '--limit', '0'], '--limit must be a whole number'],
  [['completion', 'tcsh'], 'the shell must be bash, zsh, fish'],
])('wrong usage ends with 2: %j', async (args, message) => {
  expect(await runCli(args, local)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
});

test('bash completes commands and options by the printed script', async () => {
  const { out } = await runCli(['completion', 'bash'], local);
  const complete = `${out}
COMP_WORDS=(gatehouse executions list --fo); COMP_CWORD=3; _gatehouse; echo "\${COMPREPLY[*]}"
COMP_WORDS=(gatehouse exec); COMP_CWORD=1; _gatehouse; echo "\${COMPREPLY[*]}"`;
  const bash = spawn('bash', ['--norc', '-s'], { stdio: ['pipe', 'pipe', 'inherit'] });
  bash.stdin.end(complete);
  let printed = '';
  for await (const data of bash.stdout) printed += String(data);
  expect(printed).toBe('--follow\nexecutions\n');
});

test('pretty log lines name action, user and outcome', async () => {
  using other = tempHome();
  const env = cliEnv(other.path, { LOG_FORMAT: 'pretty' });
  const child = spawn(process.execPath, [BIN, 'serve'], { env });
  let out = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  try {
    await until(() => existsSync(join(other.path, 'first-keys')) && out.includes('what to try first'));
    const url = /http:\S+\/mcp\/srv\S+/.exec(readFileSync(join(other.path, 'first-keys'), 'utf8'))?.[0] ?? '';
    await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'sandbox_list_orders', arguments: { limit: 1 } },
      }),
    });
    await until(() => out.includes('action=sandbox.list_orders'));
    expect(out).toMatch(/^\d\d:\d\d:\d\d INFO action .* userId=usr_\w+ outcome=succeeded /m);
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toBe(0);
});
