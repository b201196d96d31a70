import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiTypes } from './api-types.ts';
import { installClients } from './install.ts';

/* The entries of the package as an application installs them: their types, and the examples of the pages that show them. */

const ROOT = resolve(import.meta.dirname, '../..');
const { name } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const PAGES = ['docs/clients.md', 'docs/embedding.md'];
/** Packages of the checkout that the examples need. */
const NEEDED = [
  'openapi-fetch',
  'openapi-typescript-helpers',
  '@types/node',
  '@types/react',
  'csstype',
  'undici-types',
];
const run = promisify(execFile);

let packages: string;
let folder: string;
beforeAll(async () => {
  packages = await installClients();
  folder = mkdtempSync(join(packages, 'package-'));
  const installed = join(folder, 'node_modules', name);
  for (const one of [name, ...NEEDED])
    mkdirSync(join(folder, 'node_modules', one, '..'), { recursive: true });
  for (const one of NEEDED) symlinkSync(join(ROOT, 'node_modules', one), join(folder, 'node_modules', one));
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), readFileSync(join(ROOT, 'package.json')));
  const outDir = join(installed, 'dist/package');
  await compile(
    join(ROOT, 'node_modules/typescript'),
    '-p',
    join(ROOT, 'tsconfig.package.json'),
    '--outDir',
    outDir,
  );
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function compile(compiler: string, ...args: string[]): Promise<void> {
  await run(process.execPath, [join(compiler, 'bin/tsc'), ...args], { cwd: folder }).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`${stdout}\n${stderr}`);
    },
  );
}

test('data/api-types.ts is current', async () => {
  const written = readFileSync(join(ROOT, 'data/api-types.ts'), 'utf8');
  expect(written === (await apiTypes(packages)), 'npm run client:types writes it again').toBe(true);
});

test.each(['nodenext', 'bundler'])(
  'every example of the pages compiles, module resolution %s',
  async (resolution) => {
    const files = PAGES.flatMap(examplesOf);
    expect(files.length).toBeGreaterThan(6);
    for (const [index, text] of [...files, MISTAKES].entries())
      writeFileSync(join(folder, `example-${index}.tsx`), text);
    const compilerOptions = {
      module: resolution === 'bundler' ? 'esnext' : resolution,
      moduleResolution: resolution,
      target: 'es2024',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: ['node'],
      jsx: 'react-jsx',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.tsx'] }));
    await compile(join(packages, 'node_modules/typescript'), '-p', '.');
  },
);

/** Returns the examples of a page, with the name of the package. */
function examplesOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```tsx?\n(.*?)^```$/gms)].map(([, code = '']) =>
    code.replaceAll('<package>', name),
  );
}

/** Mistakes that the types find. */
const MISTAKES = `
import { createClient, type Schema } from '${name}/client';
const client = createClient({ baseUrl: 'https://gatehouse.example.com', token: '' });
export const state: Schema<'Credential'>['state'] = 'active';
// @ts-expect-error the body is missing
await client.post('/users');
// @ts-expect-error this member does not exist
await client.post('/users', { body: { username: 'ada', mail: '' } });
// @ts-expect-error this parameter is missing
client.list('/users/{userId}/credentials');
// @ts-expect-error this is no list
client.list('/health');
// @ts-expect-error there is no such address
await client.get('/nothing');
for await (const user of client.list('/users')) {
  // @ts-expect-error a name is a text
  const username: number = user.username;
}
`;
