import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MINUTE = 60_000;

/**
 * Starts a server of Node.js and waits until one of its addresses answers. The returned function ends it.
 * @throws Error with the end of its log when it does not start within two minutes; no process keeps running then.
 */
export async function startProgram(
  name: string,
  args: string[],
  {
    cwd,
    env,
    health,
    status,
  }: {
    cwd: string;
    env: NodeJS.ProcessEnv;
    health: string;
    /** Status of its answer; default: any of success. */
    status?: number;
  },
): Promise<() => Promise<void>> {
  const logs = mkdtempSync(join(tmpdir(), `gatehouse-${name}-`));
  const log = openSync(join(logs, 'server.log'), 'w');
  const server = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', log, log] });
  closeSync(log);
  const hasEnded = () => server.exitCode !== null || server.signalCode !== null;
  const stop = async () => {
    if (!hasEnded()) {
      const gone = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGTERM');
      const force = setTimeout(() => server.kill('SIGKILL'), 10_000);
      await gone;
      clearTimeout(force);
    }
    rmSync(logs, { recursive: true, force: true });
  };
  const until = Date.now() + 2 * MINUTE;
  while (Date.now() < until && !hasEnded()) {
    const ok = await fetch(health).then(
      (answer) => (status === undefined ? answer.ok : answer.status === status),
      () => false,
    );
    if (ok) return stop;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const ended = server.exitCode ?? server.signalCode;
  const what = ended === null ? 'did not start within two minutes' : `ended with ${ended}`;
  const end = readFileSync(join(logs, 'server.log'), 'utf8').slice(-2000);
  await stop();
  throw new Error(`${name} ${what}:\n${end}`);
}
