import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TICKS_PER_SECOND = 100;
/** The server runs on one core, load and upstream on the other, so that the load does not slow the server. */
export const SERVER_CORE = '0';
export const LOAD_CORE = availableParallelism() > 1 ? '1' : '0';
/** For a server whose helper threads run next to its event loop, as in a service. */
export const BOTH_CORES = '0-1';

/** Starts a child process on one core. */
export interface Child extends AsyncDisposable {
  process: ChildProcess;
}

export function launch(core: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn('taskset', ['-c', core, process.execPath, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  return { process: child, [Symbol.asyncDispose]: stop };
}

/** A child process and the first line it printed. */
export interface Talking extends Child {
  line: string;
}

export async function start(core: string, args: string[]): Promise<Talking> {
  const child = launch(core, args);
  return { ...child, line: await lineWith(child.process.stdout, '') };
}

/** Resolves with the next line of a stream that contains `text`. Later lines are discarded. */
export async function lineWith(stream: Readable, text: string): Promise<string> {
  const lines = createInterface(stream);
  try {
    for await (const line of lines) if (line.includes(text)) return line;
  } finally {
    stream.resume();
  }
  throw new Error(`the process ended without a line${text === '' ? '' : ` with ${text}`}`);
}

export interface Load {
  url: string;
  body: string;
  method?: string;
  headers?: Record<string, string>;
  connections: number;
  requests: number;
  seconds: number;
}

export interface Figures {
  requests: number;
  failed: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

export async function drive(load: Load): Promise<Figures> {
  const script = new URL('load.ts', import.meta.url).pathname;
  const { stdout } = await run('taskset', ['-c', LOAD_CORE, process.execPath, script, JSON.stringify(load)]);
  const figures: Figures = JSON.parse(stdout);
  if (figures.failed > 0)
    throw new Error(`${figures.failed} of ${figures.requests} answers were errors at ${load.url}`);
  return figures;
}

/** Returns the CPU seconds that all threads of a process have used. Source: proc(5), fields 14 and 15 of stat. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Returns the resident memory of a process in MB. */
export function residentMb(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? 0) / 1024;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
