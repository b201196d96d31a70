import { fork } from 'node:child_process';
import { once } from 'node:events';
import { builtProgram } from './built.ts';
import type { Service } from './service.ts';
import type { Serving } from './workflow-process.ts';

/** A separate process over the store of a service. It ends with the test. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  /** Ends it by SIGKILL. */
  kill(): Promise<void>;
}

/**
 * Starts a process over the store of a service. `at` is the time of its clock; by default that of this machine.
 */
export async function serveUntilKilled(
  { env }: Pick<Service, 'env'>,
  catalogFolder: string,
  { at, more = {} }: { at?: number; more?: Record<string, string> } = {},
): Promise<Served> {
  const settings = {
    env: { PORT: '0', GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1', ...env, ...more },
    catalogFolder,
  };
  const child = fork(await builtProgram('workflow-process'), [JSON.stringify(settings)], { execArgv: [] });
  await once(child, 'message');
  child.send(at === undefined ? 0 : at - Date.now());
  const [serving]: Serving[] = await Promise.race([once(child, 'message'), failed()]);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return { url: serving?.url ?? '', kill, [Symbol.asyncDispose]: kill };

  async function failed(): Promise<never> {
    const [code] = await once(child, 'exit');
    throw new Error(`The process ended with ${code}.`);
  }
}
