import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

const TSC = join(createRequire(import.meta.url).resolve('typescript/package.json'), '..', 'bin', 'tsc');

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const typesOf = (connectorId: string) => service.call('GET', `/connectors/${connectorId}/types`);

/** Compiles a program with the declarations of all connectors. Returns what the compiler says. */
async function compiled(declarations: readonly string[], program: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-types-'));
  for (const [at, text] of declarations.entries()) writeFileSync(join(folder, `connector-${at}.d.ts`), text);
  writeFileSync(join(folder, 'program.ts'), `${program}\nexport {};\n`);
  const compilerOptions = { strict: true, noEmit: true, target: 'es2024', lib: ['es2024'], types: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  try {
    await promisify(execFile)(process.execPath, [TSC, '-p', folder]);
    return '';
  } catch (error) {
    return String((error as { stdout?: string }).stdout);
  }
}

test('declarations of all connectors compile, and check a program that uses them', async () => {
  const listed = await service.call('GET', '/connectors?limit=50');
  const ids = (listed.at('data') as { connectorId: string }[]).map(({ connectorId }) => connectorId);
  const declarations = await Promise.all(ids.map(async (id) => (await typesOf(id)).text('')));
  expect(ids.length).toBeGreaterThan(20);
  const good = `
    const { data } = await sandbox.list_customers({ limit: 5 });
    const names: unknown[] = data.map((customer) => customer.name);
    await github.get_repository({ owner: 'a', repo: String(names.length) }, { credentialId: 'cred_1' });`;
  expect(await compiled(declarations, good)).toBe('');
  const wrong = `await sandbox.get_customer({ customer: 'cus_1001' });`;
  expect(await compiled(declarations, wrong)).toContain("'customer' does not exist in type");
});

test('an unknown connector has no declarations, and get_action_svc can add them', async () => {
  expect((await typesOf('nothing')).status).toBe(404);
  expect((await typesOf('sandbox')).headers.get('content-type')).toBe('text/typescript; charset=utf-8');
  const { accessUrl } = await shop(service);
  const read = async (args: object) => {
    const actions = [{ connectorId: 'sandbox', actionId: 'get_customer' }];
    const call = { name: 'get_action_svc', arguments: { actions, ...args } };
    return (await rpc(accessUrl, 'tools/call', call)).at('result.structuredContent.actions.0.types');
  };
  expect(await read({})).toBeUndefined();
  expect(await read({ types: true })).toMatch(
    /^declare namespace sandbox \{\n {2}\/\*\* .* \*\/\n {2}function get_customer\(parameters: \{\n/,
  );
});
