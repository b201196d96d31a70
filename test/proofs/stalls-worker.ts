import { flushCompileCache } from 'node:module';
import { z } from 'zod';
import { readConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { createLog } from '../../src/log.ts';
import { openProof } from './scene.ts';

/* A dispatcher with short leases that prints each line of its log. */

const order = z.object({
  catalogFolder: z.string(),
  timing: z.object({
    attemptMs: z.number(),
    marginMs: z.number(),
    leaseMs: z.number(),
    slowMs: z.number(),
  }),
});
const { catalogFolder, timing } = order.parse(JSON.parse(process.argv[2] ?? '{}'));
const context = await openProof(readConfig(), catalogFolder);
const dispatcher = new Dispatcher(
  { ...context, log: createLog('info', process.stdout) },
  {
    outbound: createOutbound({ allowedNetworks: [], allowPrivateNetwork: true }),
    // A failed delivery stays unchanged until the proof has read it.
    scheduleMs: [86_400_000],
    timing,
  },
);
dispatcher.start();
flushCompileCache();
process.stdout.write('{"msg":"ready"}\n');
