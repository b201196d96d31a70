import { flushCompileCache } from 'node:module';
import { readConfig } from '../../src/config.ts';
import { listen } from '../../src/app.ts';
import { openProof } from './scene.ts';

/*
 * A Gatehouse as `gatehouse serve` starts it, over a catalogue of the proofs, that runs until it is killed. It loads its
 * code first. The parent's first message opens the store, and each sets how far the clock is ahead.
 */
const [catalogFolder = ''] = process.argv.slice(2);
flushCompileCache();
let aheadMs = 0;
process.on('message', (message) => (aheadMs = Number(message)));
process.once('message', () => void live());

async function live(): Promise<void> {
  const clock = { now: () => Date.now() + aheadMs };
  const context = await openProof(readConfig(), catalogFolder, clock);
  await listen(context);
  process.send?.('serves');
}
