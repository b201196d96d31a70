import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { openStore } from '../../src/store/open-database.ts';
import { BIN, cliEnv, freePort, runCli, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';

const SANDBOX = resolve(import.meta.dirname, '../../data/connectors/sandbox');

test.each([
  ['--help'],
  ['serve', '--help'],
  ['stdio', '--help'],
  ['keys', '--help'],
  ['keys', 'rotate', '--help'],
  ['keys', 'list', '--help'],
  ['keys', 'create', '--help'],
  ['keys', 'revoke', '--help'],
  ['migrate', '--help'],
  ['connectors', '--help'],
  ['connectors', 'check', '--help'],
  ['connectors', 'list', '--help'],
  ['connectors', 'new', '--help'],
  ['connectors', 'record', '--help'],
  ['doctor', '--help'],
  ['backup', '--help'],
  ['restore', '--help'],
  ['export', '--help'],
  ['import', '--help'],
  ['listen', '--help'],
  ['config', '--help'],
  ['config', 'export', '--help'],
  ['config', 'plan', '--help'],
  ['config', 'apply', '--help'],
])('%s %s %s prints help with examples and changes nothing', async (...args) => {
  using home = tempHome();
  const { code, out, err } = await runCli(args, cliEnv(join(home.path, 'none')));
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(/^Usage: gatehouse /);
  expect(out).toMatch(/\nExamples:\n {2}\$ /);
  expect(existsSync(join(home.path, 'none'))).toBe(false);
});

test.each([
  [['bogus'], "unknown command 'bogus'"],
  [['usrs'], "unknown command 'usrs'\n(Did you mean users?)\nRun with --help"],
  [['usrs', 'list', '--limit', '5'], "unknown command 'usrs'\n(Did you mean users?)"],
  [['servers', 'lst'], "unknown command 'lst'\n(Did you mean list?)"],
  [['serve', 'now'], 'too many arguments'],
  [['--port', '80'], 'PORT=8080'],
  [['--bogus'], "unknown option '--bogus'"],
  [['serve', '--port', '80'], 'PORT=8080'],
  [['keys'], 'Usage: gatehouse keys'],
  [['keys', 'rotate'], "missing required argument 'environment|keyId'"],
  [['keys', 'rotate', 'staging'], "must be development or production, not 'staging'"],
  [['keys', 'rotate', 'production', '--overlap-seconds', '60'], 'goes with the id of a named key'],
  [['keys', 'rotate', 'key_1', '--overlap-seconds', '-1'], '--overlap-seconds must be a whole number'],
  [['keys', 'create', '--name', 'x'], "required option '--scopes <scopes>' not specified"],
  [['keys', 'create', '--name', 'x', '--scopes', 'servers:all'], "no scope 'servers:all'. The scopes are:"],
  [
    ['keys', 'create', '--name', 'x', '--scopes', 'mcp:use', '--expires-days', '0'],
    '--expires-days must be a whole number',
  ],
  [['keys', 'list', '--environment', 'x'], '--environment must be development or production'],
  [['connectors', 'check'], "missing required argument 'file'"],
  [['connectors', 'new'], "missing required argument 'id'"],
  [['connectors', 'list', '--environment', 'x'], '--environment must be development or production'],
  [['doctor', 'now'], 'too many arguments'],
  [['backup'], "missing required argument 'file'"],
  [
    ['backup', 'a', '--passphrase-file', 'b', '--recipient', 'c'],
    'give either --passphrase-file or --recipient',
  ],
  [
    ['restore', 'a', '--passphrase-file', 'b', '--identity-file', 'c'],
    'either --passphrase-file or --identity-file',
  ],
  [['config', 'plan'], "missing required argument 'file'"],
  [['import'], "missing required argument 'folder'"],
  [['stdio'], 'give either --server or --url'],
  [['stdio', '--server', 'a', '--url', 'http://b'], 'give either --server or --url'],
  [['stdio', '--url', 'ftp://b'], '--url must be an http:// or https:// address'],
  [['stdio', '--url', 'http://b', '--header', 'nothing'], '--header must be name:value'],
  [['stdio', '--server', 'a', '--header', 'a:b'], '--header goes with --url'],
  [['listen', '--forward', 'ftp://b'], '--forward must be an http:// or https:// address'],
  [['listen', '--scope', 'commerce/orders'], '--connection and --scope go together'],
  [
    ['listen', '--connection', 'a', '--scope', 'b'],
    '--scope must be a unified model such as commerce/orders',
  ],
  [['listen', '--secret', 'mine'], '--secret must be whsec_'],
  [['stdio', '--server', 'a', '--environment', 'x'], '--environment must be development or production'],
])('the command line %j is wrong usage with exit code 2', async (args, said) => {
  using home = tempHome();
  const { code, out, err } = await runCli(args, cliEnv(home.path));
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(said);
});

test('the version is the version of the package', async () => {
  using home = tempHome();
  const manifest = readFileSync(resolve(import.meta.dirname, '../../package.json'), 'utf8');
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(manifest));
  expect(await runCli(['--version'], cliEnv(home.path))).toMatchObject({ code: 0, out: `${version}\n` });
});

