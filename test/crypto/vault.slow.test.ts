import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBackup } from '../../src/backup/open-backup.ts';
import { restore } from '../../src/backup/restore.ts';
import { writeBackup } from '../../src/backup/write-backup.ts';
import { checkMasterKey, checkStore } from '../../src/cli/doctor/doctor-store.ts';
import { readConfig, type Config } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { createLog } from '../../src/log.ts';
import { ensureKeys } from '../../src/identity/api-keys.ts';
import { openStore } from '../../src/store/open-database.ts';
import { runCli, cliEnv } from '../support/cli.ts';
import { lendKept } from '../support/kept.ts';
import { startService } from '../support/service.ts';
import { freshDatabase, STORE_KINDS, type StoreKind } from '../support/stores.ts';
import { startVault, type FakeVault } from '../support/vault.ts';

let vault: FakeVault;
beforeAll(async () => {
  vault = await startVault();
});
afterAll(() => vault[Symbol.asyncDispose]());

async function newHome(kind: StoreKind) {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-vault-'));
  lendKept(home);
  const fresh = kind === 'postgres' ? await freshDatabase('postgres', { empty: true }) : undefined;
  const url: Record<string, string> =
    fresh?.database.kind === 'postgres' ? { DATABASE_URL: fresh.database.url } : {};
  return {
    home,
    url,
    config: (env: Record<string, string>) => readConfig({ GATEHOUSE_HOME: home, ...url, ...env }),
    async [Symbol.asyncDispose]() {
      await fresh?.remove();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Does what a start does before it listens. Returns the name of the sealing key and the lines of the log. */
async function start(config: Config): Promise<{ keyId: string; logged: string[] }> {
  const logged: string[] = [];
  const log = createLog('info', { write: (line) => void logged.push(line) });
  const context = await openContext(config, { log });
  const { keyId } = context.keys;
  await context.close();
  return { keyId, logged };
}

async function wrappedIn({ database }: Config): Promise<string[]> {
  await using store = await openStore(database);
  const rows = await store.db.selectFrom('wrapped_keys').select('wrapped').orderBy('position').execute();
  return rows.map(({ wrapped }) => wrapped);
}

describe.each(STORE_KINDS)('a master key that Vault wraps, on %s', (kind) => {
  test('a Vault-wrapped master key is made by one of several first starts', async () => {
    await using home = await newHome(kind);
    const config = home.config(vault.env);
    const started = await Promise.all([start(config), start(config), start(config)]);
    expect(new Set(started.map(({ keyId }) => keyId)).size).toBe(1);
    expect((await start(config)).keyId).toBe(started[0]?.keyId);
    expect(existsSync(join(home.home, 'master.key'))).toBe(false);
    expect(await wrappedIn(config)).toEqual([expect.stringMatching(`^vault:v${vault.versions.length}:`)]);
  });

  test('a master key is moved from a file to Vault, wrapped again, and moved back', async () => {
    await using home = await newHome(kind);
    const file = join(home.home, 'master.key');
    const { keyId } = await start(home.config({}));
    const config = home.config(vault.env);
    await expect(start(config)).rejects.toThrow('Run: gatehouse master-key move --from');
    const run = (...args: string[]) =>
      runCli(['master-key', ...args], cliEnv(home.home, { ...home.url, ...vault.env }));
    const moved = await run('move', '--from', file, '--json');
    expect(JSON.parse(moved.out)).toEqual({ file, keyIds: [keyId] });
    rmSync(file);
    expect((await start(config)).keyId).toBe(keyId);

    vault.rotate();
    // The commands work with a Gatehouse that a start made.
    const context = await openContext(config, { log: createLog('silent') });
    await ensureKeys(context, { development: undefined, production: undefined });
    await context.close();
    const rotated = await run('rotate', '--json');
    expect(JSON.parse(rotated.out)).toMatchObject({ keyId, rewrapped: 1, left: 0 });
    expect(await wrappedIn(config)).toEqual([expect.stringMatching(`^vault:v${vault.versions.length}:`)]);

    const copy = join(home.home, 'copy.key');
    expect((await run('move', '--to', copy)).err).toContain(`GATEHOUSE_MASTER_KEY_FILE=${copy}`);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect((await start(home.config({ GATEHOUSE_MASTER_KEY_FILE: copy }))).keyId).toBe(keyId);
  });

  test('a Vault-wrapped master key stays wrapped in a backup, and a restore needs Vault', async () => {
    await using home = await newHome(kind);
    await using target = await newHome(kind);
    const config = home.config(vault.env);
    const { keyId } = await start(config);
    const file = join(home.home, 'one.backup');
    const now = Date.now();
    const written = await writeBackup(config, file, {
      release: '1',
      now,
      withKeys: true,
      zip: false,
      onTable: () => {},
    });
    expect(written).toMatchObject({ withKeys: false, isWrapped: true });
    expect(readFileSync(file, 'utf8')).not.toContain('masterKeys');
    const into = async (env: Record<string, string>) =>
      restore(target.config(env), await openBackup(file, undefined), { now, onTable: () => {} });
    await expect(into({})).rejects.toThrow('GATEHOUSE_MASTER_KEY=vault:<mount>/<key>');
    await into(vault.env);
    expect((await start(target.config(vault.env))).keyId).toBe(keyId);
  });

  test('a master key in a plain backup is wrapped by Vault at the restore', async () => {
    await using home = await newHome(kind);
    await using target = await newHome(kind);
    const { keyId } = await start(home.config({}));
    const file = join(home.home, 'one.backup');
    const options = { release: '1', now: Date.now(), withKeys: true, zip: true, onTable: () => {} };
    await writeBackup(home.config({}), file, options);
    await restore(target.config(vault.env), await openBackup(file, undefined), options);
    expect(existsSync(join(target.home, 'master.key'))).toBe(false);
    expect((await start(target.config(vault.env))).keyId).toBe(keyId);
  });
});

describe('Vault', () => {
  test('Vault is asked once at the start, and nothing fails when it is gone', async () => {
    const own = await startVault();
    await using service = await startService({ env: own.env });
    const { length } = own.paths;
    await own[Symbol.asyncDispose]();
    const user = await service.call('POST', '/users', { body: { username: 'ada' } });
    const userId = user.text('userId');
    const made = await service.call('POST', `/users/${userId}/credentials`, {
      body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_1' } },
      headers: { 'x-svc-userid': userId },
    });
    expect([made.status, own.paths.length]).toEqual([201, length]);
    expect(own.paths).toEqual(['/v1/transit/encrypt/gatehouse', '/v1/transit/decrypt/gatehouse']);
  });
});

describe('a master key that Vault wraps', () => {
  test('a start waits while Vault is sealed for a moment', async () => {
    await using home = await newHome('sqlite');
    vault.busyFor = 1;
    const { logged } = await start(home.config(vault.env));
    expect(logged.join('')).toContain('key provider is not ready, will retry');
  });

  test.each([
    [
      'gone',
      { VAULT_ADDR: 'http://127.0.0.1:9' },
      'Vault was not reached: 127.0.0.1:9 refused the connection',
    ],
    ['refused a token', { VAULT_TOKEN: 'hvs.other' }, 'a policy with "update" on transit/encrypt/gatehouse'],
    ['without the engine', { GATEHOUSE_MASTER_KEY: 'vault:kms/gatehouse' }, 'vault secrets enable -path=kms'],
    ['without the key', { GATEHOUSE_MASTER_KEY: 'vault:transit/other' }, 'vault read transit/keys/other'],
    ['another program', { VAULT_ADDR: 'PAGE' }, 'did not answer as Vault does'],
  ])('%s is named by doctor with what helps', async (_what, env, message) => {
    await using page = await startPage();
    await using home = await newHome('sqlite');
    const more = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, value === 'PAGE' ? page.address : value]),
    );
    const config = home.config({ ...vault.env, ...more });
    expect(await checkMasterKey(config)).toMatchObject({
      state: 'fail',
      found: expect.stringContaining(message),
    });
  });

  test('doctor reports that Vault is sealed, without a token in the message', async () => {
    await using home = await newHome('sqlite');
    await using own = await startVault();
    own.isSealed = true;
    const { found } = await checkMasterKey(home.config(own.env));
    expect(found).toContain('503 (Vault is sealed)');
    expect(found).not.toContain(own.token);
  });

  test('doctor names Vault as the provider of the master key', async () => {
    await using home = await newHome('sqlite');
    const config = home.config(vault.env);
    await start(config);
    expect(await checkMasterKey(config)).toMatchObject({
      state: 'ok',
      found: `the key transit/gatehouse of Vault at ${vault.address} wraps and unwraps keys`,
    });
    expect((await checkStore(config)).filter(({ state }) => state !== 'ok')).toEqual([]);
  });

  test('the login to Vault takes an AppRole in a namespace, or a token of a file', async () => {
    await using home = await newHome('sqlite');
    await using own = await startVault();
    own.namespace = 'team/a';
    const { GATEHOUSE_MASTER_KEY = '', VAULT_ADDR = '' } = own.env;
    const base = { GATEHOUSE_MASTER_KEY, VAULT_ADDR, VAULT_NAMESPACE: 'team/a' };
    const role = { ...base, VAULT_ROLE_ID: own.roleId, VAULT_SECRET_ID: own.secretId };
    const { keyId } = await start(home.config(role));
    expect(own.paths[0]).toBe('/v1/auth/approle/login');
    const file = join(home.home, 'token');
    writeFileSync(file, `${own.token}\n`);
    expect((await start(home.config({ ...base, VAULT_TOKEN_FILE: file }))).keyId).toBe(keyId);
    const wrong = home.config({ ...role, VAULT_SECRET_ID: 'other' });
    expect((await checkMasterKey(wrong)).found).toContain('Check VAULT_ROLE_ID and VAULT_SECRET_ID');
  });

  test('a Vault-wrapped master key needs an address and a login', () => {
    expect(() => readConfig({ GATEHOUSE_MASTER_KEY: 'vault:transit/gatehouse' })).toThrow(
      /VAULT_ADDR: is required.*\nVAULT_TOKEN: set this/,
    );
    expect(() => readConfig({ ...vault.env, GATEHOUSE_MASTER_KEY: 'vault:gatehouse' })).toThrow(
      'write vault:<mount>/<key>',
    );
  });
});

/** Starts a server that answers everything with a page. */
async function startPage() {
  const server = createServer((_req, res) => void res.end('<p>Hello</p>'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('no port');
  return {
    address: `http://127.0.0.1:${at.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
