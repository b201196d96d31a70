import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { freshDatabase } from '../support/stores.ts';

test('on PostgreSQL migrate, the first start, doctor and keys rotate work', async () => {
  using home = tempHome();
  const { database, remove } = await freshDatabase('postgres', { empty: true });
  if (database.kind !== 'postgres') throw new Error('not PostgreSQL');
  const env = cliEnv(home.path, { DATABASE_URL: database.url });
  try {
    const empty = await runCli(['doctor'], env);
    expect(empty.out).toContain('postgres is reachable and empty');
    expect((await runCli(['migrate'], env)).code).toBe(0);

    await using gatehouse = await startCli(env);
    const file = join(home.path, 'first-keys');
    await until(() => existsSync(file));
    // A client that is started elsewhere does not know DATABASE_URL, so it connects over the bridge.
    expect(readFileSync(file, 'utf8')).toMatch(/"stdio", "--url", "http:\/\/127\.0\.0\.1:\d+\/mcp\/srv_/);
    expect(existsSync(join(home.path, 'gatehouse.db'))).toBe(false);

    const well = await runCli(['doctor'], env);
    expect([well.code, well.err]).toEqual([0, '']);
    expect(well.out).toMatch(/postgres is reachable, at schema version \d+/);
    expect((await runCli(['keys', 'rotate', 'production'], env)).out).toMatch(/^gh_prod_\w{49}\n$/);
    expect((await gatehouse.stop()).code).toBe(0);
  } finally {
    await remove();
  }
});

test('an unreachable PostgreSQL stops the start with one line without the password', async () => {
  using home = tempHome();
  const env = cliEnv(home.path, { DATABASE_URL: 'postgres://gatehouse:hunter22@127.0.0.1:1/gatehouse' });
  for (const command of ['serve', 'migrate', 'doctor']) {
    const { code, out, err } = await runCli([command], env);
    expect(code).toBe(1);
    expect(out + err).toContain('Cannot connect to the PostgreSQL server of DATABASE_URL');
    expect(out + err).not.toContain('hunter22');
  }
});
