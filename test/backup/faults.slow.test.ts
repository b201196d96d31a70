import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openStore } from '../../src/store/open-database.ts';
import { faultsOf, fill, newPlace, serveAt, type Contents, type Place } from '../support/backup.ts';
import { BIN, runCli } from '../support/cli.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { until } from '../support/until.ts';

let source: Place;
let contents: Contents;
let plain: string;
const folder = () => join(source.home, 'backups');
const at = (name: string) => join(folder(), name);

beforeAll(async () => {
  source = await newPlace('sqlite');
  mkdirSync(folder());
  await using service = await serveAt(source);
  contents = await fill(service);
  await service.stop();
  plain = at('plain');
  const { code, err } = await runCli(['backup', plain], source.env);
  if (code !== 0) throw new Error(err);
});

afterAll(() => source[Symbol.asyncDispose]());

/** Returns the entries of a home without the cache, which every command makes. */
function entriesOf(home: string): string[] {
  return readdirSync(home).filter((name) => name !== 'cache');
}

/** Returns whether the store has statistics about its tables. */
async function hasStatistics({ env }: Place): Promise<boolean> {
  await using store = await openStore(readConfig(env).database);
  const counted =
    store.kind === 'sqlite'
      ? sql`select 1 from sqlite_stat1 where tbl = 'users'`
      : sql`select 1 from pg_stats where tablename = 'users'`;
  return (await counted.execute(store.db)).rows.length > 0;
}

/** Restores a file, and returns how it ended and what the new home holds. */
async function tryRestore(file: string, args: string[] = [], place?: Place) {
  await using fresh = await newPlace('sqlite');
  const { env, home } = place ?? fresh;
  const { code, err } = await runCli(['restore', file, ...args], env);
  return { code, err, left: entriesOf(home) };
}

function altered(name: string, change: (bytes: Buffer) => Buffer, file = plain): string {
  writeFileSync(at(name), change(readFileSync(file)));
  return at(name);
}

test('a backup is one file of mode 0600 that says what it opens', async () => {
  expect(statSync(plain).mode & 0o777).toBe(0o600);
  const { code, out, err } = await runCli(['backup', at('second')], source.env);
  expect([code, out]).toEqual([0, `${at('second')}\n`]);
  expect(err).toMatch(
    /^This file is not encrypted: .* every connected account\..*\n\d+ rows of the sqlite store/,
  );
  expect(readdirSync(folder()).filter((name) => name.includes('draft'))).toEqual([]);
});

test('a backup replaces no file', async () => {
  for (const file of [plain, join(source.home, 'gatehouse.db')]) {
    const before = readFileSync(file);
    const { code, err } = await runCli(['backup', file], source.env);
    expect([code, err]).toEqual([1, `gatehouse: ${file} exists. Choose another name, or remove it.\n`]);
    expect(readFileSync(file).equals(before)).toBe(true);
  }
});

test('a cut backup restores nothing', async () => {
  const { length } = readFileSync(plain);
  for (const share of [0, 0.01, 0.5, 0.99]) {
    const cut = altered('cut', (bytes) => bytes.subarray(0, Math.floor(length * share)));
    const { code, err, left } = await tryRestore(cut);
    expect([code, left]).toEqual([1, []]);
    expect(err).toMatch(/cut or was altered|not a backup/);
  }
  const lines = gunzipSync(readFileSync(plain)).toString().trimEnd().split('\n');
  const short = altered('short', () => gzipSync(`${lines.slice(0, -1).join('\n')}\n`));
  const { code, err, left } = await tryRestore(short);
  expect([code, left]).toEqual([1, []]);
  expect(err).toContain('The backup is cut or was altered');
});

test('an altered backup restores nothing', async () => {
  const change = (text: string) =>
    gzipSync(gunzipSync(readFileSync(plain)).toString().replace(text, `${text}x`));
  for (const bytes of [change('"ada'), change('sandbox')]) {
    const { code, err, left } = await tryRestore(altered('changed', () => bytes));
    expect([code, left]).toEqual([1, []]);
    expect(err).toContain('The backup is cut or was altered');
  }
  const other = await tryRestore(altered('text', () => Buffer.from('{"a":1}\n')));
  expect([other.code, other.left]).toEqual([1, []]);
  expect(other.err).toContain('The file is not a backup of Gatehouse.');
});

