import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ROOT } from './lock.ts';
import { writeThirdPartyLicenses } from './third-party.ts';

/*
 * `npm pack` publishes this manifest: prepack writes it, and postpack puts the one of the repository back. The build
 * contains the code of nearly all packages, so an installation needs only those that it imports by name.
 */

const MANIFEST = join(ROOT, 'package.json');
const ORIGINAL = join(ROOT, 'node_modules/.cache/gatehouse/package.json');
/** An import of a package at the beginning of a line, as bundler and compiler write them. */
const IMPORT =
  /^(?:import |(?:import|export|\}) ?[^'"\n]*\bfrom )['"]((?:@[\w.-]+\/)?\w[\w.-]*)(?:\/[^'"]*)?['"]/gm;
/** Members that only a checkout uses. */
const OF_CHECKOUT = new Set([
  'scripts',
  'devDependencies',
  'optionalDependencies',
  'allowScripts',
  'overrides',
]);

const packages = z.record(z.string(), z.string());
const manifest = z.looseObject({ dependencies: packages, peerDependencies: packages.default({}) });

const [command] = process.argv.slice(2);
if (command === 'write') writePublished();
else if (command === 'restore') restore();
else throw new Error('Usage: node test/release/manifest.ts write|restore');

function writePublished(): void {
  // An interrupted pack has left the published manifest.
  if (existsSync(ORIGINAL)) restore();
  writeThirdPartyLicenses();
  const published = publishedManifest(JSON.parse(readFileSync(MANIFEST, 'utf8')));
  mkdirSync(dirname(ORIGINAL), { recursive: true });
  copyFileSync(MANIFEST, ORIGINAL);
  writeFileSync(MANIFEST, `${JSON.stringify(published, null, 2)}\n`);
}

function restore(): void {
  renameSync(ORIGINAL, MANIFEST);
}

function publishedManifest(full: unknown): object {
  const { dependencies, peerDependencies, ...others } = manifest.parse(full);
  const imported = importedPackages().filter((name) => !Object.hasOwn(peerDependencies, name));
  const missing = imported.filter((name) => !Object.hasOwn(dependencies, name));
  if (missing.length > 0)
    throw new Error(`dist/ imports what package.json does not list: ${missing.join(', ')}`);
  return {
    ...Object.fromEntries(Object.entries(others).filter(([name]) => !OF_CHECKOUT.has(name))),
    dependencies: Object.fromEntries(imported.map((name) => [name, dependencies[name]])),
    ...(Object.keys(peerDependencies).length > 0 ? { peerDependencies } : {}),
  };
}

/** Returns the packages that the build imports by name. The files for browsers are complete in themselves. */
function importedPackages(): string[] {
  const names = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(js|d\.ts)$/.test(name) && !/^(console|web)\//.test(name))
    .flatMap((name) => [...readFileSync(join(ROOT, 'dist', name), 'utf8').matchAll(IMPORT)])
    .map(([, name = '']) => name)
    .filter((name) => !isBuiltin(name));
  return [...new Set(names)].toSorted();
}
