import { fork, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readPackageFile } from '../package.ts';

/** The address of this process's own Node.js on Linux, also after its file was replaced. */
const OWN_NODE = '/proc/self/exe';

interface Start {
  /** Options of Node.js. */
  execArgv: string[];
  /** Form of the messages; default: JSON. */
  serialization?: 'json' | 'advanced';
  /** Options that the threads of the program read too. */
  nodeOptions?: string;
}

/**
 * Starts a program that lies next to our code, with a channel for messages and nothing of our environment. A program of
 * the build is one file, whose text goes through standard input. So the child needs no file, and runs the code of this
 * release, also after an update has replaced the files.
 */
export function startProgram(
  program: URL,
  { execArgv, serialization = 'json', nodeOptions }: Start,
): ChildProcess {
  const env = nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions };
  const path = fileURLToPath(program);
  if (path.endsWith('.ts'))
    return fork(path, { execArgv, serialization, env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const node = existsSync(process.execPath) || !existsSync(OWN_NODE) ? process.execPath : OWN_NODE;
  const child = spawn(node, [...execArgv, '--input-type=module', '-'], {
    serialization,
    env,
    // The working folder of this process may be gone.
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
  });
  // A child that ends early reads nothing more. Its end is reported by `exit`.
  child.stdin?.on('error', () => {});
  child.stdin?.end(readPackageFile(path));
  return child;
}
