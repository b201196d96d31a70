import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const VERSION = '2.21.2';
const MINUTE = 60_000;
const run = promisify(execFile);

const CONFIG = `const { defineConfig } = require('@medusajs/framework/utils');
const cors = 'http://127.0.0.1';
const http = { storeCors: cors, adminCors: cors, authCors: cors, jwtSecret: 'test', cookieSecret: 'test' };
module.exports = defineConfig({ projectConfig: { databaseUrl: process.env.DATABASE_URL, http }, admin: { disable: true } });
`;

/**
 * The folder of a Medusa of the pinned version, installed from npm where it is not yet: below XDG_CACHE_HOME, else below the
 * temporary folder. It takes a minute or two, and the next run finds it. Undefined when npm's registry cannot be reached.
 * @throws Error when the registry answers and the installation fails all the same.
 */
export async function installMedusa(): Promise<string | undefined> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? tmpdir(), 'gatehouse-real');
  const folder = join(cache, `medusa-${VERSION}`);
  if (existsSync(join(folder, 'medusa-config.js'))) return folder;
  if (!(await registryAnswers())) return undefined;

  mkdirSync(cache, { recursive: true });
  // Whole or not there: a run that was cut off, or another one at the same time, leaves no half of it.
  const fresh = mkdtempSync(join(cache, 'installing-'));
  try {
    const dependencies = Object.fromEntries(
      ['cli', 'framework', 'medusa'].map((name) => [`@medusajs/${name}`, VERSION]),
    );
    writeFileSync(join(fresh, 'package.json'), JSON.stringify({ name: 'shop', private: true, dependencies }));
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: fresh,
      maxBuffer: 1e8,
      timeout: 6 * MINUTE,
    });
    mkdirSync(join(fresh, 'src'));
    writeFileSync(join(fresh, 'medusa-config.js'), CONFIG);
    if (!existsSync(folder)) renameSync(fresh, folder);
    return folder;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function registryAnswers(): Promise<boolean> {
  const flags = ['--fetch-retries=1', '--fetch-timeout=20000', '--prefer-online'];
  return run('npm', ['view', `@medusajs/medusa@${VERSION}`, 'version', ...flags], {
    cwd: tmpdir(),
    timeout: MINUTE,
  }).then(
    ({ stdout }) => stdout.trim() !== '',
    () => false,
  );
}
