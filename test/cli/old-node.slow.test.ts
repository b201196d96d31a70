import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';

/** Path of a Node.js of this machine that is older than Gatehouse needs. */
const OLD = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => existsSync(path) && isOld(path));

/** Packages of the build, and the Node.js that runs it. */
const NEEDED = ['node', 'react', 'rolldown', 'typescript', 'vite'];

function isOld(path: string): boolean {
  const [major = 0, minor = 0] = execFileSync(path, ['--version'], { encoding: 'utf8' })
    .slice(1)
    .split('.')
    .map(Number);
  return major < 22 || (major === 22 && minor < 19);
}

describe.skipIf(OLD === undefined)('started by an older Node.js, gatehouse', () => {
  const node = OLD ?? '';

  test('gatehouse under an older Node.js runs with the installed one and its exit code', async () => {
    using home = tempHome();
    const env = cliEnv(home.path);
    expect(await runCli(['--version'], env, { node })).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d/),
    });
    const wrong = await runCli(['nonsense'], env, { node });
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("unknown command 'nonsense'")]);
    const failed = await runCli(['doctor'], env, { node });
    expect(failed.code).toBe((await runCli(['doctor'], env)).code);
  });

  test('gatehouse under an older Node.js passes on signals, standard input and output', async () => {
    using home = tempHome();
    const env = cliEnv(home.path);
    const service = await startCli(env, ['serve'], { node });
    expect((await fetch(`${service.url}/health`)).status).toBe(200);
    const ended = await service.stop();
    expect([ended.code, ended.signal]).toEqual([0, null]);
    expect(ended.out).toContain('"signal":"SIGTERM"');

    const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const stdio = await runCli(['stdio', '--server', 'Sandbox'], env, { node, input: `${request}\n` });
    expect([stdio.code, stdio.out]).toEqual([0, expect.stringContaining('sandbox_list_orders')]);
  });
});

test('the build and the pinned Node.js are installed without development packages', () => {
  const args = ['ls', '--omit=dev', '--json', ...NEEDED];
  const root = resolve(import.meta.dirname, '../..');
  const listed = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' }));
  expect(Object.keys(listed.dependencies)).toEqual(expect.arrayContaining(NEEDED));
});
