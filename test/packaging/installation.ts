import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { until } from '../support/until.ts';
import { outputOf, run } from './run.ts';

/** The package in a folder of its own, with a Node.js of its own, as a user installs it. */
export interface Installation extends AsyncDisposable {
  readonly folder: string;
  /** Environment in which `node` and `npx` are those of this installation. */
  readonly env: Record<string, string>;
  /** Runs `npx gatehouse`, and returns what it prints. */
  gatehouse(...args: string[]): Promise<string>;
}

/** Installs a version of Node.js, and a tarball into an empty folder with production dependencies alone. */
export async function install(tarball: string, nodeVersion: string): Promise<Installation> {
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-installation-'));
  const [folder, node, home] = ['app', 'node', 'home'].map((name) => join(root, name));
  if (!folder || !node || !home) throw new Error('no folder');
  for (const path of [folder, node]) mkdirSync(path);
  await run('npm', ['install', '--no-save', `node@${nodeVersion}`], { cwd: node });
  const env = {
    PATH: [join(node, 'node_modules/.bin'), ...pathWithoutPackages()].join(delimiter),
    HOME: root,
    GATEHOUSE_HOME: home,
    PORT: '0',
  };
  await run('npm', ['install', '--omit=dev', tarball], { cwd: folder, env: { PATH: env.PATH } });
  return {
    folder,
    env,
    gatehouse: (...args) => run('npx', ['--no-install', 'gatehouse', ...args], { cwd: folder, env }),
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Returns the PATH without the programs of a checkout's packages, which npm has put there. */
function pathWithoutPackages(): string[] {
  const path = process.env['PATH'] ?? '';
  return path
    .split(delimiter)
    .filter((one) => !one.includes('node_modules') && one !== dirname(process.execPath));
}

/** Starts `npx gatehouse serve`, and returns what the first start prints to a terminal or its file. */
export async function serve({
  folder,
  env,
}: Installation): Promise<{ url: string; stop(): Promise<number | null> }> {
  const child = spawn('npx', ['--no-install', 'gatehouse', 'serve'], { cwd: folder, env, detached: true });
  const text = outputOf(child);
  const url = () => /"url":"(http:[^"]+)"/.exec(text.out())?.[1];
  const end = new Promise<number | null>((ended) => child.once('close', ended));
  await until(() => url() !== undefined || child.exitCode !== null, { state: () => text.out() + text.err() });
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null)
    throw new Error(`serve ended:\n${text.out()}${text.err()}`);
  return {
    url: url() ?? '',
    async stop() {
      process.kill(-pid, 'SIGTERM');
      return end;
    },
  };
}
