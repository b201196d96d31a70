import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installClients } from '../clients/install.ts';
import { startService } from '../support/service.ts';

/*
 * The official conformance suites of MCP against a real Gatehouse, through the connector that brings their fixtures, and
 * with Gatehouse as the client of a remote server. Prints what each suite says. Ends with 1 when one of them fails.
 * `-- <suite> [scenario]` runs a part; `server` and `client` are parts of names.
 */

const SUITES: { [name: string]: { program: string; args: string[]; extension?: string } } = {
  'server, active of 0.1.16': { program: '@modelcontextprotocol/conformance', args: ['--suite', 'active'] },
  'server, 2025-11-25 of 0.2': { program: 'conformance-next', args: ['--requirements', '2025-11-25'] },
  'server, 2026-07-28 of 0.2': {
    program: 'conformance-next',
    args: ['--requirements', '2026-07-28'],
    // The suite does not count the scenarios of extensions. Ours count, and begin with this text.
    extension: 'tasks-',
  },
};
/** Suites in which Gatehouse is the client of a remote MCP server (client.ts). */
const CLIENT_SUITES: { [name: string]: { program: string; scenarios: RegExp } } = {
  'client of 0.1.16': { program: '@modelcontextprotocol/conformance', scenarios: /./ },
  // The other scenarios are those of 0.1.16.
  'client of 0.2': {
    program: 'conformance-next',
    scenarios: /iss-|issuer-mismatch|migration|^http-|^request-/,
  },
};
/** The scenarios for clients in the list of a suite that Gatehouse may pass. */
const CLIENT_SCENARIO =
  /(?<=- )(?:auth\/[\w-]+|initialize|tools_call|http-(?:standard|custom)-headers|request-metadata)(?= )/g;
const EXTENSION = 'is an extension for clients without a user, which Gatehouse does not have';
/** Scenarios that Gatehouse cannot pass, with the reason. */
const NOT_APPLICABLE: { [scenario: string]: string } = {
  'auth/client-credentials-jwt': EXTENSION,
  'auth/client-credentials-basic': EXTENSION,
  'auth/cross-app-access-complete-flow': EXTENSION,
  'auth/enterprise-managed-authorization': EXTENSION,
  'auth/wif-jwt-bearer': EXTENSION,
  'auth/dpop': 'is an extension; tokens are bearer tokens',
  'auth/dpop-nonce': 'is an extension; tokens are bearer tokens',
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
    duplicateGuard: 'off',
  },
});
const url = created.text('accessUrl');
const failed: string[] = [];
for (const [name, { program, args, extension }] of Object.entries(SUITES)) {
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
    if (scenario === undefined && extension !== undefined && !passes(stdout, extension)) failed.push(name);
  } catch (error) {
    failed.push(name);
    console.log(outputOf(error));
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}
for (const [name, { program, scenarios }] of Object.entries(CLIENT_SUITES)) {
  if (wantedSuite !== undefined && !name.includes(wantedSuite)) continue;
  console.log(`\n== ${name}`);
  const main = join(folder, 'node_modules', program, 'dist/index.js');
  const { stdout } = await run(process.execPath, [main, 'list'], { cwd: folder });
  const all = [...new Set(stdout.match(CLIENT_SCENARIO) ?? [])];
  for (const one of all.filter((each) => scenario === undefined || each === scenario)) {
    const reason = NOT_APPLICABLE[one];
    if (reason !== undefined) console.log(`- ${one}: ${reason}`);
    else if (scenarios.test(one)) await runClient(main, one);
  }
}
console.log(failed.length === 0 ? '\nAll suites passed.' : `\nFailed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Runs Gatehouse as the client of a scenario. */
async function runClient(main: string, one: string): Promise<void> {
  const results = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'));
  const command = `${process.execPath} ${join(import.meta.dirname, 'client.ts')}`;
  const args = [
    main,
    'client',
    '--command',
    command,
    '--scenario',
    one,
    '--timeout',
    '120000',
    '-o',
    results,
  ];
  try {
    const { stdout } = await run(process.execPath, args, {
      cwd: folder,
      maxBuffer: 1e8,
      timeout: 3 * 60_000,
    });
    console.log(`✓ ${one}: ${/Passed: .*/.exec(stdout)?.[0] ?? ''}`);
  } catch (error) {
    failed.push(one);
    console.log(`✗ ${one}\n${outputOf(error)}`);
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

/** One scenario is run at the version of the requirements that it belongs to. */
function specOf(args: string[]): string[] {
  const version = args[args.indexOf('--requirements') + 1];
  return args.includes('--requirements') && version !== undefined ? ['--spec-version', version] : [];
}

/** Returns whether scenarios of an extension ran, and none of them failed. */
function passes(text: string, extension: string): boolean {
  const lines = summaryOf(text).split('\n');
  const has = (mark: string) => lines.some((line) => line.trim().startsWith(`${mark} ${extension}`));
  return has('✓') && !has('✗');
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
