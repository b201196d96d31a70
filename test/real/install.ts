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
  /** Further packages with versions of their own. */
  beside?: Record<string, string>;
  /** Contents of its folder next to the packages, by path. */
  files: Record<string, string>;
}

/**
 * Returns the folder of a program, and installs it from npm if it is missing. It is below XDG_CACHE_HOME, else below
 * the temporary folder. The installation takes a minute or two, and later runs reuse it. Undefined when npm's registry
 * cannot be reached.
 * @throws Error when the registry answers and the installation still fails, and on a build server in any case.
 */
export async function install({
  name,
  version,
  packages,
  beside = {},
  files,
}: Program): Promise<string | undefined> {
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
  // The rename puts the whole folder in place at once, so an interrupted or concurrent run leaves no half of it.
  const fresh = mkdtempSync(join(cache, 'installing-'));
  try {
    const dependencies = { ...Object.fromEntries(packages.map((one) => [one, version])), ...beside };
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
