import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const MINUTE = 60_000;
const run = promisify(execFile);

export const UNREACHABLE =
  "npm's registry cannot be reached, so there is no real third party to test against";

/** A program of the npm registry, of one version. */
export interface Program {
  name: string;
  version: string;
  packages: string[];
  /** What its folder holds beside the packages, by path. */
  files: Record<string, string>;
}

/**
 * The folder of a program, installed from npm where it is not yet: below XDG_CACHE_HOME, else below the temporary
 * folder. It takes a minute or two, and the next run finds it. Undefined when npm's registry cannot be reached.
 * @throws Error when the registry answers and the installation fails all the same, and on a build server in any case.
 */
export async function install({ name, version, packages, files }: Program): Promise<string | undefined> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? tmpdir(), 'gatehouse-real');
  const folder = join(cache, `${name}-${version}`);
  const write = (into: string) => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(into, file, '..'), { recursive: true });
      writeFileSync(join(into, file), text);
    }
  };
  if (existsSync(folder)) {
    write(folder);
    return folder;
  }
  if (!(await registryAnswers(`${packages[0] ?? name}@${version}`))) {
    if (process.env['CI']) throw new Error(UNREACHABLE);
    return undefined;
  }

  mkdirSync(cache, { recursive: true });
  // Whole or not there: a run that was cut off, or another one at the same time, leaves no half of it.
  const fresh = mkdtempSync(join(cache, 'installing-'));
  try {
    const dependencies = Object.fromEntries(packages.map((one) => [one, version]));
    writeFileSync(
      join(fresh, 'package.json'),
      JSON.stringify({ name: 'program', private: true, dependencies }),
    );
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: fresh,
      maxBuffer: 1e8,
      timeout: 6 * MINUTE,
    });
    write(fresh);
    if (!existsSync(folder)) renameSync(fresh, folder);
    return folder;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function registryAnswers(spec: string): Promise<boolean> {
  const flags = ['--fetch-retries=1', '--fetch-timeout=20000', '--prefer-online'];
  return run('npm', ['view', spec, 'version', ...flags], { cwd: tmpdir(), timeout: MINUTE }).then(
    ({ stdout }) => stdout.trim() !== '',
    () => false,
  );
}
