import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ROOT, shippedPackages } from '../release/lock.ts';
import { writeBillOfMaterials } from '../release/sbom.ts';
import { connectClient } from '../support/mcp.ts';
import { until } from '../support/until.ts';
import { install, serve, type Installation } from './installation.ts';
import { packClone, type Packed } from './pack.ts';
import { run } from './run.ts';

/** The oldest Node.js that is supported, and the newest of the line that the repository uses. */
const VERSIONS = ['22.19.0', '24'];
const NAME = '@gatehouse/gatehouse';
const bom = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(z.object({ purl: z.string() })),
});

mkdirSync(join(ROOT, '.cache'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.cache/package-'));
let packed: Packed;

beforeAll(async () => {
  const [one, other] = await Promise.all([
    packClone(join(folder, 'one'), { TZ: 'UTC' }),
    packClone(join(folder, 'another-folder/with-a-longer-name'), { TZ: 'Asia/Tokyo', LANG: 'C' }),
  ]);
  packed = one;
  if (one.integrity !== other.integrity) throw new Error(await differences(one.path, other.path));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the bill of materials lists all shipped packages, and is the same each time', async () => {
  const files = ['one.cdx.json', 'other.cdx.json'].map((name) => join(folder, name));
  for (const file of files) await writeBillOfMaterials(file);
  const [text = '', again] = files.map((file) => readFileSync(file, 'utf8'));
  expect(again).toBe(text);
  const { components } = bom.parse(JSON.parse(text));
  const listed = new Set(components.map(({ purl }) => decodeURIComponent(purl.replace('pkg:npm/', ''))));
  const missing = shippedPackages().filter(({ name, version }) => !listed.has(`${name}@${version}`));
  expect(missing).toEqual([]);
});

/** Returns the files in which two tarballs differ. */
async function differences(one: string, other: string): Promise<string> {
  for (const path of [one, other]) {
    mkdirSync(`${path}.files`);
    await run('tar', ['xzf', path, '-C', `${path}.files`], { cwd: folder });
  }
  const files = await run('sh', ['-c', `diff -rq ${one}.files ${other}.files || true`], { cwd: folder });
  return `Two builds of one commit differ:\n${files}`;
}

test('two builds in different folders give the same tarball', () => {
  // beforeAll has compared them.
  expect(packed.integrity).toMatch(/^sha512-/);
});

describe.each(VERSIONS)('the packed package with Node.js %s', (version) => {
  let installed: Installation;
  let service: Awaited<ReturnType<typeof serve>>;
  let keys: string;
  beforeAll(async () => {
    installed = await install(packed.path, version);
    service = await serve(installed);
    const file = join(installed.env['GATEHOUSE_HOME'] ?? '', 'first-keys');
    await until(() => existsSync(file));
    keys = readFileSync(file, 'utf8');
  });
  afterAll(async () => {
    await service.stop();
    await installed[Symbol.asyncDispose]();
  });

  test('the packed package installs with the packages that it imports, and licences', async () => {
    const node = await run('node', ['--version'], { cwd: installed.folder, env: installed.env });
    expect(node.trim()).toMatch(new RegExp(`^v${version}`));
    const packages = join(installed.folder, 'node_modules');
    expect(readdirSync(packages).filter((name) => !name.startsWith('.'))).toEqual([
      '@gatehouse',
      'better-sqlite3',
      'node-addon-api',
      'openapi-fetch',
      'openapi-typescript-helpers',
    ]);
    expect(existsSync(join(packages, NAME, 'dist/THIRD-PARTY-LICENSES.txt'))).toBe(true);
    expect(await installed.gatehouse('--version')).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('the packed package serves an MCP URL to the official client', async () => {
    const url = /http:\S+\/mcp\/\S+/.exec(keys)?.[0] ?? '';
    const client = await connectClient(url);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('sandbox_list_orders');
    const called = await client.callTool({ name: 'sandbox_list_customers', arguments: { limit: 2 } });
    expect(JSON.stringify(called)).toContain('cus_1001');
    const code = 'const { data } = await sandbox.list_customers({ limit: 2 }); return data.length;';
    const ran = await client.callTool({ name: 'run_code_svc', arguments: { code } });
    expect(ran.structuredContent).toMatchObject({ value: 2 });
    const found = await client.callTool({
      name: 'search_actions_svc',
      arguments: { query: 'wer hat zuletzt bestellt' },
    });
    expect(JSON.stringify(found.structuredContent)).toContain('list_orders');
    await client.close();
  });

  test('the packed package serves REST, the console, the reference and the browser SDK', async () => {
    const console = await (await fetch(`${service.url}/console`)).text();
    const assets = [...console.matchAll(/\/console\/assets\/[^"]+/g)].map(([path]) => path);
    expect(assets.length).toBeGreaterThan(1);
    for (const path of [...assets, '/docs', '/openapi.json', '/sdk.js', '/health'])
      expect([path, (await fetch(service.url + path)).status]).toEqual([path, 200]);
    const key = /gh_dev_\w+/.exec(keys)?.[0] ?? '';
    const made = await fetch(`${service.url}/users`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'x-api-version': '2025-09',
        'content-type': 'application/json',
      },
      body: '{"username":"alice"}',
    });
    expect(made.status).toBe(201);
  });

  test('the packed package serves MCP over stdio', async () => {
    const client = new Client({ name: 'proof', version: '1.0.0' });
    const args = ['--no-install', 'gatehouse', 'stdio', '--server', 'Sandbox'];
    await client.connect(
      new StdioClientTransport({ command: 'npx', args, cwd: installed.folder, env: installed.env }),
    );
    const called = await client.callTool({
      name: 'sandbox_get_product',
      arguments: { productId: 'prd_101' },
    });
    expect(JSON.stringify(called)).toContain('prd_101');
    await client.close();
  });

  test('the packed package finds no fault of its own, and brings the typed client', async () => {
    expect(await installed.gatehouse('doctor')).not.toContain('✗');
    const code = `import('${NAME}/client').then((all) => console.log(Object.keys(all).length > 0))`;
    expect((await run('node', ['-e', code], { cwd: installed.folder, env: installed.env })).trim()).toBe(
      'true',
    );
  });
});
