import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { startProgram } from '../runtime/child-program.ts';
import type { DocumentComparison } from '../openapi/compare/compare-document.ts';
import type { Built, BuildTask, CompareTask, FolderTask, ReadFolder, Task } from './build.ts';
import type { Done, BuildReply } from './build-process.ts';

/** Builds connectors, each in a process of its own with limits of time and memory. */
export interface Builds {
  /**
   * Builds a connector. `owner`: owners take turns. `signal`: ends the build, because its caller has left.
   * @throws GatehouseError as build(); `invalid_request` beyond the limits; `unavailable` when too many wait, or when
   * the process ended.
   */
  run(owner: string, task: BuildTask, signal?: AbortSignal): Promise<Built>;
  /**
   * Compares a connector with an OpenAPI document, within the same limits.
   * @throws GatehouseError as compare() and run()
   */
  compare(owner: string, task: CompareTask): Promise<DocumentComparison>;
  /**
   * Reads a connector of the folder, within the same limits.
   * @throws GatehouseError as run()
   */
  readFolder(task: FolderTask): Promise<ReadFolder>;
  close(): Promise<void>;
}

const MAX_PROCESSES = 2;
const MAX_WAITING = 8;
const MEMORY_MB = 768;
/** GitHub's document of 13 MB takes 6 s of CPU, 8 MiB of YAML take 15 s. */
const TIME_LIMIT_MS = 2 * MINUTE;
/** Time limit for the start of a process, generous for a busy machine. */
const START_LIMIT_MS = 2 * MINUTE;
/** The program of the processes: next to this file, in the sources and in the build. */
const PROGRAM = new URL(`./build-process.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);
/** Lower than this process (0). A still lower one gets no time on a busy machine. */
const NICE = 5;

interface Waiting {
  task: Task;
  signal: AbortSignal | undefined;
  resolve(done: Done): void;
  reject(error: unknown): void;
}

export function createBuilds({
  timeMs = TIME_LIMIT_MS,
  memoryMb = MEMORY_MB,
  program = PROGRAM,
}: { timeMs?: number; memoryMb?: number; program?: URL | undefined } = {}): Builds {
  const queue = createFairQueue<Waiting>();
  const running = new Set<Promise<void>>();
  const closing = new AbortController();

  const next = (): void => {
    while (running.size < MAX_PROCESSES) {
      const one = queue.take();
      if (!one) return;
      const run = runProcess(one, { timeMs, memoryMb, program, closing: closing.signal }).finally(() => {
        running.delete(run);
        next();
      });
      running.add(run);
    }
  };

  const start = (owner: string, task: Task, signal?: AbortSignal): Promise<Done> => {
    if (closing.signal.aborted) return Promise.reject(stopped());
    // One owner never takes more places than are left to the others.
    if (queue.sizeOf(owner) >= MAX_WAITING - queue.size)
      return Promise.reject(unavailable('Too many imports wait. Send it again in a minute.'));
    return new Promise((resolve, reject) => {
      queue.add(owner, { task, signal, resolve, reject });
      next();
    });
  };

  return {
    async run(owner, task, signal) {
      const done = await start(owner, task, signal);
      if ('built' in done) return done.built;
      throw new Error('A build returned another result.');
    },
    async compare(owner, task) {
      const done = await start(owner, task);
      if ('compared' in done) return done.compared;
      throw new Error('A comparison returned another result.');
    },
    async readFolder(task) {
      const done = await start('folder', task);
      if ('read' in done) return done.read;
      throw new Error('A folder returned another result.');
    },
    async close() {
      closing.abort();
      for (let one = queue.take(); one; one = queue.take()) one.reject(stopped());
      await Promise.all(running);
    },
  };
}

/** Runs a build to its end, and settles it. Never rejects. */
async function runProcess(
  { task, signal, resolve, reject }: Waiting,
  limits: { timeMs: number; memoryMb: number; program: URL; closing: AbortSignal },
): Promise<void> {
  const { timeMs, memoryMb, program, closing } = limits;
  if (signal?.aborted || closing.aborted) return reject(stopped());
  const child = startProgram(program, {
    execArgv: [`--max-old-space-size=${memoryMb}`],
    nice: NICE,
    serialization: 'advanced',
  });
  const ended = new Promise<NodeJS.Signals | null>((end) => {
    child.on('exit', (_code, by) => end(by));
    child.on('error', () => end(null));
  });
  let outcome: BuildReply | undefined;
  let late: GatehouseError | undefined;
  const stop = () => void child.kill('SIGKILL');
  const limit = (ms: number, refusal: GatehouseError) =>
    setTimeout(() => {
      late = refusal;
      stop();
    }, ms);
  let timer = limit(START_LIMIT_MS, unavailable('The process of the import did not start. Send it again.'));
  child.on('message', (message: BuildReply | 'ready') => {
    clearTimeout(timer);
    if (message !== 'ready') {
      outcome = message;
      return stop();
    }
    timer = limit(timeMs, tooLarge(task, `takes more than ${timeMs / SECOND} s`));
    child.send(task);
  });
  const gone = AbortSignal.any([closing, ...(signal ? [signal] : [])]);
  gone.addEventListener('abort', stop);
  const by = await ended;
  gone.removeEventListener('abort', stop);
  clearTimeout(timer);
  if (outcome && 'failed' in outcome) return reject(new Error(outcome.failed));
  if (outcome && !('refused' in outcome)) return resolve(outcome);
  if (outcome) {
    const { code, message, details } = outcome.refused;
    return reject(new GatehouseError(code, message, details ? { details } : {}));
  }
  if (gone.aborted) return reject(stopped());
  if (late) return reject(late);
  // Node.js aborts when the heap is full.
  if (by === 'SIGABRT') return reject(tooLarge(task, `takes more than ${memoryMb} MB of memory`));
  reject(unavailable('The process of the import ended. Send it again.'));
}

function tooLarge({ type }: Task, what: string): GatehouseError {
  const advice = `The import ${what}. Choose operations by tag, path or method, or send the document as JSON.`;
  const messages = {
    import: advice,
    check: advice,
    compare: `The comparison ${what}. Leave out the parts of the document that the connector does not call.`,
    folder: `Reading it ${what}. Leave out actions that agents do not need.`,
  };
  return new GatehouseError('invalid_request', messages[type]);
}

function unavailable(message: string): GatehouseError {
  return new GatehouseError('unavailable', message, { retryAfterSeconds: 60 });
}

function stopped(): GatehouseError {
  return unavailable('The import was stopped. Nothing was stored.');
}
