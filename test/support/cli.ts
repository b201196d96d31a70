import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { PATIENCE_MS } from './until.ts';
import { lendKept, returnKept } from './kept.ts';

export const BIN = resolve(import.meta.dirname, '../../bin/gatehouse.js');

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

/** `gatehouse` as a separate process. */
export interface Started extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly url: string;
  out(): string;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** Returns an environment with the PATH of the tests and a home that the test chooses, and nothing else. */
export function cliEnv(home: string, more: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home, GATEHOUSE_HOME: home, PORT: '0', ...more };
}

/** Runs a command to its end, by this Node.js or another. Ends it when it hangs. */
export async function runCli(
  args: string[],
  env: Record<string, string>,
  { input = '', node = process.execPath }: { input?: string; node?: string } = {},
): Promise<Ended> {
  const child = spawn(node, [BIN, ...args], { env, timeout: PATIENCE_MS, cwd: tmpdir() });
  child.stdin.end(input);
  return ended(child);
}

/** Starts `gatehouse serve` and waits until it prints its address. `bin`: the program of another installation. */
export async function startCli(
  env: Record<string, string>,
  args: string[] = ['serve'],
  { node = process.execPath, bin = BIN }: { node?: string; bin?: string } = {},
): Promise<Started> {
  const child = spawn(node, [bin, ...args], { env, cwd: tmpdir() });
  const end = ended(child);
  const text = collect(child);
  const url = await new Promise<string>((found, reject) => {
    child.stdout.on('data', () => {
      const line = text
        .out()
        .split('\n')
        .find((one) => one.includes('"listening"'));
      if (line) found(listening.parse(JSON.parse(line)).url);
    });
    void end.then(({ code, err }) => reject(new Error(`ended with ${code}: ${err}`)));
  });
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return end;
  };
  return {
    child,
    url,
    out: text.out,
    stop,
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL');
    },
  };
}

/** Returns a port without a listener. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/**
 * Creates a folder that is removed with the test: `using home = tempHome()`. A start in it finds the caches of other
 * homes, unless it is `bare`, as on a new machine.
 */
export function tempHome({ bare = false } = {}): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-cli-'));
  if (!bare) lendKept(path);
  return {
    path,
    [Symbol.dispose]() {
      returnKept(path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

const listening = z.object({ url: z.string() });

function collect(child: ChildProcess): { out(): string; err(): string } {
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk) => (out += String(chunk)));
  child.stderr?.on('data', (chunk) => (err += String(chunk)));
  return { out: () => out, err: () => err };
}

function ended(child: ChildProcess): Promise<Ended> {
  const text = collect(child);
  return new Promise((done) => {
    child.once('close', (code, signal) => done({ code, signal, out: text.out(), err: text.err() }));
  });
}
