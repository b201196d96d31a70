import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ROOT } from '../release/lock.ts';
import { run } from './run.ts';

const packed = z.array(z.object({ filename: z.string(), integrity: z.string() })).length(1);

/** A packed tarball. */
export interface Packed {
  path: string;
  /** Hash of its bytes. */
  integrity: string;
}

/**
 * Clones the last commit into `folder` with the installed packages, and packs it there.
 * @throws Error when packing changes a file of the repository.
 */
export async function packClone(folder: string, env: Record<string, string> = {}): Promise<Packed> {
  await run('git', ['clone', '--quiet', ROOT, folder], { cwd: ROOT });
  if (!existsSync(join(ROOT, 'node_modules'))) throw new Error('Run npm ci first.');
  await run('cp', ['-al', join(ROOT, 'node_modules'), join(folder, 'node_modules')], { cwd: ROOT });
  const to = join(folder, '.cache');
  mkdirSync(to);
  const out = await run('npm', ['pack', '--json', '--pack-destination', to], { cwd: folder, env });
  // The build prints before it.
  const [{ filename, integrity }] = z
    .tuple([packed.element])
    .parse(JSON.parse(out.slice(out.lastIndexOf('\n[') + 1)));
  const changed = await run('git', ['status', '--porcelain'], { cwd: folder });
  if (changed !== '') throw new Error(`Packing changed files:\n${changed}`);
  return { path: join(to, filename.replace('@', '').replace('/', '-')), integrity };
}
