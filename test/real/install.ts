import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { areInstalled, installPackages } from '../support/packages.ts';

const MINUTE = 60_000;
const run = promisify(execFile);

export const UNREACHABLE =
  "npm's registry cannot be reached, so there is no real third party to test against";

/**
 * Returns the folder of a program of programs/ with its packages, and installs them from npm if they are missing.
 * Undefined when npm's registry cannot be reached.
 * @throws Error when the registry answers and the installation still fails, and on a build server in any case.
 */
export async function install(program: string): Promise<string | undefined> {
  const source = join(import.meta.dirname, 'programs', program);
  if (!areInstalled(source) && !(await registryAnswers(source))) {
    if (process.env['CI']) throw new Error(UNREACHABLE);
    return undefined;
  }
  return installPackages(source);
}

/** Returns whether the registry answers to a question about the program's first package. */
async function registryAnswers(source: string): Promise<boolean> {
  const { dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')));
  const [[name, version] = []] = Object.entries(dependencies);
  const flags = ['--fetch-retries=1', '--fetch-timeout=20000', '--prefer-online'];
  return run('npm', ['view', `${name}@${version}`, 'version', ...flags], {
    cwd: tmpdir(),
    timeout: MINUTE,
  }).then(
    ({ stdout }) => stdout.trim() !== '',
    () => false,
  );
}
