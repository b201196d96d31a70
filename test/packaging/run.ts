import { spawn, type ChildProcess } from 'node:child_process';

interface Options {
  cwd: string;
  env?: Record<string, string>;
}

/**
 * Runs a program to its end, and returns its standard output.
 * @throws Error with its output when it fails.
 */
export async function run(program: string, args: string[], { cwd, env = {} }: Options): Promise<string> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = outputOf(child);
  const code = await new Promise((end, reject) => child.once('close', end).once('error', reject));
  if (code === 0) return text.out();
  throw new Error(`${program} ${args.join(' ')} ended with ${String(code)}:\n${text.out()}\n${text.err()}`);
}

/** Collects what a process prints. */
export function outputOf(child: ChildProcess): { out(): string; err(): string } {
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk) => (out += String(chunk)));
  child.stderr?.on('data', (chunk) => (err += String(chunk)));
  return { out: () => out, err: () => err };
}
