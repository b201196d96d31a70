import type { ChildProcess } from 'node:child_process';
import { z } from 'zod';
import type { MapBounded } from '../connectors/catalog.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import { startConfined } from '../runtime/child-program.ts';

/** A task of the process: each expression for each variant of the scope. */
export interface Task {
  /** JSON text of an object: the members that expressions see. */
  scope: string;
  expressions: string[];
  /** JSON text of a list of objects: members on top of the scope, such as the item of a for-each. */
  variants: string;
  /** Whether the expressions are of a connector: each variant is a whole input, and patterns are those of RE2. */
  isOfConnector: boolean;
  maxBytes: number;
}

/** Packages that its sources use. */
const PACKAGES = ['jsonata', 'lru-cache', 're2js'];

/** Sent by the process when it has read a task and begins to evaluate. */
const BEGUN = 'begun';

/** An evaluation to run. */
interface Evaluation {
  /** The owner; owners take turns. */
  owner: string;
  expressions: string[];
  scope: JsonObject;
  /** Default: one variant that adds nothing. */
  variants?: JsonObject[];
}

const answer = z.union([
  z.object({ values: z.string() }),
  z.object({ expression: z.string(), reason: z.string(), isTimeout: z.boolean() }),
]);
export type EvaluationReply = z.infer<typeof answer>;

/**
 * Evaluates expressions of API clients and of custom connectors within limits: a separate process, 2 s, 128 MB, and
 * 8 MiB of values in and out.
 */
export interface BoundedExpressions {
  /**
   * Returns the values: a row for each variant, a value for each expression, null for undefined.
   * @throws GatehouseError `expression_failed` naming the expression and the reason; `unavailable` when too many wait.
   */
  evaluate(input: Evaluation): Promise<Json[][]>;
  /** Evaluates an expression of a custom connector. The limits hold for every 2 MiB of inputs. */
  readonly map: MapBounded;
  close(): Promise<void>;
}

