import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig } from '../../src/config.ts';
import { BIN, cliEnv, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DEPLOY = join(ROOT, 'docs/deploy');
const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8');

const settings = z.record(z.string(), z.string());
const compose = z.object({
  services: z.object({
    gatehouse: z.looseObject({
      build: z.object({ context: z.string(), dockerfile: z.string() }),
      environment: settings,
      ports: z.array(z.string()),
      volumes: z.array(z.string()),
      read_only: z.literal(true),
    }),
    postgres: z.looseObject({ image: z.string(), environment: settings }),
  }),
  networks: z.object({
    front: z.object({ ipam: z.object({ config: z.tuple([z.object({ gateway: z.string() })]) }) }),
  }),
});

/** Values of the variables that the compose file takes of its `.env`. */
const ENTERED: Record<string, string> = {
  GATEHOUSE_PUBLIC_URL: 'https://gatehouse.example.com',
  GATEHOUSE_MASTER_KEY: Buffer.alloc(32, 'a key').toString('base64'),
  POSTGRES_PASSWORD: 'secret',
};

/** Returns the instructions of the Dockerfile with a keyword, without the keyword. */
function instructions(keyword: string): string[] {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ').split('\n');
  return lines.filter((line) => line.startsWith(`${keyword} `)).map((line) => line.slice(keyword.length + 1));
}

test('the Dockerfile has no fault that its linter finds', () => {
  expect(validate(read('Dockerfile'))).toEqual([]);
});

test('the image has pinned bases, a user without rights, and copies files that exist', () => {
  expect(instructions('ARG')).toEqual([expect.stringMatching(/^NODE_IMAGE=\S+:\d+\.\d+\.\d+-\w+-slim$/)]);
  expect(instructions('USER')).toEqual(['node']);
  expect(instructions('HEALTHCHECK').join('')).toContain('/ready');
  const sources = instructions('COPY')
    .filter((line) => !line.startsWith('--from'))
    .flatMap((line) => line.split(' ').slice(0, -1))
    .filter((name) => !name.includes('*'));
  expect(sources.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(engines.node).toBe('>=22.19');
});

test('the compose file starts a Gatehouse whose settings are valid', () => {
  const { services, networks } = compose.parse(parse(read('compose.yaml')));
  const { build, environment, ports, volumes } = services.gatehouse;
  expect(existsSync(join(DEPLOY, build.context, build.dockerfile))).toBe(true);
  const entered = (text: string) =>
    text.replaceAll(/\$\{(\w+)[^}]*\}/g, (_, name: string) => ENTERED[name] ?? '');
  const env = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, entered(value)]));
  const image = Object.fromEntries(
    instructions('ENV').flatMap((line) =>
      [...line.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    ),
  );
  const config = readConfig({ ...image, ...env });
  expect(config.unknownVariables).toEqual([]);
  expect([config.host, config.home, config.database]).toEqual([
    '0.0.0.0',
    '/data',
    { kind: 'postgres', url: 'postgres://gatehouse:secret@postgres/gatehouse' },
  ]);
  expect(ports).toEqual([`127.0.0.1:${config.port}:${config.port}`]);
  expect(instructions('EXPOSE')).toEqual([String(config.port)]);
  expect(volumes).toEqual([`gatehouse:${config.home}`]);
  expect(env['GATEHOUSE_TRUST_PROXY']).toBe(`${networks.front.ipam.config[0].gateway}/32`);
  expect(services.postgres.image).toMatch(/:\d+\.\d+-\w+$/);
  expect(services.postgres.environment['POSTGRES_USER']).toBe(new URL(env['DATABASE_URL'] ?? '').username);
});

test('the service of systemd starts by its line, with its settings', async () => {
  const unit = read('gatehouse.service');
  const line = /^ExecStart=(\S+) (\S+\/bin\/gatehouse\.js) (.+)$/m.exec(unit);
  const [, node, bin = '', args = ''] = line ?? [];
  expect([node, bin.endsWith('/node_modules/@gatehouse/gatehouse/bin/gatehouse.js')]).toEqual([
    '/usr/bin/node',
    true,
  ]);
  const env = Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(readConfig(env).unknownVariables).toEqual([]);
  using home = tempHome();
  const child = spawn(process.execPath, [BIN, ...args.split(' ')], { env: { ...env, ...cliEnv(home.path) } });
  let out = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  const end = new Promise((ended) => child.once('close', ended));
  await until(() => out.includes('"listening"') || child.exitCode !== null);
  const url = /"url":"([^"]+)"/.exec(out)?.[1] ?? '';
  expect((await fetch(`${url}/health`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await end).toBe(0);
});

test('the scheduled backups run the installed program with the settings of the service', () => {
  const page = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8');
  const backup = page('backup.md');
  const [, prefix = ''] = /npm install --prefix (\S+)/.exec(page('production.md')) ?? [];
  const program = `${prefix}/node_modules/.bin/gatehouse backup `;
  const commands = backup.split('\n').filter((line) => /^(15 |ExecStart=)/.test(line));
  expect(commands).toHaveLength(2);
  const settings = /^EnvironmentFile=(\S+)$/m.exec(read('gatehouse.service'))?.[0] ?? 'none';
  const [, home = ''] = /^Environment=GATEHOUSE_HOME=(\S+)$/m.exec(read('gatehouse.service')) ?? [];
  const folder = /^sudo install -d -o gatehouse .* (\S+)$/m.exec(backup)?.[1] ?? 'none';
  for (const command of commands) expect(command).toContain(`${program}${folder}/$(date`);
  // The unit names settings and home on lines of their own, the line of cron in itself.
  const unit = /```ini\n(\[Service\][\s\S]*?)```/.exec(backup)?.[1] ?? '';
  for (const text of [unit, commands[0] ?? '']) {
    expect(text).toContain(settings);
    expect(text).toContain(`GATEHOUSE_HOME=${home}`);
  }
  expect(page('upgrading.md')).toContain(`gatehouse backup ${folder}/`);
});

test.skipIf(!existsSync('/usr/bin/systemd-analyze'))(
  'systemd finds no fault in the unit, and little exposure',
  () => {
    const unit = join(DEPLOY, 'gatehouse.service');
    const run = (...args: string[]) =>
      execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: 'pipe' });
    run('verify', unit);
    // 15 is an exposure of 1.5 of 10.
    expect(run('security', '--offline=true', '--threshold=15', unit)).toContain('OK');
  },
);
