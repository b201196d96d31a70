import { createRunner, getHostFunctionContext, isRunInterruptedResult, RunError, setMaxWorkers } from 'run';
import { endWithParent } from '../lib/parent-watch.ts';
import { LIMITS, TOO_MANY_CALLS } from './program-limits.ts';
import type { FromProcess, Reply, Task, ToProcess } from './program-messages.ts';
import { PULSE } from './program-source.ts';

/*
 * A process that runs the programs of one user, one after the other. The JavaScript engine is QuickJS in WebAssembly, within
 * a thread of this process (package `run`). program-pool.ts ends the process when a program exceeds a limit.
 */

const MIB = 1024 * 1024;
const CHECK_MS = 100;
/** Memory limit of the whole process, far above a program's own limit. Only a fault of the engine can exceed it. */
const MAX_RSS = 512 * MIB;
/** The engine's own limit counts the time of calls too. The other limits end a program earlier. */
const ENGINE_TIMEOUT_MS = 660_000;

const realNow = Date.now;
const waiting = new Map<number, (reply: Reply) => void>();
let lastId = 0;
/** Requests of the running program, without its pulses. */
let requests = 0;

const runner = createRunner({
  limits: {
    timeoutMs: ENGINE_TIMEOUT_MS,
    memoryLimitBytes: LIMITS.memoryMib * MIB,
    // The frame adds to the code, and a character may take three bytes.
    maxSourceBytes: 4 * LIMITS.code,
    maxResultBytes: 8 * LIMITS.value,
    maxHostFunctionArgumentsBytes: LIMITS.argument,
    maxHostFunctionOutputBytes: 2 * LIMITS.answer,
    // A pulse follows each call, and one comes before the first.
    maxBridgeRequests: 2 * LIMITS.calls + 1,
    maxInFlightBridgeRequests: 2 * LIMITS.concurrentCalls,
    maxContinuationBytes: LIMITS.state,
  },
  // The state is sealed by the process that stores it, which alone has the key.
  continuationCodec: { encode: (state) => JSON.stringify(state), decode: (text) => JSON.parse(text) },
});

await start();

/** Starts the engine's thread, whose rights NODE_OPTIONS limits. No other thread can be started afterwards. */
async function start(): Promise<void> {
  setMaxWorkers(1);
  await runner.run({ source: 'return 0', hostFunctions: { host: { request } } });
  endWithParent();
  process.on('message', (message: ToProcess) => {
    if (message.type === 'run') return void run(message);
    const resolve = waiting.get(message.id);
    waiting.delete(message.id);
    resolve?.(message);
  });
  send({ type: 'ready' });
}

function send(message: FromProcess): void {
  process.send?.(message);
}

async function run({ source, now, state, answered, cpuSeconds }: Task): Promise<void> {
  const shiftMs = now - realNow();
  Date.now = () => realNow() + shiftMs;
  requests = 0;
  const stopWatch = watchLimits(cpuSeconds);
  try {
    const result = await runner.run<string>({
      source,
      hostFunctions: { host: { request } },
      ...(state === undefined
        ? {}
        : {
            continuation: state,
            resolutions: answered.map((interruptionId) => ({ interruptionId, value: true })),
          }),
    });
    if (isRunInterruptedResult(result)) {
      const questions = result.interruptions.map(({ id, arguments: [, argument] }) => ({
        id,
        argument: String(argument),
      }));
      send({ type: 'waiting', state: String(result.continuation), questions });
    } else send({ type: 'ended', text: String(result.value) });
  } catch (error) {
    const { name, message } = error instanceof Error ? error : { name: '', message: String(error) };
    const code = error instanceof RunError ? error.code : '';
    send({ type: 'failed', code: name === 'SyntaxError' ? name : code, message: message.slice(0, 500) });
  } finally {
    stopWatch();
  }
}

/** Sends a request of the program to Gatehouse, and returns the reply. */
async function request(name: string, argument: string): Promise<string> {
  if (name === PULSE) return '';
  requests += 1;
  // The frame refuses further calls, but code can pass it by.
  if (requests > LIMITS.calls) send({ type: 'limit', reason: TOO_MANY_CALLS });
  const { interrupt, resume } = getHostFunctionContext();
  lastId += 1;
  const id = lastId;
  const reply = await new Promise<Reply>((resolve) => {
    waiting.set(id, resolve);
    const answered = resume === undefined ? {} : { answered: resume.interruptionId };
    send({ type: 'request', id, name, argument, ...answered });
  });
  return 'waits' in reply ? interrupt(true) : reply.text;
}

/** Watches time and memory on the main thread, which the program's own thread cannot delay. */
function watchLimits(cpuSeconds: number): () => void {
  const before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1e6 > cpuSeconds)
      send({ type: 'limit', reason: `it used more than ${cpuSeconds} s of processor time` });
    if (process.memoryUsage.rss() > MAX_RSS)
      send({ type: 'limit', reason: `its process takes more than ${MAX_RSS / MIB} MiB of memory` });
  }, CHECK_MS);
  return () => clearInterval(timer);
}
