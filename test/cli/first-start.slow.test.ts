import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { cliEnv, freePort, runCli, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

const NODE_OPTIONS = `--import=${resolve(import.meta.dirname, '../support/kill-at-first-keys.ts')}`;
const list = (url: string, key = '') =>
  fetch(`${url}/api/servers`, { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status);

for (const kind of STORE_KINDS) {
  test.each(['file', 'store'])(
    `a first start on ${kind} killed after the %s has the keys leaves working keys`,
    async (at) => {
      using home = tempHome();
      const fresh = await freshDatabase(kind);
      const { database } = fresh;
      const url = database.kind === 'postgres' ? database.url : `sqlite:${database.path}`;
      const env = cliEnv(home.path, { DATABASE_URL: url });
      try {
        const killed = await runCli(['serve'], { ...env, NODE_OPTIONS, KILL_AT: at });
        expect(killed.signal).toBe('SIGKILL');
        const file = join(home.path, 'first-keys');
        expect(statSync(file).mode & 0o777).toBe(0o600);

        await using again = await startCli(env);
        const keys = readFileSync(file, 'utf8').match(/gh_(dev|prod)_\w+/g) ?? [];
        expect(keys).toHaveLength(2);
        for (const key of keys) expect(await list(again.url, key)).toBe(200);
        expect(again.out()).toContain(file);
        await again.stop();
      } finally {
        await fresh.remove();
      }
    },
  );

  test(`on ${kind} /ready is 503 until preset keys are stored`, async () => {
    using home = tempHome();
    const fresh = await freshDatabase(kind);
    const { database } = fresh;
    const key = newApiKey('development');
    const port = await freePort();
    const started = startCli(
      cliEnv(home.path, {
        PORT: String(port),
        DATABASE_URL: database.kind === 'postgres' ? database.url : `sqlite:${database.path}`,
        GATEHOUSE_DEVELOPMENT_KEY: key,
        GATEHOUSE_PRODUCTION_KEY: newApiKey('production'),
      }),
    );
    try {
      const url = `http://127.0.0.1:${port}`;
      const isReady = () =>
        fetch(`${url}/ready`).then(
          ({ status }) => status === 200,
          () => false,
        );
      await until(isReady);
      expect(await list(url, key)).toBe(200);
    } finally {
      await (await started).stop();
      await fresh.remove();
    }
  });
}

test('a store with sealed data gets no new master key when its own is missing', async () => {
  using home = tempHome();
  const env = cliEnv(home.path);
  await (await startCli(env)).stop();
  const file = join(home.path, 'master.key');
  rmSync(file);
  const refused = await runCli(['serve'], env);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(`its master key ${file} is missing`);
  expect(existsSync(file)).toBe(false);
});

test('doctor reports whether the database takes writes and how much space is left', async () => {
  using home = tempHome();
  const env = cliEnv(home.path);
  await (await startCli(env)).stop();
  const { out } = await runCli(['doctor', '--json'], env);
  expect(JSON.parse(out)).toMatchObject({
    findings: expect.arrayContaining([
      expect.objectContaining({
        name: 'disk',
        found: expect.stringMatching(/^\d+ MiB are free on the disk of /),
      }),
    ]),
  });
});

test.runIf(process.platform === 'linux')(
  'doctor names a database that takes no writes and exits with 1',
  async () => {
    using home = tempHome();
    const env = cliEnv(home.path);
    await (await startCli(env)).stop();
    const preload = resolve(import.meta.dirname, '../support/full-disk.ts');
    const { code, out } = await runCli(['doctor'], { ...env, NODE_OPTIONS: `--import=${preload}` });
    expect(code).toBe(1);
    expect(out).toMatch(/fail\s+disk\s+the database takes no writes: database or disk is full/);
    expect(out).toContain('Free space on the disk of the database.');
  },
);
