import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { blocksOf, pagesWithExamples, ROOT, type Block } from './examples/blocks.ts';

/* The examples in TypeScript and JavaScript, checked by the compiler against the client and the packages that they name. */

const folder = mkdtempSync(join(ROOT, 'node_modules/.cache-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Values that the reference takes from its reader. */
const VALUES =
  'a b actionId category connectionId connectorId content credentialId deliveryId executionId fileId id keyId link mappingId model runId serverId sessionId starterId subscriptionId token userId version workflowId';

const LANGUAGES = new Set(['js', 'ts', 'tsx']);

test('each example in TypeScript compiles', async () => {
  const blocks = pagesWithExamples()
    .flatMap(blocksOf)
    .filter(({ language, notRun }) => LANGUAGES.has(language) && notRun === undefined);
  expect(blocks.length).toBeGreaterThan(120);
  mkdirSync(join(folder, 'pages'));
  // An import of packages of this checkout, and of its entries under the name of the package.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [page, members] of Map.groupBy(blocks, ({ page }) => page)) {
    const name = page.replace(/^docs\//, '').replaceAll(/[^a-z]+/g, '-');
    if (page.startsWith('docs/api/')) {
      write(`${name}.ts`, referenceFile(members));
      continue;
    }
    for (const [index, { code, language }] of members.entries())
      write(`${name}-${index}.${language}`, `${code.replaceAll('<package>', manifest.name)}\nexport {};\n`);
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(PROJECT));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const found = await promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder }).then(
    () => '',
    ({ stdout }) => String(stdout),
  );
  expect(found).toBe('');
});

function write(name: string, text: string): void {
  writeFileSync(join(folder, 'pages', name), text);
}

/** Returns a file with each request of a page in a function of its own. */
function referenceFile(blocks: Block[]): string {
  const values = VALUES.split(' ').map((name) => `declare const ${name}: any;`);
  const functions = blocks.map(({ code }, index) => `export async function request${index}() {\n${code}}\n`);
  return [
    `import type { Client } from '${manifest.name}/client';`,
    'declare const gatehouse: Client;',
    ...values,
    ...functions,
  ].join('\n');
}

const PROJECT = {
  compilerOptions: {
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowJs: true,
    allowImportingTsExtensions: true,
    jsx: 'react-jsx',
    paths: Object.fromEntries(
      Object.entries({ client: 'client/client.ts', web: 'embed/embed.ts', react: 'embed/react.tsx' }).map(
        ([subpath, source]) => [`${manifest.name}/${subpath}`, [join(ROOT, 'src', source)]],
      ),
    ),
  },
  include: ['pages'],
};
