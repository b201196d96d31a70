import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-database.ts';
import { newMasterKey } from '../../src/crypto/key-ring.ts';
import { changeMasterKeys } from '../../src/crypto/master-key-file.ts';
import { SEALED_COLUMNS } from '../../src/store/sealed-columns.ts';
import { BIN, cliEnv, runCli, startCli, tempHome, type Started } from '../support/cli.ts';
import { rpc } from '../support/mcp.ts';
import { freshDatabase, STORE_KINDS, type StoreKind } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** Sizes of `npm run proof:keys`. */
const KILLS = 50;
const CALLS_A_SECOND = 20;
const READS_A_SECOND = 180;
const PROOF_MS = 10 * MINUTE;

const rotation = z.object({
  keyId: z.string(),
  added: z.boolean(),
  resealed: z.number(),
  left: z.number(),
  lost: z.array(z.object({ column: z.string(), row: z.string(), reason: z.string() })),
});

/** A home, a database, and the variables of both. */
async function freshHome(kind: StoreKind) {
  const home = tempHome();
  const { database, remove } = await freshDatabase(kind, { empty: true });
  const where = database.kind === 'sqlite' ? join(home.path, 'gatehouse.db') : database.url;
  return {
    file: join(home.path, 'master.key'),
    firstKeys: join(home.path, 'first-keys'),
    database: database.kind === 'sqlite' ? { kind: 'sqlite' as const, path: where } : database,
    env: (more: Record<string, string> = {}) =>
      cliEnv(home.path, { ...(database.kind === 'postgres' ? { DATABASE_URL: where } : {}), ...more }),
    async [Symbol.asyncDispose]() {
      await remove();
      home[Symbol.dispose]();
    },
  };
}
type Home = Awaited<ReturnType<typeof freshHome>>;

/** Starts a service and returns the URL of its demonstration server. */
async function startDemonstration(home: Home): Promise<{ gatehouse: Started; mcp: () => string }> {
  const gatehouse = await startCli(home.env({ GATEHOUSE_RATE_LIMIT_MCP: '0' }));
  await until(() => existsSync(home.firstKeys));
  const path = /\/mcp\/srv_\w+\/gh_mcp_\w+/.exec(readFileSync(home.firstKeys, 'utf8'))?.[0] ?? '';
  return { gatehouse, mcp: () => gatehouse.url + path };
}

