import { Agent, get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/*
 * Asks one address every 10 ms on a connection that it keeps, and every 10 ms on a new one. Prints the waits in ms since the line
 * `begin` of its input when the input ends.
 */
const url = process.argv[2] ?? '';
const EVERY_MS = 10;
const AFTER_MS = 300;
const waits = { kept: new Array<number>(), fresh: new Array<number>() };
const over = new AbortController();

function ask(agent: Agent | false): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => response.resume().once('end', resolve)).on('error', reject);
  });
}

async function probe(agent: Agent | false, kind: keyof typeof waits): Promise<void> {
  while (!over.signal.aborted) {
    const beganAt = performance.now();
    await ask(agent);
    const waited = performance.now() - beganAt;
    waits[kind].push(waited);
    await sleep(Math.max(0, EVERY_MS - waited));
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const probes = Promise.all([probe(agent, 'kept'), probe(false, 'fresh')]);
// The code of this process is compiled by then.
await sleep(500);
console.log('ready');
for await (const line of createInterface(process.stdin))
  if (line === 'begin') for (const all of Object.values(waits)) all.length = 0;
// An answer may leave work behind.
await sleep(AFTER_MS);
over.abort();
await probes;
agent.destroy();
const ascending = (all: number[]) => all.toSorted((a, b) => a - b);
console.log(JSON.stringify({ kept: ascending(waits.kept), fresh: ascending(waits.fresh) }));
