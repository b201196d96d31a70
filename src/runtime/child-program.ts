import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setPriority } from 'node:os';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoByText } from '../lib/memo.ts';

/** The address of this process's own Node.js on Linux, also after its file was replaced. */
const OWN_NODE = '/proc/self/exe';

/** Programs whose code stays in memory after their first start: each of the build. To unpack one takes 20 ms. */
const MAX_CODES = 3;
const codeOf = memoByText(MAX_CODES, (path) => readFileSync(path));

interface Start {
  /** Options of Node.js. */
  execArgv: string[];
  /** Steps by which its priority is lower than that of this process. */
  nice?: number;
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
export function startProgram(program: URL, { nice, ...start }: Start): ChildProcess {
  const child = spawned(program, start);
  try {
    if (nice !== undefined && child.pid !== undefined) setPriority(child.pid, nice);
  } catch {
    // It ended already, which `exit` reports, or the system has no priorities. They are only a courtesy.
  }
  return child;
}

/**
 * Starts a program without rights, by Node.js's permission model. It may start the thread that watches its parent. It may
 * read and write no file, start no other process, and compile no code from text. So code that escaped its interpreter
 * could not reach the master key. Sources may be read, because their process has its code from files. The process does not keep
 * this one alive.
 */
export function startConfined(
  program: URL,
  {
    memoryMb,
    packages,
    ...start
  }: Omit<Start, 'execArgv'> & { memoryMb: number; packages: readonly string[] },
): ChildProcess {
  const readable = program.pathname.endsWith('.ts') ? sourcePaths(program, packages) : [];
  const child = startProgram(program, {
    ...start,
    execArgv: [
      `--max-old-space-size=${memoryMb}`,
      '--max-semi-space-size=8',
      '--permission',
      '--allow-worker',
      '--disallow-code-generation-from-strings',
      ...readable.map((path) => `--allow-fs-read=${path}`),
    ],
  });
  child.unref();
  child.channel?.unref();
  return child;
}

/** Returns the paths that the sources read: ours, and the folders of packages, which a build includes. */
function sourcePaths(program: URL, packages: readonly string[]): string[] {
  const code = new URL('../', program);
  const own = [code, new URL('../package.json', code)].map((url) => fileURLToPath(url));
  return [...own, ...packages.flatMap(packageFolders)];
}

/** Returns the folder of a package, and the target where it is a link. */
function packageFolders(name: string): string[] {
  const places = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const folder = places.map((place) => join(place, name)).find((path) => existsSync(path));
  return folder === undefined ? [] : [...new Set([folder, realpathSync(folder)])].map((path) => path + sep);
}

function spawned(
  program: URL,
  { execArgv, serialization = 'json', nodeOptions }: Omit<Start, 'nice'>,
): ChildProcess {
  // It is loaded here, because a start needs no other process.
  const { fork, spawn } = process.getBuiltinModule('node:child_process');
  const env = nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions };
  const path = fileURLToPath(program);
  if (path.endsWith('.ts'))
    return fork(path, { execArgv, serialization, env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const node = existsSync(process.execPath) || !existsSync(OWN_NODE) ? process.execPath : OWN_NODE;
  const code = codeOf(path);
  const child = spawn(node, [...execArgv, '--input-type=module', '-'], {
    serialization,
    env,
    // The working folder of this process may be gone.
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
  });
  // A child that ends early reads nothing more. Its end is reported by `exit`.
  child.stdin?.on('error', () => {});
  child.stdin?.end(code);
  return child;
}
