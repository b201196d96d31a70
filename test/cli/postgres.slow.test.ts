import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { freshDatabase } from '../support/stores.ts';
import { runSql } from '../support/postgres.ts';

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

/** Databases that cannot hold a store, by what makes them so, with the words of the refusal. */
const UNUSABLE = [
  {
    name: 'of another encoding',
    prepare: async (database: string) => {
      await runSql(inject('postgresUrl'), `drop database ${database}`);
      const how = "encoding 'LATIN1' locale 'C' template template0";
      await runSql(inject('postgresUrl'), `create database ${database} ${how}`);
    },
    says: ['has the encoding LATIN1', "encoding 'UTF8' template template0"],
  },
  {
    name: 'that is read-only',
    prepare: (database: string) =>
      runSql(inject('postgresUrl'), `alter database ${database} set default_transaction_read_only = on`),
    says: ['takes no writes', 'default_transaction_read_only'],
  },
  {
    name: 'in which the role may not create tables',
    prepare: async (database: string) => {
      await runSql(inject('postgresUrl'), `create role ${database} login password 'x'`);
    },
    asRole: true,
    says: ['may not create tables|lacks rights', 'grant all on schema public'],
  },
];

test.each(UNUSABLE)('a database $name is refused with a remedy', async ({ prepare, says, asRole }) => {
  using home = tempHome();
  const { database, remove } = await freshDatabase('postgres', { empty: true });
  if (database.kind !== 'postgres') throw new Error('not PostgreSQL');
  const url = new URL(database.url);
  const name = url.pathname.slice(1);
  try {
    await prepare(name);
    if (asRole) [url.username, url.password] = [name, 'x'];
    const env = cliEnv(home.path, { DATABASE_URL: url.href });
    for (const command of ['serve', 'migrate', 'doctor']) {
      const { code, out, err } = await runCli([command], env);
      expect(code).toBe(1);
      for (const words of says) expect(out + err).toMatch(new RegExp(words));
      expect(out + err).not.toMatch(/^ +at |file:\/\//m);
    }
  } finally {
    await remove();
    if (asRole) await runSql(inject('postgresUrl'), `drop role ${name}`);
  }
});

test('a role without the right to create tables serves a store of this release', async () => {
  using home = tempHome();
  const { database, remove } = await freshDatabase('postgres');
  if (database.kind !== 'postgres') throw new Error('not PostgreSQL');
  const url = new URL(database.url);
  const role = url.pathname.slice(1);
  try {
    await runSql(database.url, `create role ${role} login password 'x'`);
    await runSql(
      database.url,
      `grant select, insert, update, delete on all tables in schema public to ${role}`,
    );
    [url.username, url.password] = [role, 'x'];
    const { code, err } = await runCli(['migrate'], cliEnv(home.path, { DATABASE_URL: url.href }));
    expect([code, err]).toEqual([0, expect.stringContaining('is at schema version')]);
  } finally {
    await remove();
    await runSql(inject('postgresUrl'), `drop role ${role}`);
  }
});

test.each(['prefer', 'allow'])('sslmode=%s works with a server without TLS', async (mode) => {
  using home = tempHome();
  const { database, remove } = await freshDatabase('postgres');
  if (database.kind !== 'postgres') throw new Error('not PostgreSQL');
  try {
    const env = cliEnv(home.path, { DATABASE_URL: `${database.url}?sslmode=${mode}` });
    const { code, err } = await runCli(['migrate'], env);
    expect([code, err]).toEqual([0, expect.stringMatching(/^The database is at schema version \d+\.\n$/)]);
    const required = await runCli(['migrate'], { ...env, DATABASE_URL: `${database.url}?sslmode=require` });
    expect([required.code, required.err]).toEqual([1, expect.stringContaining('does not support SSL')]);
  } finally {
    await remove();
  }
});