/** Reads the demonstration server, whose access URL has a sealed token. Returns `works`, or the answer. */
async function reads(home: Home, { url }: Started): Promise<string> {
  const first = readFileSync(home.firstKeys, 'utf8');
  const [, serverId = ''] = /\/mcp\/(srv_\w+)\//.exec(first) ?? [];
  const [key = ''] = /gh_dev_\w+/.exec(first) ?? [];
  const answer = await fetch(`${url}/api/servers/${serverId}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await answer.text();
  return answer.status === 200 && text.includes('/gh_mcp_') ? 'works' : text;
}

async function rotate(home: Home, ...more: string[]) {
  const ended = await runCli(['master-key', 'rotate', '--one-machine', '--json', ...more], home.env());
  if (ended.out === '') throw new Error(ended.err);
  return { code: ended.code, ...rotation.parse(JSON.parse(ended.out)) };
}

/** Calls a tool with the stored credential. Returns `works`, or the answer. */
async function works(url: string): Promise<string> {
  const answer = await rpc(url, 'tools/call', {
    name: 'sandbox_list_customers',
    arguments: { limit: 1 },
  });
  const isGood = answer.status === 200 && answer.at('result.isError') !== true;
  return isGood ? 'works' : JSON.stringify(answer.body);
}

/** Returns the files that a process has open. */
function filesOf({ pid }: ChildProcess): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(join(folder, fd));
    } catch {
      return '';
    }
  });
}

const keysOf = ({ file }: Home): string[] => readFileSync(file, 'utf8').trim().split('\n');
const doctor = async (home: Home, more?: Record<string, string>) =>
  (await runCli(['doctor'], home.env(more))).out;

describe.each(STORE_KINDS)('the master key on %s', (kind) => {
  test('a master key is rotated while the service answers, and the earlier one retires', async () => {
    await using home = await freshHome(kind);
    const { gatehouse, mcp } = await startDemonstration(home);
    const results: string[] = [];
    const over = new AbortController();
    const load = (async () => {
      while (!over.signal.aborted) results.push(await works(mcp()));
    })();
    const before = keysOf(home);
    const done = await rotate(home);
    await until(() => results.length > 0);
    over.abort();
    await load;
    expect(done).toMatchObject({ code: 0, added: true, left: 0, lost: [] });
    expect(done.resealed).toBeGreaterThan(1);
    expect(new Set(results)).toEqual(new Set(['works']));
    expect(keysOf(home)).toEqual([expect.any(String), ...before]);
    expect(statSync(home.file).mode & 0o777).toBe(0o600);
    expect(await doctor(home)).toMatch(/no row needs key \w{8}/);

    const retired = await runCli(['master-key', 'retire'], home.env());
    expect([retired.code, retired.err]).toEqual([0, expect.stringContaining('1 earlier keys were removed')]);
    expect(keysOf(home)).toHaveLength(1);
    expect(keysOf(home)).not.toEqual(before);
    expect(await works(mcp())).toBe('works');
    await gatehouse.stop();
    await using again = await startCli(home.env());
    expect(await works(mcp().replace(gatehouse.url, again.url))).toBe('works');
  });

  test('a second call finishes the rotation of the master key after a kill of the first', async () => {
    await using home = await freshHome(kind);
    await (await startDemonstration(home)).gatehouse.stop();
    const child = spawn(process.execPath, [BIN, 'master-key', 'rotate', '--one-machine'], {
      env: home.env(),
    });
    await until(() => keysOf(home).length === 2);
    child.kill('SIGKILL');
    await once(child, 'close');
    const between = keysOf(home);
    expect(await doctor(home)).toContain('Run: gatehouse master-key rotate');
    expect(await rotate(home)).toMatchObject({ code: 0, added: false, left: 0 });
    expect(keysOf(home)).toEqual(between);
  });

  test(
    'no request fails while 50 rotations are killed at random moments',
    { timeout: PROOF_MS },
    async ({ skip }) => {
      skip(process.env['PROOF'] !== 'full', 'this is a proof: npm run proof:keys');
      await using home = await freshHome(kind);
      const { gatehouse, mcp } = await startDemonstration(home);
      await using _ = gatehouse;
      const requests: Promise<string>[] = [];
      // Both open sealed values: the credential, and the token in the access URL. The sandbox takes few calls a second.
      const loads = [
        setInterval(() => requests.push(works(mcp())), SECOND / CALLS_A_SECOND),
        setInterval(() => requests.push(reads(home, gatehouse)), SECOND / READS_A_SECOND),
      ];
      const began = performance.now();
      await rotate(home);
      const rotationMs = performance.now() - began;
      for (let round = 0; round < KILLS; round++) {
        const child = spawn(process.execPath, [BIN, 'master-key', 'rotate', '--one-machine'], {
          env: home.env(),
        });
        const ended = once(child, 'close');
        await Promise.race([ended, setTimeout(Math.random() * rotationMs)]);
        child.kill('SIGKILL');
        await ended;
      }
      expect(await rotate(home)).toMatchObject({ code: 0, left: 0, lost: [] });
      expect((await runCli(['master-key', 'retire'], home.env())).code).toBe(0);
      for (const load of loads) clearInterval(load);
      expect(keysOf(home)).toHaveLength(1);
      expect(requests.length).toBeGreaterThan(KILLS);
      expect(new Set(await Promise.all(requests))).toEqual(new Set(['works']));
      process.stdout.write(`${kind}: ${KILLS} kills, ${requests.length} requests, 0 failed\n`);
    },
  );

  test('a row that no key opens is named, and the others are sealed again', async () => {
    await using home = await freshHome(kind);
    await (await startDemonstration(home)).gatehouse.stop();
    await using store = await openStore(home.database);
    const { token_sealed: box, server_id: serverId } = await store.db
      .selectFrom('servers')
      .select(['token_sealed', 'server_id'])
      .executeTakeFirstOrThrow();
    // The first character of the wrapped data key.
    const altered = box.replace(/^(v1\.\w+\.)(.)/, (_, head, one) => `${head}${one === 'A' ? 'B' : 'A'}`);
    await store.db.updateTable('servers').set({ token_sealed: altered }).execute();
    const { code, left, lost, resealed } = await rotate(home);
    expect({ code, left, lost }).toEqual({
      code: 1,
      left: 1,
      lost: [
        { column: 'servers.token_sealed', row: serverId, reason: expect.stringContaining('does not open') },
      ],
    });
    expect(resealed).toBeGreaterThan(1);
    const retired = await runCli(['master-key', 'retire'], home.env());
    expect([retired.code, retired.err]).toEqual([1, expect.stringContaining('1 rows are sealed')]);
  });

  test('every column with a sealed name is in the list, with its primary key', async () => {
    await using home = await freshHome(kind);
    await runCli(['migrate'], home.env());
    await using store = await openStore(home.database);
    const tables = await store.db.introspection.getTables();
    const sealed = tables.flatMap(({ name, columns }) =>
      columns.filter((column) => /(^|_)sealed$/.test(column.name)).map((column) => `${name}.${column.name}`),
    );
    expect(Object.keys(SEALED_COLUMNS)).toEqual(expect.arrayContaining(sealed));
    for (const { table, column, key } of Object.values(SEALED_COLUMNS)) {
      const found = tables.find(({ name }) => name === table)?.columns.map(({ name }) => name) ?? [];
      expect(found).toEqual(expect.arrayContaining([column, ...key]));
    }
  });
});

test('a retirement waits for a command that changes the file, and counts by its keys', async () => {
  await using home = await freshHome('sqlite');
  await (await startDemonstration(home)).gatehouse.stop();
  const before = keysOf(home);
  await rotate(home);
  const child = spawn(process.execPath, [BIN, 'master-key', 'retire'], { env: home.env() });
  let err = '';
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const closed = once(child, 'close');
  await changeMasterKeys(home.file, async (keys) => {
    await until(() => filesOf(child).includes(`${home.file}.lock`));
    return [newMasterKey(), ...keys];
  });
  expect([(await closed)[0], err]).toEqual([
    1,
    expect.stringContaining('rows are sealed with an earlier master key'),
  ]);
  expect(keysOf(home)).toHaveLength(3);
  expect(keysOf(home).at(-1)).toBe(before[0]);
});

test('on PostgreSQL a new key in a file asks for the other machines first', async () => {
  await using home = await freshHome('postgres');
  await (await startDemonstration(home)).gatehouse.stop();
  const before = keysOf(home);
  const { code, err } = await runCli(['master-key', 'rotate'], home.env());
  expect([code, err]).toEqual([1, expect.stringContaining('--one-machine')]);
  expect(keysOf(home)).toEqual(before);
});

test('keys of the environment are rotated in the order that the operator sets', async () => {
  await using home = await freshHome('sqlite');
  await (await startDemonstration(home)).gatehouse.stop();
  const [old = ''] = keysOf(home);
  const fresh = Buffer.alloc(32, 'a key').toString('base64');
  const run = (keys: string, ...args: string[]) =>
    runCli(['master-key', ...args], home.env({ GATEHOUSE_MASTER_KEY: keys }));
  expect((await run(old, 'rotate')).err).toContain('GATEHOUSE_MASTER_KEY has one key');
  expect((await run(`${fresh},${old}`, 'retire')).err).toContain('Run: gatehouse master-key rotate');
  const done = await run(`${fresh},${old}`, 'rotate');
  expect([done.code, done.err]).toEqual([0, expect.stringContaining('No row needs an earlier key')]);
  expect(await doctor(home, { GATEHOUSE_MASTER_KEY: fresh })).toMatch(
    /sealed data\s+\d+ rows with key \w{8}\n/,
  );
  expect(await doctor(home, { GATEHOUSE_MASTER_KEY: old })).toMatch(/needs master key \w{8}/);
});
