import { join } from 'node:path';
import { run } from '../packaging/run.ts';
import { installPackages } from '../support/packages.ts';
import { ROOT } from './lock.ts';

/**
 * Writes the bill of materials of the published package to `file`, in CycloneDX as JSON: the packages of which code is in
 * the build, and those that an installation adds. It comes of the lock file alone, so two runs write the same text.
 */
export async function writeBillOfMaterials(file: string): Promise<void> {
  const programs = await installPackages(join(import.meta.dirname, 'programs'));
  const args = [
    '--omit',
    'dev',
    '--omit',
    'optional',
    '--package-lock-only',
    '--output-reproducible',
    '--flatten-components',
  ];
  const program = join(programs, 'node_modules/.bin/cyclonedx-npm');
  await run(program, [...args, '--mc-type', 'application', '--output-file', file], { cwd: ROOT });
}