test('stdio with an unknown server ends with one line on standard error', async () => {
  using home = tempHome();
  const { code, out, err } = await runCli(['stdio', '--server', 'nobody'], cliEnv(home.path));
  expect([code, out]).toEqual([1, '']);
  expect(err).toBe('gatehouse: There is no MCP server "nobody" in the environment development.\n');
});

test('stdio --url bridges to a running Gatehouse', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path));
  await until(() => existsSync(join(home.path, 'first-keys')));
  const [url = ''] = /http\S+gh_mcp_\w+/.exec(readFileSync(join(home.path, 'first-keys'), 'utf8')) ?? [];
  expect(url.startsWith(gatehouse.url)).toBe(true);
  const line = `${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' })}\n`;
  const { code, out } = await runCli(['stdio', '--url', url], cliEnv(home.path), { input: line });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ id: 7, result: { tools: expect.any(Array) } });
});

test('migrate prints each migration once', async () => {
  using home = tempHome();
  const first = await runCli(['migrate', '--json'], cliEnv(home.path));
  expect(JSON.parse(first.out)).toEqual({
    version: MIGRATIONS.length,
    applied: MIGRATIONS.map(({ name }) => name),
  });
  const second = await runCli(['migrate'], cliEnv(home.path));
  expect(second).toMatchObject({
    code: 0,
    out: '',
    err: `The database is at schema version ${MIGRATIONS.length}.\n`,
  });
});

test.each([[['keys', 'rotate', 'production']], [['keys', 'list']], [['listen']]])(
  'the command %j before the first start creates nothing and says what to do',
  async (args) => {
    using home = tempHome();
    const place = join(home.path, 'mistyped');
    const { code, out, err } = await runCli(args, cliEnv(place));
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^gatehouse: There is no Gatehouse at .*mistyped.* yet: start it once .*\n$/);
    expect(existsSync(place)).toBe(false);

    await runCli(['migrate'], cliEnv(home.path));
    const migrated = await runCli(args, cliEnv(home.path));
    expect(migrated).toMatchObject({ code: 1, err: expect.stringContaining('There is no Gatehouse at ') });
  },
);

test('connectors check replays the examples of a valid file', async () => {
  using home = tempHome();
  const file = join(SANDBOX, 'connector.yaml');
  for (const given of [file, SANDBOX]) {
    const { code, out } = await runCli(['connectors', 'check', given], cliEnv(home.path));
    expect(code).toBe(0);
    expect(out).toMatch(
      /^.*: sandbox is good \(\d+ of 100\): 15 actions, \d+ examples replayed, \d+ records mapped, 3 webhooks judged\n/,
    );
  }
});

