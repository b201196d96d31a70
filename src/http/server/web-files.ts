import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { listPackageFolder } from '../../package.ts';
import { etagOf } from './stored-document.ts';

/** A file that browsers load. */
export interface WebFile {
  body: string;
  type: string;
  etag: string;
}

/**
 * All files that browsers load, with a hash of them. The hash is part of their addresses, so that browsers can
 * cache them for ever.
 */
export interface WebFiles {
  version: string;
  files: ReadonlyMap<string, WebFile>;
}

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  ts: 'text/plain; charset=utf-8',
};

/** The style sheets that make page.css, in the order in which their rules apply. */
const STYLES = [
  'base',
  'card',
  'screens',
  'buttons',
  'account-list',
  'app-list',
  'forms',
  'portal',
  'motion',
];

/** Reads the files in `folder`. Built files are used unchanged; sources are built first. */
export function readWebFiles(folder: string): WebFiles {
  const texts = listPackageFolder(folder).includes('page.ts') ? buildWebFiles(folder) : readFolder(folder);
  const whole = createHash('sha256');
  const files = new Map<string, WebFile>();
  for (const [name, body] of [...texts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    whole.update(`${name}\0${body}\0`);
    files.set(name, {
      body,
      etag: etagOf(body),
      type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    });
  }
  return { version: whole.digest('base64url').slice(0, 10), files };
}

/** Builds the files that browsers load from the sources in `folder`. Returns text by file name. */
export function buildWebFiles(folder: string): Map<string, string> {
  const sources = readFolder(folder);
  const styles = STYLES.map((name) => readFileSync(join(folder, 'styles', `${name}.css`), 'utf8'));
  const built = new Map([['page.css', styles.join('\n')]]);
  for (const [name, text] of sources) {
    if (name === 'sdk-types.ts') built.set('sdk.d.ts', text + typesOf(sources.get('sdk.ts') ?? ''));
    else if (name === 'sdk.ts') {
      const module = withAddress(toScript(text));
      built.set('sdk.mjs', module);
      built.set('sdk.js', toClassic(module));
    } else if (name.endsWith('.ts')) built.set(name.replace(/ts$/, 'js'), toScript(text));
  }
  return built;
}

function readFolder(folder: string): Map<string, string> {
  return new Map(listPackageFolder(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/** Returns JavaScript without types, indentation and comments on lines of their own. */
function toScript(text: string): string {
  return stripTypeScriptTypes(text)
    .replaceAll(/(( from |import\()'\.\/[\w-]+)\.ts'/g, "$1.js'")
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(\/\/|\/\*|\*\/|\* |\*$)/.test(line))
    .join('\n')
    .concat('\n');
}

/** Lets the SDK know the address that serves it. @throws Error when the SDK has no place for it. */
function withAddress(sdk: string): string {
  const place = /^const servedFrom = .*;$/m;
  if (!place.test(sdk)) throw new Error('sdk.ts has no function servedFrom');
  // Read at once, because a classic script knows its address only while it runs.
  return sdk.replace(place, 'const HERE = import.meta.url;\nconst servedFrom = () => HERE;');
}

/** Returns the types of the exports of the SDK, and of the global that the script makes. */
function typesOf(sdk: string): string {
  const declared = exportsOf(sdk).map((name) => `export declare const ${name}: Gatehouse['${name}'];\n`);
  return `
${declared.join('')}
declare global {
  /** Made by \`/sdk.js\`. */
  const Gatehouse: Gatehouse;
}
`;
}

function exportsOf(module: string): string[] {
  return [...module.matchAll(/^export const (\w+)/gm)].map(([, name = '']) => name);
}

/** Returns the module as a script that puts its exports into the global `Gatehouse`. */
function toClassic(module: string): string {
  const names = exportsOf(module);
  const body = module
    .replaceAll(/^export /gm, '')
    .replaceAll('import.meta.url', "(document.currentScript?.src ?? '')");
  return `(() => {\n'use strict';\n${body}globalThis.Gatehouse = Object.freeze({ ${names.join(', ')} });\n})();\n`;
}
