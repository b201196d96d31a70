import { flushCompileCache } from 'node:module';
import { z } from 'zod';
import { readConfig } from '../../src/config.ts';
import { createDeliverer } from '../../src/outbox/dispatcher.ts';
import { createOutbound } from '../../src/lib/outbound.ts';
import { createLog } from '../../src/log.ts';
import { openProof } from './scene.ts';

/* A deliverer with short leases, that tells each line of its log. */

const order = z.object({
  catalogFolder: z.string(),
  timing: z.object({ attemptMs: z.number(), marginMs: z.number(), leaseMs: z.number() }),
});
const { catalogFolder, timing } = order.parse(JSON.parse(process.argv[2] ?? '{}'));
const context = await openProof(readConfig(), catalogFolder);
const deliverer = createDeliverer(
  { ...context, log: createLog('info', process.stdout) },
  {
    outbound: createOutbound({ allowedNetworks: [], allowPrivateNetwork: true }),
    // What fails stays as it is until the proof has looked.
    scheduleMs: [86_400_000],
    timing,
  },
);
deliverer.start();
flushCompileCache();
process.stdout.write('{"msg":"ready"}\n');
