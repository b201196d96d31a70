import type { ChildProcess } from 'node:child_process';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { startConfined } from '../runtime/child-program.ts';
import { LIMITS, TOO_MANY_CALLS } from './program-limits.ts';
import {
  fromProcess,
  type Ended,
  type FromProcess,
  type Reply,
  type Request,
  type Task,
  type ToProcess,
  type Waiting,
} from './program-messages.ts';

/** A program to run, and the code that answers its requests. */
export interface ProgramRun {
  /** The user of a server. Owners take turns, and a process runs programs of one owner only. */
  owner: string;
  task: Omit<Task, 'type' | 'cpuSeconds'>;
  signal: AbortSignal;
  /** Answers a request. Rejects only for faults of our own. */
  answer(request: Request): Promise<Reply>;
}

/** A program in the queue, with the promise of its end. */
export interface Waiter extends ProgramRun {
  /** When it began to wait, ms of performance.now(). */
  since: number;
  resolve(end: Ended | Waiting): void;
  reject(error: unknown): void;
}

/** A process that runs programs of one owner, one after the other. */
export interface Worker {
  /** The owner of its programs; undefined before its first one. */
  readonly owner: string | undefined;
  /** `busy` with a program or `free` for one, perhaps before it has started, or `stopping`. */
  readonly state: 'free' | 'busy' | 'stopping';
  /** When it was ready for programs, ms of performance.now(); Infinity before. */
  readonly readyAt: number;
  /** Runs a program in a free process, as soon as the process has started. */
  run(waiter: Waiter): void;
  /** Ends the process. Its program fails with this reason. */
  stop(reason: string): void;
  /** Resolves when the process has ended. */
  readonly end: Promise<void>;
}

interface Start {
  program: URL;
  cpuSeconds: number;
  /** Called when the process has started, is free again, or will end. */
  onChange(): void;
  onEnd(): void;
}

const CANNOT_START = 'its process could not start';
const START_LIMIT_MS = 30 * SECOND;
/** Limit of the time in which a program waits for no call. Its limit of processor time is shorter. */
const COMPUTES_LIMIT_MS = 2 * MINUTE;
/** Time limit of a program with its calls. */
const TOTAL_LIMIT_MS = 10 * MINUTE;
const IDLE_MS = 30 * SECOND;
/** How long a process waits for its first program. Agents list the tools long before they use one. */
export const UNUSED_MS = 5 * MINUTE;
/** Memory of JavaScript in the process. The memory of the program is WebAssembly, and has its own limit. */
const HEAP_MB = 160;
/** Niceness of the process: a lower priority than Gatehouse, which answers other requests at the same time. */
const NICE = 5;

/**
 * Options for the thread of the engine. The package `run` starts it with an empty list of options, which removes the
 * options of the process. A thread still reads the variable NODE_OPTIONS.
 */
const NODE_OPTIONS = '--permission --disallow-code-generation-from-strings';

const PROCESS = {
  memoryMb: HEAP_MB,
  packages: ['run'],
  nice: NICE,
  nodeOptions: NODE_OPTIONS,
  // Texts can have several megabytes. This serialization copies them, and JSON would parse them.
  serialization: 'advanced',
} as const;

