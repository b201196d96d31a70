import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { listen } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { createLog } from '../../src/log.ts';
import { servicePrograms } from './built.ts';
import { SHORT_INTERVALS } from './clock.ts';

/*
 * One of several serving processes over the same database, to be killed. The first message starts it, and each says how
 * far its clock is ahead. It reports its address.
 */

export interface Serving {
  url: string;
}

const [settings = '{}'] = process.argv.slice(2);
const { env, catalogFolder }: { env: Record<string, string>; catalogFolder: string } = JSON.parse(settings);
// Everything is loaded now, because the duration of a start is not under test.
flushCompileCache();
process.send?.('loaded');
let aheadMs = 0;
process.on('message', (message) => (aheadMs = Number(message)));
await once(process, 'message');
const clock = { now: () => Date.now() + aheadMs };
const context = await openContext(readConfig(env), {
  log: createLog('silent'),
  catalogFolder,
  clock,
  intervals: SHORT_INTERVALS,
  programs: servicePrograms(),
});
const app = await listen(context);
process.send?.({ url: `http://127.0.0.1:${app.port}` } satisfies Serving);
