import { flushCompileCache } from 'node:module';
import { readConfig } from '../../src/config.ts';
import { listen } from '../../src/app.ts';
import { openProof } from './scene.ts';

/*
 * A Gatehouse as `gatehouse serve` starts it, over a catalogue of the proofs, that runs until it is killed. It loads its
 * code first. The parent's message opens the store and sets how far the clock is ahead.
 */
const [catalogFolder = ''] = process.argv.slice(2);
flushCompileCache();
process.once('message', (message) => void live(Number(message)));

async function live(aheadMs: number): Promise<void> {
  const clock = { now: () => Date.now() + aheadMs };
  const context = await openProof(readConfig(), catalogFolder, clock);
  await listen(context);
  process.send?.('serves');
}
