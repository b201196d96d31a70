import { setTimeout as sleep } from 'node:timers/promises';

/*
 * A process that asks /health every 50 ms, also while earlier answers are missing, so that the work of the proof delays no
 * probe. Argument: the origin. Sends the begin and the duration of each, epoch ms and ms, after any message.
 */
const EVERY_MS = 50;
const url = `${process.argv[2]}/health`;
const waits: { began: number; ms: number }[] = [];
const asked: Promise<void>[] = [];
const ended = new AbortController();
process.once('message', () => ended.abort());
// The first request of a process loads its code.
await (await fetch(url)).arrayBuffer();
process.send?.('ready');
while (!ended.signal.aborted) {
  asked.push(ask());
  await sleep(EVERY_MS);
}
await Promise.all(asked);
process.send?.(waits);
process.disconnect();

async function ask(): Promise<void> {
  const began = performance.timeOrigin + performance.now();
  const start = performance.now();
  await (await fetch(url)).arrayBuffer();
  waits.push({ began, ms: performance.now() - start });
}
