import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TICKS_PER_SECOND = 100;
/** Server on one core, load and upstream on the other, so that neither takes from the other's figures. */
export const SERVER_CORE = '0';
export const LOAD_CORE = availableParallelism() > 1 ? '1' : '0';

/** A child on one core and the first line it printed. */
export interface Child extends AsyncDisposable {
  process: ChildProcess;
  line: string;
}

export async function start(
  core: string,
  script: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Child> {
  const child = spawn('taskset', ['-c', core, process.execPath, script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const line = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const end = text.indexOf('\n');
      if (end !== -1) resolve(text.slice(0, end));
    });
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code} before it was ready`)));
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  return { process: child, line, [Symbol.asyncDispose]: stop };
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
    throw new Error(`${figures.failed} of ${figures.requests} answers were not 2xx at ${load.url}`);
  return figures;
}

/** CPU seconds that a process has used, all its threads. Source: proc(5), fields 14 and 15 of stat. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory in MB. */
export function residentMb(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? 0) / 1024;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
