import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Set in the child process, so that a pinned Node.js that is too old does not start another one. */
const MARK = 'PINNED_NODE_RUNS_GATEHOUSE';
const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];

/** Returns the Node.js that was installed with Gatehouse (the package `node`), or undefined if there is none. */
export function findPinnedNode() {
  if (process.env[MARK]) return undefined;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('node/package.json'));
    const program = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Runs a script with another Node.js and our arguments, streams and signals. Ends as the child ends: with its exit
 * code or by its signal.
 */
export function runWith(program, script) {
  const child = spawn(program, [...process.execArgv, script, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [MARK]: '1' },
  });
  const forward = (signal) => {
    // Ctrl+C reaches every process of the terminal; a forwarded second signal would kill the child at once.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of FORWARDED) process.on(signal, forward);
  child.on('error', (error) => {
    console.error(`gatehouse: ${program} could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    for (const one of FORWARDED) process.off(one, forward);
    if (signal) process.kill(process.pid, signal);
    else process.exit(code);
  });
}
