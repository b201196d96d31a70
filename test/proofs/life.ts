import { flushCompileCache } from 'node:module';
import { readConfig } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { listen } from '../../src/app.ts';
import { createLog } from '../../src/log.ts';

/*
 * A Gatehouse as `gatehouse serve` starts it, over a catalogue of the proofs, that runs until it is killed. It loads its
 * code first. The parent's message opens the store and sets how far the clock is ahead.
 */
const [catalogFolder = ''] = process.argv.slice(2);
flushCompileCache();
process.once('message', (message) => void live(Number(message)));

async function live(aheadMs: number): Promise<void> {
  const config = readConfig();
  const context = await openContext(config, {
    log: createLog(config.logLevel, process.stderr),
    clock: { now: () => Date.now() + aheadMs },
    catalogFolder,
  });
  await listen(context);
  process.send?.('serves');
}
