import { listen } from '../app.ts';
import { readConfig } from '../config.ts';
import { openContext, type OpenContext } from '../context.ts';
import { createServiceLog } from '../log.ts';
import { storeFails } from './store-fails.ts';
import { welcome } from './welcome.ts';

/**
 * Runs `gatehouse serve` until SIGTERM or SIGINT, then lets running requests finish and closes in reverse order. A
 * second signal ends the process at once. Returns the exit code.
 * @throws StoreError as soon as the store has failed for good; it then waits for nothing, because nothing can succeed.
 */
export async function serve(): Promise<number> {
  const config = readConfig();
  const log = createServiceLog(config.logLevel, config.logFormat);
  for (const variable of config.unknownVariables) log.warn({ variable }, 'unknown variable, not read');
  const stop = stopSignal();
  const context = await openContext(config, { log });
  await Promise.race([serveUntil(stop, context), storeFails(context)]);
  log.info('stopped');
  return 0;
}

async function serveUntil(stop: Promise<NodeJS.Signals>, context: OpenContext): Promise<void> {
  try {
    const app = await listen(context);
    try {
      await welcome(context, app.port);
      context.log.info({ signal: await stop }, 'stopping');
    } finally {
      await app.close();
    }
  } finally {
    await context.close();
  }
}

/**
 * Returns the first SIGTERM or SIGINT. After it both have their usual effect again, so that a second one ends the
 * process at once.
 */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals) => {
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
      resolve(signal);
    };
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  });
}
