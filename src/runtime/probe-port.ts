import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { SECOND } from '../lib/clock.ts';

/** How often the main thread reports that its event loop runs. */
const BEAT_MS = SECOND;
/** An event loop without a turn for this long hangs: /health is 503, so that a supervisor restarts the process. */
const HUNG_MS = 30 * SECOND;
/** How long /ready waits for the main thread. Shorter than the timeouts of most load balancers. */
const ANSWER_MS = 2 * SECOND;

const THREAD = new URL(`./probe-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

/** The settings of the thread. */
export interface ProbeSettings {
  host: string;
  port: number;
  hungMs: number;
  answerMs: number;
}

/** A message to the thread: the event loop runs, or what is missing for the question of this id. */
export type ToProbe = { beat: true } | { id: number; missing: string[] };

const fromThread = z.union([
  z.object({ port: z.number() }),
  z.object({ failed: z.string(), code: z.string().optional() }),
  z.object({ id: z.number() }),
]);

/** The port of probes, with the thread that answers them. */
export interface ProbePort {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Answers /health and /ready on a port of their own. A thread of its own does so, because requests of the main thread
 * delay its answers. `missing` returns what keeps the service from its work.
 * @throws Error with `code` EADDRINUSE or EACCES when the port cannot be opened
 */
export async function openProbePort(
  {
    host,
    port,
    hungMs = HUNG_MS,
    answerMs = ANSWER_MS,
  }: Pick<ProbeSettings, 'host' | 'port'> & Partial<ProbeSettings>,
  missing: () => Promise<string[]>,
): Promise<ProbePort> {
  const workerData: ProbeSettings = { host, port, hungMs, answerMs };
  const thread = new Worker(THREAD, { workerData, name: 'probes' });
  thread.unref();
  const tell = (message: ToProbe) => thread.postMessage(message);
  const opened = Promise.withResolvers<number>();
  thread.on('error', opened.reject);
  thread.on('message', (message: unknown) => {
    const told = fromThread.parse(message);
    if ('port' in told) opened.resolve(told.port);
    else if ('failed' in told) opened.reject(Object.assign(new Error(told.failed), { code: told.code }));
    else
      missing().then(
        (faults) => tell({ id: told.id, missing: faults }),
        () => tell({ id: told.id, missing: ['the readiness could not be checked'] }),
      );
  });
  const beat = setInterval(() => tell({ beat: true }), BEAT_MS).unref();
  const close = async () => {
    clearInterval(beat);
    await thread.terminate();
  };
  try {
    return { port: await opened.promise, close };
  } catch (error) {
    await close();
    throw error;
  }
}
