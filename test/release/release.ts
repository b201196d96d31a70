import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { SERVER_INFO } from '../../src/mcp/protocol/initialize.ts';
import { packClone } from '../packaging/pack.ts';
import { run } from '../packaging/run.ts';
import { ROOT } from './lock.ts';
import { faultsOf, publishCommand } from './release-checks.ts';
import { writeBillOfMaterials } from './sbom.ts';

/*
 * npm run release [-- --dry-run] [-- --skip-check]: makes a release of the last commit in .cache/release-<version>. It
 * publishes nothing, and prints the commands that do.
 */

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    'skip-check': { type: 'boolean', default: false },
  },
});
await release();

async function release(): Promise<void> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  const commit = (await git('rev-parse', 'HEAD')).trim();
  const faults = faultsOf({
    version,
    changelog: readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
    servedVersion: SERVER_INFO.version,
    tags: (await git('tag', '--list')).split('\n'),
    status: await git('status', '--porcelain'),
  });
  if (faults.length > 0) {
    process.stderr.write(`${['This is no release yet:', ...faults].join('\n- ')}\n`);
    process.exitCode = 1;
    return;
  }
  if (values['skip-check']) say('npm run check was skipped');
  else {
    say('running npm run check, which takes some minutes');
    await run('npm', ['run', 'check'], { cwd: ROOT });
  }
  const folder = join(ROOT, `.cache/release-${version}`);
  const files = await writeFiles(folder, version);
  say(`${folder} has ${files.map((file) => basename(file)).join(', ')}`);
  // The check takes minutes, and may change files; another commit may come in that time.
  if ((await git('rev-parse', 'HEAD')).trim() !== commit || (await git('status', '--porcelain')) !== '')
    throw new Error('The repository changed while the release was made. Run it again.');
  await tag(version);
  say(`publish it: ${publishCommand(version, files[0])} && git push origin v${version}`);
}

/** Packs the last commit twice, and writes the package, its bill of materials and their checksums. */
async function writeFiles(folder: string, version: string): Promise<[string, ...string[]]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const clones = mkdtempSync(join(ROOT, '.cache/packing-'));
  try {
    say('packing twice');
    const one = await packClone(join(clones, 'one'));
    const again = await packClone(join(clones, 'again'));
    if (one.integrity !== again.integrity)
      throw new Error('Two builds of the last commit differ. npm run proof:package names the files.');
    const tarball = join(folder, basename(one.path));
    copyFileSync(one.path, tarball);
    const bom = join(folder, `gatehouse-${version}.cdx.json`);
    await writeBillOfMaterials(bom);
    const sums = join(folder, 'SHA256SUMS');
    writeFileSync(sums, [tarball, bom].map((file) => `${sha256(file)}  ${basename(file)}\n`).join(''));
    return [tarball, bom, sums];
  } finally {
    rmSync(clones, { recursive: true, force: true });
  }
}

async function tag(version: string): Promise<void> {
  if (values['dry-run']) say(`this was a dry run, so the tag v${version} was not made`);
  else await git('tag', '--annotate', `v${version}`, '--message', `Gatehouse ${version}`);
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function git(...args: string[]): Promise<string> {
  return run('git', args, { cwd: ROOT });
}

function say(text: string): void {
  process.stdout.write(`release: ${text}\n`);
}