const TIME_LIMIT_MS = 2 * SECOND;
/** Time limit for the start of a process, generous for a busy machine. */
const START_LIMIT_MS = 30 * SECOND;
/** Time limit for a process to read its values. */
const TRANSFER_LIMIT_MS = 10 * SECOND;
const MAX_PROCESSES = 2;
const MAX_WAITING = 1000;
const MAX_BYTES = 8 * 1024 * 1024;
/** Inputs of one task of a connector, such as the records of a page. A larger input is alone. */
const PART_BYTES = 2 * 1024 * 1024;
/** The program of the processes: next to this file, in the sources and in the build. */
const PROGRAM = new URL(
  `./expression-process.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
);
/** A process costs some 50 MB, so an idle one is ended. */
const IDLE_MS = 30 * SECOND;
const MEMORY_MB = 128;

interface Waiting {
  task: Task;
  resolve: (values: Json[][]) => void;
  reject: (error: unknown) => void;
}

interface Options {
  timeMs?: number;
  program?: URL | undefined;
}

/** A process and its state. `ready` is false until a new process has sent its first message. */
interface Evaluator {
  child: ChildProcess;
  running: Waiting | undefined;
  ready: boolean;
  timer: NodeJS.Timeout | undefined;
  /** The reason why it is ended. */
  reason: string | undefined;
}

/**
 * Creates the evaluator. JSONata's own limits (time, depth, sequences) do not hold everywhere. Measured:
 * `$match("aaa…!", /(a+)+$/)` never ends, and `$pad("x", 2e8)` ends the process, also within a worker thread with a
 * limit. So expressions of API clients run in processes that are started at their first use, and killed when they
 * exceed a limit. These processes get none of our environment variables.
 */
export function createBoundedExpressions(options: Options = {}): BoundedExpressions {
  const { timeMs = TIME_LIMIT_MS, program = PROGRAM } = options;
  const evaluators = new Set<Evaluator>();
  const queue = createFairQueue<Waiting>();
  let closed = false;

  const next = (): void => {
    if (closed) return;
    while (queue.size > 0) {
      const free = [...evaluators].find(({ running }) => running === undefined);
      const evaluator = free ?? (evaluators.size < MAX_PROCESSES ? startProcess() : undefined);
      if (!evaluator) return;
      evaluator.running = queue.take();
      clearTimeout(evaluator.timer);
      if (evaluator.ready) send(evaluator);
      else evaluator.timer = setTimeout(() => stop(evaluator, 'it could not start'), START_LIMIT_MS);
    }
  };

  const send = (evaluator: Evaluator): void => {
    const limit = `its values were not transferred within ${TRANSFER_LIMIT_MS / SECOND} s`;
    evaluator.timer = setTimeout(() => stop(evaluator, limit), TRANSFER_LIMIT_MS);
    if (evaluator.running) evaluator.child.send(evaluator.running.task);
  };

  const limitTime = (evaluator: Evaluator): void => {
    const limit = `it runs for more than ${timeMs / SECOND} s`;
    evaluator.timer = setTimeout(() => stop(evaluator, limit), timeMs);
  };

  const stop = (evaluator: Evaluator, reason: string): void => {
    evaluator.reason = reason;
    // close() waits for the exit event, so the process must be referenced again.
    evaluator.child.ref();
    evaluator.child.kill('SIGKILL');
  };

  const startProcess = (): Evaluator => {
    const child = startConfined(program, { memoryMb: MEMORY_MB, packages: PACKAGES });
    const evaluator: Evaluator = {
      child,
      running: undefined,
      ready: false,
      timer: undefined,
      reason: undefined,
    };
    evaluators.add(evaluator);
    child.on('message', (message) => {
      clearTimeout(evaluator.timer);
      if (!evaluator.ready) {
        evaluator.ready = true;
        return send(evaluator);
      }
      if (message === BEGUN) return limitTime(evaluator);
      const done = evaluator.running;
      evaluator.running = undefined;
      evaluator.timer = setTimeout(() => stop(evaluator, 'it was idle'), IDLE_MS);
      evaluator.timer.unref();
      if (done) complete(done, message);
      next();
    });
    const ended = (): void => {
      if (!evaluators.delete(evaluator)) return;
      clearTimeout(evaluator.timer);
      const reason = evaluator.reason ?? `it takes more than ${MEMORY_MB} MB of memory`;
      evaluator.running?.reject(failed(onlyExpression(evaluator.running.task), new LimitError(reason)));
      next();
    };
    child.on('exit', ended);
    child.on('error', ended);
    return evaluator;
  };

  const run = async (owner: string, task: Task): Promise<Json[][]> => {
    // An owner may wait with at most as many expressions as there are free places, so that other owners get some.
    if (closed || queue.sizeOf(owner) >= MAX_WAITING - queue.size)
      throw new GatehouseError(
        'unavailable',
        'Too many expressions wait to be evaluated. Try again shortly.',
      );
    return new Promise((resolve, reject) => {
      queue.add(owner, { task, resolve, reject });
      next();
    });
  };

  return {
    async evaluate({ owner, expressions, scope, variants = [{}] }) {
      if (expressions.length === 0) return variants.map(() => []);
      return run(owner, taskOf(expressions, scope, variants));
    },
    map: ({ owner, ...given }) => mapInParts((task) => run(owner, task), given),
    async close() {
      closed = true;
      const stopped = new GatehouseError(
        'unavailable',
        'This process stops. The expression was not evaluated.',
      );
      for (let one = queue.take(); one; one = queue.take()) one.reject(stopped);
      const ends = [...evaluators].map((evaluator) => {
        const end = new Promise((resolve) => evaluator.child.once('exit', resolve));
        stop(evaluator, 'this process stops');
        return end;
      });
      await Promise.all(ends);
    },
  };
}

/**
 * Returns the task.
 * @throws GatehouseError `expression_failed` when its values are too large.
 */
function taskOf(expressions: string[], scope: JsonObject, variants: JsonObject[]): Task {
  return checked({
    scope: JSON.stringify(scope),
    expressions,
    variants: JSON.stringify(variants),
    isOfConnector: false,
    maxBytes: MAX_BYTES,
  });
}

/** Evaluates an expression of a connector, one part of its inputs after the other. */
async function mapInParts(
  run: (task: Task) => Promise<Json[][]>,
  { expression, inputs }: { expression: string; inputs: readonly Json[] },
): Promise<Json[]> {
  const values: Json[] = [];
  for (const variants of partsOf(inputs)) {
    const task = checked({ ...CONNECTOR_TASK, expressions: [expression], variants });
    for (const [value = null] of await run(task)) values.push(value);
  }
  return values;
}

const CONNECTOR_TASK = { scope: '{}', isOfConnector: true, maxBytes: MAX_BYTES };

/** Returns JSON lists of the inputs, in parts. */
function* partsOf(inputs: readonly Json[]): Generator<string> {
  let part: string[] = [];
  let size = 0;
  for (const input of inputs) {
    const text = JSON.stringify(input);
    if (part.length > 0 && size + text.length > PART_BYTES) {
      yield `[${part.join(',')}]`;
      part = [];
      size = 0;
    }
    part.push(text);
    size += text.length;
  }
  if (part.length > 0) yield `[${part.join(',')}]`;
}

/** @throws GatehouseError `expression_failed` when the values of a task are too large. */
function checked(task: Task): Task {
  const bytes = Buffer.byteLength(task.scope) + Buffer.byteLength(task.variants);
  if (bytes <= MAX_BYTES) return task;
  throw failed(
    onlyExpression(task),
    new Error(`the values that it names are ${bytes} bytes together; the limit is ${MAX_BYTES} bytes`),
  );
}

function complete({ resolve, reject }: Waiting, message: unknown): void {
  const reply = answer.parse(message);
  if (!('values' in reply)) {
    const { expression, reason, isTimeout } = reply;
    return reject(failed(expression, isTimeout ? new LimitError(reason) : new Error(reason)));
  }
  try {
    const values = parseJson(reply.values);
    resolve(Array.isArray(values) ? values.map((row) => (Array.isArray(row) ? row : [row])) : []);
  } catch (error) {
    reject(failed('', error instanceof Error ? error : new Error('its value is no JSON')));
  }
}

function onlyExpression({ expressions }: Task): string {
  return expressions.length === 1 ? (expressions[0] ?? '') : '';
}

/** Thrown as the cause where an expression exceeds a limit of time or memory. It may succeed for other values. */
export class LimitError extends Error {
  override readonly name = 'LimitError';
}

function failed(expression: string, cause: Error): GatehouseError {
  const which = expression === '' ? 'An expression' : `The expression ${shortened(expression)}`;
  return new GatehouseError('expression_failed', `${which} failed: ${cause.message.slice(0, 300)}.`, {
    cause,
    details: expression === '' ? {} : { expression: expression.slice(0, 500) },
  });
}

function shortened(expression: string): string {
  return expression.length > 120 ? `${expression.slice(0, 120)}…` : expression;
}