test('connectors check lists the schemes that no source confirms', async () => {
  using home = tempHome();
  const file = join(SANDBOX, '../bigcommerce/connector.yaml');
  const json = await runCli(['connectors', 'check', '--json', file], cliEnv(home.path));
  expect(JSON.parse(json.out)).toMatchObject({ ok: true, unverified: ['authentication.0 (oauth2)'] });
  const { code, out } = await runCli(['connectors', 'check', file], cliEnv(home.path));
  expect([code, out.split('\n')[1]]).toEqual([
    0,
    `${file}: authentication.0 (oauth2): is not verified by a source`,
  ]);
});

test('connectors check names file, path and rule of every fault', async () => {
  using home = tempHome();
  const folder = join(home.path, 'sandbox');
  cpSync(SANDBOX, folder, { recursive: true });
  const file = join(folder, 'connector.yaml');
  const good = readFileSync(file, 'utf8');
  const check = async (text: string) => {
    writeFileSync(file, text);
    return runCli(['connectors', 'check', file], cliEnv(home.path));
  };

  const lineOf = (text: string) => good.slice(0, good.indexOf(text)).split('\n').length;
  const misspelt = await check(
    good.replace('idempotencyHeader:', 'idempotencyHeeder:').replace('website:', 'web:'),
  );
  expect(misspelt.code).toBe(1);
  expect(misspelt.err.trim().split('\n').sort()).toEqual([
    `${file}:1: website: is required`,
    `${file}:${lineOf('idempotencyHeader:')}: idempotencyHeeder: is not a known member. Did you mean "idempotencyHeader"?`,
    `${file}:${lineOf('website:')}: web: is not a known member`,
  ]);

  const expression = await check(good.replace(`'{"waitedMs": waited_ms}'`, `'{"waitedMs": '`));
  expect(expression.err).toMatch(/actions\.slow\.response\.map: is not a valid JSONata expression/);

  const backwards = await check(
    good.replace(`'{"waitedMs": waited_ms}'`, `'{"waitedMs": $contains(waited_ms, /(?<=1)0/)}'`),
  );
  expect(backwards.err).toMatch(/actions\.slow\.response\.map: .*must be a pattern of RE2/);

  const pattern = await check(good.replace(`pattern: '^[A-Z]{2}$'`, () => `pattern: '^(?!XX)[A-Z]{2}$'`));
  expect(pattern.code).toBe(1);
  expect(pattern.err).toMatch(/actions\.create_customer\.body\.country\.pattern: must be a pattern of RE2/);

  const members = await check(
    good
      .replace('"orderNumber":', '"orderNumbr":')
      .replace('productId, "title": title', 'productId, "titel": title'),
  );
  expect(members.code).toBe(1);
  expect(members.err).toMatch(
    /unified\.commerce\/orders\.map: writes "orderNumbr", which the model does not have\. Did you mean "orderNumber"\?/,
  );
  expect(members.err).toMatch(
    /map: writes "lineItems\.titel", which the model does not have\. Did you mean "title"\?/,
  );

  const moved = await check(good.replace('request: GET /slow', 'request: GET /slower'));
  expect(moved.err).toContain('examples.17 (slow).request.url: should be');

  const mapped = await check(good.replace('"waitedMs": waited_ms', '"waitedMs": waited_ms + 1'));
  expect(mapped.err).toContain('examples.17 (slow).output: should be {"waitedMs":50}, is {"waitedMs":51}');

  const json = JSON.parse((await runCli(['connectors', 'check', file, '--json'], cliEnv(home.path))).out);
  expect(json).toMatchObject({
    ok: false,
    connectorId: 'sandbox',
    actions: 15,
    examples: expect.any(Number),
    faults: [{ file: join(folder, 'examples.yaml') }],
  });
  expect(await runCli(['connectors', 'check', '/nowhere.yaml'], cliEnv(home.path))).toMatchObject({
    code: 1,
  });
});

test('doctor before the first start finds no fault and creates nothing', async () => {
  using home = tempHome();
  const none = join(home.path, 'none');
  const { code, findings } = await doctor(cliEnv(none));
  expect(code).toBe(0);
  expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
  expect(existsSync(none)).toBe(false);
});

