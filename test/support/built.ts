import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = resolve(import.meta.dirname, '../..');
/** Folder of the build, when it is as new as the sources. Workers of Vitest inherit it. */
const BUILD = 'TEST_BUILD_FOLDER';
/** Folder of the built programs of this run. */
const PROGRAMS = 'TEST_PROGRAMS_FOLDER';
/** Inside of the packages, so that a program finds native code. */
const CACHE = join(ROOT, 'node_modules/.cache/gatehouse-tests');

/** Decides once for the run whether processes start from the build, which takes a quarter of the processor time. */
export async function setup(): Promise<() => Promise<void>> {
  const checker = pathToFileURL(join(ROOT, 'bin/current-build.js')).href;
  const { isBuildCurrent }: { isBuildCurrent(): boolean } = await import(checker);
  if (isBuildCurrent()) process.env[BUILD] = join(ROOT, 'dist');
  else {
    process.stderr.write(
      'dist/ is older than the sources, so the processes of tests start from src/. npm run build makes them faster.\n',
    );
  }
  await mkdir(CACHE, { recursive: true });
  const programs = await mkdtemp(join(CACHE, 'programs-'));
  process.env[PROGRAMS] = programs;
  return () => rm(programs, { recursive: true, force: true });
}

/** Returns the programs of the processes that a service starts: those of the build, unless it is older. */
export function servicePrograms(): { expressions?: URL; builds?: URL; programs?: URL } {
  const folder = process.env[BUILD];
  if (folder === undefined) return {};
  const program = (name: string) => pathToFileURL(join(folder, `${name}.js`));
  return {
    expressions: program('expression-process'),
    builds: program('build-process'),
    programs: program('program-process'),
  };
}

/**
 * Returns the file of a program of this folder, built from the sources at its first use in a run. Reading the sources
 * takes 2 s of each process.
 */
export async function builtProgram(name: 'token-process' | 'workflow-process'): Promise<string> {
  const source = join(import.meta.dirname, `${name}.ts`);
  const programs = process.env[PROGRAMS];
  if (programs === undefined) return source;
  const folder = join(programs, name);
  if (!existsSync(folder)) await build(source, folder);
  return join(folder, `${name}.js`);
}

/** Builds into a folder that gets its name at the end, because another worker may build the same program. */
async function build(source: string, folder: string): Promise<void> {
  const { build: bundle } = await import('rolldown');
  const unfinished = await mkdtemp(`${folder}-`);
  await bundle({
    input: source,
    platform: 'node',
    external: ['better-sqlite3'],
    plugins: [
      {
        // The file finds the folder of Gatehouse by its own address.
        name: 'place-of-the-package',
        resolveId: (id) =>
          id.endsWith('/package.ts')
            ? { id: pathToFileURL(join(ROOT, 'src/package.ts')).href, external: true }
            : null,
      },
    ],
    output: { dir: unfinished, format: 'esm' },
    logLevel: 'silent',
  });
  try {
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}
