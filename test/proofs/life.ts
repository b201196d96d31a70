import { flushCompileCache } from 'node:module';
import { readConfig } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { listen } from '../../src/app.ts';
import { createLog } from '../../src/log.ts';

/*
 * A Gatehouse that lives until it is killed: what `gatehouse serve` is, over a catalogue of the proofs, with a clock that
 * is ahead of ours by what it is told. It loads its code first and opens the store when it is told to.
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
