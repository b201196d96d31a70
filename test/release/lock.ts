import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

/** The folder of the repository. */
export const ROOT = resolve(import.meta.dirname, '../..');

const entry = z.looseObject({
  version: z.string().optional(),
  license: z.string().optional(),
  dev: z.boolean().default(false),
  optional: z.boolean().default(false),
  devOptional: z.boolean().default(false),
});
const lock = z.object({ packages: z.record(z.string(), entry) });

/** A package of which code is in the published package, or that an installation adds to it. */
export interface ShippedPackage {
  name: string;
  version: string;
  /** SPDX expression. */
  license: string;
  /** Folder below the repository. */
  folder: string;
}

/**
 * Returns the packages of production without those of build and tests, by name and version. The build takes its code
 * from them, so the list also holds a few of which nothing is left.
 */
export function shippedPackages(): ShippedPackage[] {
  const { packages } = lock.parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  return Object.entries(packages)
    .filter(([folder, one]) => folder !== '' && !one.dev && !one.optional && !one.devOptional)
    .map(([folder, { version = '', license = '' }]) => ({ name: nameOf(folder), version, license, folder }))
    .toSorted((one, other) => compare(`${one.name} ${one.version}`, `${other.name} ${other.version}`));
}

function nameOf(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