test('a backup of a newer release is refused in words', async () => {
  const newer = altered('newer', (bytes) =>
    gzipSync(
      gunzipSync(bytes)
        .toString()
        .replace(/"schemaVersion":\d+/, '"schemaVersion":9999'),
    ),
  );
  const { code, err, left } = await tryRestore(newer);
  expect([code, left]).toEqual([1, []]);
  expect(err).toContain('at schema version 9999');
});

describe('encrypted', () => {
  test('a backup encrypted by a passphrase opens with that passphrase only', async () => {
    writeFileSync(at('right'), 'correct horse\n');
    writeFileSync(at('wrong'), 'battery staple\n');
    const made = await runCli(['backup', at('sealed'), '--passphrase-file', at('right')], source.env);
    expect(made.code).toBe(0);
    expect(made.err).not.toContain('not encrypted');
    const wrong = await tryRestore(at('sealed'), ['--passphrase-file', at('wrong')]);
    expect([wrong.code, wrong.left]).toEqual([1, []]);
    expect(wrong.err).toContain('does not open with this passphrase');
    const none = await tryRestore(at('sealed'));
    expect([none.code, none.left]).toEqual([1, []]);
    expect(none.err).toContain('The backup is encrypted.');
    const cut = altered('sealed-cut', (bytes) => bytes.subarray(0, -70_000), at('sealed'));
    const broken = await tryRestore(cut, ['--passphrase-file', at('right')]);
    expect([broken.code, broken.left]).toEqual([1, []]);
    expect(broken.err).toContain('The backup is cut or was altered');
    const right = await tryRestore(at('sealed'), ['--passphrase-file', at('right')]);
    expect([right.code, right.left.toSorted()]).toEqual([0, ['gatehouse.db', 'master.key']]);
  });

  test('a backup encrypted for a public key opens with the private key only', async () => {
    const [mine, other] = [await generateX25519Identity(), await generateX25519Identity()];
    writeFileSync(at('mine.txt'), `# created by a test\n${mine}\n`);
    writeFileSync(at('other.txt'), `${other}\n`);
    const recipient = await identityToRecipient(mine);
    expect((await runCli(['backup', at('public'), '--recipient', recipient], source.env)).code).toBe(0);
    const wrong = await tryRestore(at('public'), ['--identity-file', at('other.txt')]);
    expect([wrong.code, wrong.left]).toEqual([1, []]);
    const right = await tryRestore(at('public'), ['--identity-file', at('mine.txt')]);
    expect(right.code).toBe(0);
    const none = await runCli(['backup', at('none'), '--recipient', 'age1no'], source.env);
    expect([none.code, existsSync(at('none'))]).toEqual([1, false]);
    expect(none.err).toContain('--recipient must be the public key of age-keygen');
  });

  const age = spawnSync('age', ['--version']).status === 0;
  test.runIf(age)('the program age opens a backup that is encrypted for a public key', async () => {
    const mine = await generateX25519Identity();
    writeFileSync(at('age.txt'), `${mine}\n`);
    const recipient = await identityToRecipient(mine);
    expect((await runCli(['backup', at('for-age'), '--recipient', recipient], source.env)).code).toBe(0);
    const { stdout } = spawnSync('age', ['--decrypt', '-i', at('age.txt'), at('for-age')], {
      maxBuffer: 1e9,
    });
    expect(gunzipSync(stdout).toString()).toMatch(/^{"gatehouse":"store"/);
  });
});

for (const kind of STORE_KINDS) {
  test(`on ${kind} a restore into a used place is refused and changes nothing`, async () => {
    await using place = await newPlace(kind);
    expect((await runCli(['restore', plain], place.env)).code).toBe(0);
    const again = await runCli(['restore', plain], place.env);
    expect(again.code).toBe(1);
    expect(again.err).toContain(
      kind === 'sqlite' ? 'is not empty: it holds gatehouse.db' : 'it has the table',
    );
    await using service = await serveAt(place);
    expect(await faultsOf(service, contents)).toEqual([]);
  });

  test(`on ${kind} a failed restore leaves the place as it was`, async () => {
    await using place = await newPlace(kind);
    const cut = altered('cut-late', (bytes) => bytes.subarray(0, -100));
    expect((await runCli(['restore', cut], place.env)).code).toBe(1);
    expect(entriesOf(place.home)).toEqual([]);
    expect((await runCli(['restore', plain], place.env)).code).toBe(0);
  });

  test(`on ${kind} an exported folder can be imported`, async () => {
    await using place = await newPlace(kind);
    const name = at(`exported-${kind}`);
    expect((await runCli(['export', name], source.env)).code).toBe(0);
    expect((await runCli(['import', name], place.env)).code).toBe(0);
    expect(await hasStatistics(place)).toBe(true);
    await using service = await serveAt(place);
    expect(await faultsOf(service, contents)).toEqual([]);
  });
}

test('a backup without the master key needs that key for the restore', async () => {
  const bare = at('bare');
  expect((await runCli(['backup', bare, '--without-keys'], source.env)).code).toBe(0);
  const key = readFileSync(join(source.home, 'master.key'), 'utf8').trim();
  expect(gunzipSync(readFileSync(bare)).toString()).not.toContain(key);

  const none = await tryRestore(bare);
  expect([none.code, none.left]).toEqual([1, []]);
  expect(none.err).toContain('The backup holds no master key.');
  await using place = await newPlace('sqlite');
  const wrong = Buffer.alloc(32, 'a key').toString('base64');
  const refused = await runCli(['restore', bare], { ...place.env, GATEHOUSE_MASTER_KEY: wrong });
  expect([refused.code, entriesOf(place.home)]).toEqual([1, []]);
  expect(refused.err).toContain('GATEHOUSE_MASTER_KEY does not open this store');
  const restored = await runCli(['restore', bare], { ...place.env, GATEHOUSE_MASTER_KEY: key });
  expect([restored.code, entriesOf(place.home)]).toEqual([0, ['gatehouse.db']]);
});

test('a store of another master key gives no backup', async () => {
  const GATEHOUSE_MASTER_KEY = Buffer.alloc(32, 'a key').toString('base64');
  const { code, err } = await runCli(['backup', at('unopened')], { ...source.env, GATEHOUSE_MASTER_KEY });
  expect([code, existsSync(at('unopened'))]).toEqual([1, false]);
  expect(err).toContain('GATEHOUSE_MASTER_KEY does not open this store');
});

test('a place without a store gives no backup', async () => {
  await using place = await newPlace('sqlite');
  const { code, err } = await runCli(['backup', at('nothing')], place.env);
  expect([code, existsSync(at('nothing')), entriesOf(place.home)]).toEqual([1, false, []]);
  expect(err).toContain('There is no Gatehouse at');
});

test.runIf(process.platform === 'linux')('a full disk leaves no file of a backup or a restore', async () => {
  const limited = ['-c', 'ulimit -f 64 && exec "$0" "$@"', process.execPath, BIN, 'backup', at('large')];
  const { status, stderr } = spawnSync('bash', limited, { env: source.env });
  expect([status, readdirSync(folder()).filter((name) => name.startsWith('large'))]).toEqual([1, []]);
  expect(String(stderr)).toContain(`Cannot write the backup ${at('large')}: EFBIG`);
  await using place = await newPlace('sqlite');
  const preload = resolve(import.meta.dirname, '../support/full-disk.ts');
  const full = await runCli(['restore', plain], { ...place.env, NODE_OPTIONS: `--import=${preload}` });
  expect([full.code, entriesOf(place.home)]).toEqual([1, []]);
  expect(full.err).toContain('disk is full');
});

test('a killed restore leaves no store, and the next one works', async () => {
  await using place = await newPlace('sqlite');
  const child = spawn(process.execPath, [BIN, 'restore', plain], { env: place.env });
  const closed = once(child, 'close');
  await until(() => entriesOf(place.home).length > 0 || child.exitCode !== null);
  child.kill('SIGKILL');
  await closed;
  // The kill may come after the end.
  const whole = existsSync(join(place.home, 'gatehouse.db'));
  for (const name of readdirSync(place.home).filter((one) => one.includes('.draft-')))
    rmSync(join(place.home, name));
  expect((await runCli(['restore', plain], place.env)).code).toBe(whole ? 1 : 0);
  await using service = await serveAt(place);
  expect(await faultsOf(service, contents)).toEqual([]);
});
