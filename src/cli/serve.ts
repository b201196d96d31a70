import { listen } from '../app.ts';
import { readConfig } from '../config.ts';
import { openContext } from '../context.ts';
import { createServiceLog } from '../log.ts';
import { welcome } from './welcome.ts';

/**
 * `gatehouse serve`: until SIGTERM or SIGINT, then lets running requests finish and closes in reverse order. A second
 * signal ends the process at once. Answers with the exit code.
 */
export async function serve(): Promise<number> {
  const config = readConfig();
  const log = createServiceLog(config.logLevel);
  const stop = stopSignal();
  const context = await openContext(config, { log });
  try {
    const app = await listen(context);
    try {
      await welcome(context, app.port);
      log.info({ signal: await stop }, 'stopping');
    } finally {
      await app.close();
    }
  } finally {
    await context.close();
  }
  log.info('stopped');
  return 0;
}

/** The first SIGTERM or SIGINT. After it both have their usual effect again, so that a second one ends at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals) => {
      process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
      resolve(signal);
    };
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  });
}