test('doctor distinguishes a healthy Gatehouse on its port from other programs', async () => {
  using home = tempHome();
  const env = cliEnv(home.path, { PORT: String(await freePort()) });
  {
    await using gatehouse = await startCli(env);
    expect(gatehouse.url).toBe(`http://127.0.0.1:${env['PORT']}`);
    const { code, findings } = await doctor(env);
    expect(code).toBe(0);
    expect(findings.find(({ name }) => name === 'port')?.found).toContain('a healthy Gatehouse answers');
    expect(findings.map(({ state }) => state)).not.toContain('fail');
  }
  const other = createServer((_req, res) => res.end('hello'));
  await new Promise<void>((listens) => other.listen(Number(env['PORT']), '127.0.0.1', listens));
  const { code, findings } = await doctor(env);
  await new Promise((closed) => other.close(closed));
  expect(code).toBe(1);
  expect(findings.find(({ name }) => name === 'port')).toMatchObject({
    state: 'fail',
    fix: expect.stringContaining('PORT='),
  });
});

test('doctor names the address of the running service, whatever its own PORT is', async () => {
  using home = tempHome();
  await using gatehouse = await startCli(cliEnv(home.path));
  const busy = createServer((_req, res) => res.end('hello'));
  await new Promise<void>((listens) => busy.listen(0, '127.0.0.1', listens));
  const address = busy.address();
  const port = String(typeof address === 'object' ? address?.port : address);
  for (const env of [cliEnv(home.path), cliEnv(home.path, { PORT: port })]) {
    const { code, findings } = await doctor(env);
    expect(code).toBe(0);
    const found = (name: string) => findings.find((one) => one.name === name)?.found;
    expect(found('port')).toBe(
      `the Gatehouse of this store runs at ${gatehouse.url}; PORT of this command is ${env['PORT']}`,
    );
    expect(found('public URL')).toBe(gatehouse.url);
  }
  await gatehouse.stop();
  const { code, findings } = await doctor(cliEnv(home.path, { PORT: port }));
  await new Promise((closed) => busy.close(closed));
  expect(code).toBe(1);
  expect(findings.find(({ name }) => name === 'port')).toMatchObject({ state: 'fail' });
  expect(findings.find(({ name }) => name === 'public URL')?.found).toContain(`http://127.0.0.1:${port}`);
});

test('doctor lists every wrong variable', async () => {
  using home = tempHome();
  const { code, findings } = await doctor(cliEnv(home.path, { PORT: 'x', LOG_LEVEL: 'loud' }));
  expect(code).toBe(1);
  expect(findings.filter(({ state }) => state === 'fail').map(({ found }) => found.split(':')[0])).toEqual([
    'PORT',
    'LOG_LEVEL',
  ]);
});

test('doctor reports a variable that nothing reads and a closed egress proxy', async () => {
  using home = tempHome();
  const proxy = `http://127.0.0.1:${await freePort()}`;
  const env = cliEnv(home.path, { GATEHOUSE_PUBLIC_URI: 'x', GATEHOUSE_EGRESS_PROXY: proxy });
  const { code, findings } = await doctor(env);
  expect(code).toBe(1);
  expect(findings.find(({ name }) => name === 'configuration')).toMatchObject({
    state: 'warn',
    found: 'nothing reads GATEHOUSE_PUBLIC_URI. Did you mean "GATEHOUSE_PUBLIC_URL"?',
    fix: expect.stringContaining('docs/configuration.md'),
  });
  const faulty = await doctor({ ...env, GATEHOUSE_POLL_INTERVAL: '0' });
  expect(faulty.findings.filter(({ name }) => name === 'configuration')).toMatchObject([
    { state: 'fail', found: expect.stringContaining('GATEHOUSE_POLL_INTERVAL') },
    { state: 'warn', found: expect.stringContaining('GATEHOUSE_PUBLIC_URI') },
  ]);
  expect(findings.find(({ name }) => name === 'egress proxy')).toMatchObject({
    state: 'fail',
    found: expect.stringContaining('ECONNREFUSED'),
    fix: expect.stringContaining('GATEHOUSE_EGRESS_PROXY'),
  });
});

