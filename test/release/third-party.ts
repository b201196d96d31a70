import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, shippedPackages, type ShippedPackage } from './lock.ts';

/** The file of licences in the published package. */
const FILE = join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt');
const TEXTS = /^(licen[cs]e|copying|notice|copyright)/i;
const LINE = '-'.repeat(80);

/** Writes the licences of all shipped packages with their texts, because the build contains their code. */
export function writeThirdPartyLicenses(): void {
  const packages = shippedPackages().map(sectionOf);
  const head = 'Gatehouse contains code of these packages, under the licences below.\n';
  writeFileSync(FILE, [head, ...packages].join(`\n${LINE}\n\n`));
}

function sectionOf({ name, version, license, folder }: ShippedPackage): string {
  return [`${name} ${version} (${license})\n`, ...textsIn(join(ROOT, folder))].join('\n');
}

function textsIn(folder: string): string[] {
  if (!existsSync(folder)) throw new Error(`${folder} is not installed. Run npm ci.`);
  return readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile() && TEXTS.test(file.name))
    .map(({ name }) => name)
    .toSorted()
    .map((name) => `${readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim()}\n`);
}