/** Starts a process. */
export function startWorker({ program, cpuSeconds, onChange, onEnd }: Start): Worker {
  const child = startConfined(program, PROCESS);
  let owner: string | undefined;
  let running: Waiter | undefined;
  let readyAt = Infinity;
  /** The reason why the process is ended. */
  let ending: string | undefined;
  /** Requests without an answer. */
  let open = 0;

  const stop = (reason: string): void => {
    ending ??= reason;
    child.ref();
    child.kill('SIGKILL');
  };
  const isReady = (): boolean => readyAt < Infinity;
  const time = createTimeLimits(stop);
  time.start();
  const send = (message: ToProcess): void => {
    // The process may have ended just now. Then `exit` reports its end.
    if (child.connected) child.send(message, () => {});
  };
  const begin = (): void => {
    if (!running || !isReady()) return;
    time.begin();
    send({ type: 'run', cpuSeconds, ...running.task });
  };
  const answerTo = async (waiter: Waiter, request: Request): Promise<void> => {
    open += 1;
    time.pause();
    try {
      send({ type: 'reply', id: request.id, ...(await waiter.answer(request)) });
    } catch (error) {
      waiter.reject(error);
      stop('its call failed');
    } finally {
      open -= 1;
      if (open === 0 && running === waiter) time.compute();
    }
  };
  const received = (message: FromProcess): void => {
    if (ending !== undefined) return;
    if (message.type === 'ready') {
      readyAt = performance.now();
      if (running) begin();
      else time.rest(UNUSED_MS);
      return onChange();
    }
    if (message.type === 'limit') return stop(message.reason);
    if (!running) return;
    if (message.type === 'request') return void answerTo(running, message);
    const done = running;
    running = undefined;
    time.rest(IDLE_MS);
    if (message.type === 'failed') {
      done.reject(programFailed(reasonOf(message)));
      // An engine that failed may be damaged.
      stop('its program failed');
    } else done.resolve(message);
    onChange();
  };

  child.on('message', (message) => {
    const read = fromProcess.safeParse(message);
    if (read.success) received(read.data);
    else stop('its process sent what it must not send');
  });
  const ended = (): void => {
    ending ??= isReady() ? `it takes more than ${LIMITS.memoryMib} MiB of memory` : CANNOT_START;
    time.close();
    running?.reject(programFailed(ending));
    running = undefined;
    onEnd();
  };
  return {
    end: endOf(child).then(ended),
    stop,
    get owner() {
      return owner;
    },
    get readyAt() {
      return readyAt;
    },
    get state() {
      if (ending !== undefined) return 'stopping';
      return running ? 'busy' : 'free';
    },
    run(waiter) {
      running = waiter;
      owner = waiter.owner;
      if (!isReady()) time.start();
      const gone = (): void => void (running === waiter && stop('its client went away'));
      waiter.signal.addEventListener('abort', gone, { once: true });
      begin();
    },
  };
}

/** The time limits of a process. At most one of start, computing and rest holds at a time. */
interface TimeLimits {
  /** The process starts, for a program or in advance. */
  start(): void;
  /** A program begins. */
  begin(): void;
  /** The program computes. */
  compute(): void;
  /** The program waits for a call. */
  pause(): void;
  /** The process has no program for this time at most. */
  rest(delayMs: number): void;
  close(): void;
}

function createTimeLimits(stop: (reason: string) => void): TimeLimits {
  let current: NodeJS.Timeout | undefined;
  let total: NodeJS.Timeout | undefined;
  const limit = (delayMs: number, reason: string): void => {
    clearTimeout(current);
    current = setTimeout(stop, delayMs, reason);
  };
  const compute = (): void =>
    limit(COMPUTES_LIMIT_MS, `it computed for more than ${COMPUTES_LIMIT_MS / MINUTE} minutes`);
  const close = (): void => {
    clearTimeout(current);
    clearTimeout(total);
  };
  return {
    start: () => limit(START_LIMIT_MS, CANNOT_START),
    begin() {
      compute();
      total = setTimeout(stop, TOTAL_LIMIT_MS, `it ran for more than ${TOTAL_LIMIT_MS / MINUTE} minutes`);
    },
    compute,
    pause: () => clearTimeout(current),
    rest(delayMs) {
      close();
      limit(delayMs, 'it was idle');
      current?.unref();
    },
    close,
  };
}

/** Resolves when a process has ended, or cannot start. */
function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

const REASONS: { [code: string]: string } = {
  RUN_BRIDGE_LIMIT: TOO_MANY_CALLS,
  RUN_TIMEOUT: `it computes too much: a program has ${LIMITS.cpuSeconds} s of processor time and about 100 million steps`,
  RUN_DETACHED_BRIDGE_REQUEST: 'it returned while a call still ran; put await before each call',
  RUN_SOURCE_TOO_LARGE: 'its code is too long',
};

/** Returns the reason of a failure of the engine, in words for the author of the program. */
function reasonOf({ code, message }: { code: string; message: string }): string {
  if (code === 'SyntaxError') return `its code is not valid JavaScript: ${message}`;
  if (message === 'out of memory') return `it takes more than ${LIMITS.memoryMib} MiB of memory`;
  if (message.startsWith('Continuation') || message.includes('replay'))
    return 'it did not repeat the calls that it made before it waited, in the same order and with the same arguments';
  return REASONS[code] ?? message;
}

/** Returns the error of a program that was ended for this reason. */
export function programFailed(reason: string, details: object = {}): GatehouseError {
  return new GatehouseError('program_failed', `The program was ended: ${reason}.`, {
    details: { reason, ...details },
  });
}