test('doctor finds a wrong or lost master key, a file as home, and a newer database', async () => {
  using home = tempHome();
  await (await startCli(cliEnv(home.path))).stop();
  const other = Buffer.alloc(32, 'a key').toString('base64');
  expect(await failed(cliEnv(home.path, { GATEHOUSE_MASTER_KEY: other }))).toEqual(['sealed data']);

  const key = readFileSync(join(home.path, 'master.key'));
  rmSync(join(home.path, 'master.key'));
  expect(await failed(cliEnv(home.path))).toEqual(['master key', 'sealed data']);
  expect(existsSync(join(home.path, 'master.key'))).toBe(false);
  writeFileSync(join(home.path, 'master.key'), key, { mode: 0o600 });

  const file = join(home.path, 'file');
  writeFileSync(file, '');
  expect(await failed(cliEnv(file))).toEqual(['home']);
  expect(await failed(cliEnv(join(file, 'below')))).toEqual(['home']);

  await using store = await openStore({ kind: 'sqlite', path: join(home.path, 'gatehouse.db') });
  await store.db
    .insertInto('schema_versions')
    .values({ version: 999, name: 'future', applied_at: 0 })
    .execute();
  expect(await failed(cliEnv(home.path))).toEqual(['database']);
});

test('doctor warns about a home that other users can enter', async () => {
  using home = tempHome();
  const open = join(home.path, 'open');
  mkdirSync(open, { mode: 0o755 });
  const { code, findings } = await doctor(cliEnv(open));
  expect(code).toBe(0);
  expect(findings.find(({ name }) => name === 'home')).toMatchObject({
    state: 'warn',
    fix: `Run: chmod 700 ${open}`,
  });
});

const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

test.skipIf(!hasScript)(
  'on a terminal the keys and first steps are shown once, and no file is written',
  async () => {
    using home = tempHome();
    const show = async (last: string): Promise<string> => {
      const env = cliEnv(home.path, { TERM: 'xterm', LOG_LEVEL: 'warn' });
      const terminal = spawn('script', ['-qfc', `${process.execPath} ${BIN}`, '/dev/null'], { env });
      let text = '';
      terminal.stdout.on('data', (chunk) => (text += String(chunk)));
      await until(() => text.includes(last), { state: () => text });
      const ended = once(terminal, 'close');
      terminal.stdin.write('\x03');
      await ended;
      return text;
    };
    const first = await show('/docs');
    expect(first).toMatch(/Gatehouse.* is ready at .*http:\/\/127\.0\.0\.1:\d+/);
    expect(first).toMatch(/gh_dev_\w{49}/);
    expect(first).toMatch(/\/mcp\/srv_\w+\/gh_mcp_\w{43}/);
    for (const part of ['claude_desktop_config.json', 'curl -s', 'inspector', '/docs'])
      expect(first).toContain(part);
    expect(existsSync(join(home.path, 'first-keys'))).toBe(false);

    const second = await show('is ready at');
    expect(second).toMatch(/is ready at/);
    expect(second).not.toMatch(/gh_(dev|prod|mcp)_/);
  },
);

const report = z.object({
  ok: z.boolean(),
  findings: z.array(
    z.object({ name: z.string(), state: z.string(), found: z.string(), fix: z.string().optional() }),
  ),
});

async function doctor(env: Record<string, string>) {
  const { code, out } = await runCli(['doctor', '--json'], env);
  return { code, ...report.parse(JSON.parse(out)) };
}

async function failed(env: Record<string, string>): Promise<string[]> {
  return (await doctor(env)).findings.filter(({ state }) => state === 'fail').map(({ name }) => name);
}
