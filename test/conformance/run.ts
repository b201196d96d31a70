import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installClients } from '../clients/install.ts';
import { startService } from '../support/service.ts';

/*
 * The official conformance suites of MCP against a real Gatehouse, through the connector that brings their fixtures.
 * Prints what each suite says; ends with 1 when one of them fails. `-- <suite> [scenario]` runs a part.
 */

const SUITES: { [name: string]: { program: string; args: string[] } } = {
  'active of 0.1.16': { program: '@modelcontextprotocol/conformance', args: ['--suite', 'active'] },
  '2025-11-25 of 0.2': { program: 'conformance-next', args: ['--requirements', '2025-11-25'] },
  '2026-07-28 of 0.2': { program: 'conformance-next', args: ['--requirements', '2026-07-28'] },
};
const run = promisify(execFile);

const [wantedSuite, scenario] = process.argv.slice(2);
const folder = await installClients();
await using service = await startService({ env: { GATEHOUSE_TEST_CONNECTORS: '1', LOG_LEVEL: 'silent' } });
const created = await service.call('POST', '/api/servers', {
  body: {
    name: 'conformance',
    toolMode: 'direct',
    restrictions: { connectors: { mode: 'allowlist', allowedIds: ['everything'] } },
  },
});
const url = created.text('accessUrl');
const failed: string[] = [];
for (const [name, { program, args }] of Object.entries(SUITES)) {
  if (wantedSuite !== undefined && !name.includes(wantedSuite)) continue;
  console.log(`\n== ${name}`);
  const results = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'));
  const only = scenario === undefined ? args : ['--scenario', scenario, ...specOf(args)];
  const main = join(folder, 'node_modules', program, 'dist/index.js');
  const more = scenario === undefined ? [] : ['--verbose'];
  try {
    const { stdout } = await run(
      process.execPath,
      [main, 'server', '--url', url, ...only, '-o', results, ...more],
      { cwd: folder, maxBuffer: 1e8, timeout: 10 * 60_000 },
    );
    console.log(scenario === undefined ? summaryOf(stdout) : stdout);
  } catch (error) {
    failed.push(name);
    console.log(outputOf(error));
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}
console.log(failed.length === 0 ? '\nAll suites passed.' : `\nFailed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** One scenario is run at the version of the requirements that it belongs to. */
function specOf(args: string[]): string[] {
  const version = args[args.indexOf('--requirements') + 1];
  return args.includes('--requirements') && version !== undefined ? ['--spec-version', version] : [];
}

function summaryOf(text: string): string {
  const at = text.indexOf('=== SUMMARY ===');
  return (at === -1 ? text : text.slice(at)).trim();
}

function outputOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = (name: string) => {
    const value: unknown = Reflect.get(error, name);
    return typeof value === 'string' ? value : '';
  };
  return text('stdout') + text('stderr') || error.message;
}
