import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { listen } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { publish } from '../../src/outbox/publish.ts';
import { openProof } from './scene.ts';

/*
 * A Gatehouse as `gatehouse serve` starts it, with a program that publishes events until it is killed. It reports when it
 * has published its share.
 */

const order = z.object({ life: z.number(), events: z.number(), overMs: z.number(), aheadMs: z.number() });
const [catalogFolder = ''] = process.argv.slice(2);
const AT_ONCE = 2;

flushCompileCache();
process.once('message', (message) => void serve(order.parse(message)));

async function serve({ life, events, overMs, aheadMs }: z.infer<typeof order>): Promise<void> {
  const context = await openProof(readConfig(), catalogFolder, { now: () => Date.now() + aheadMs });
  const app = await listen(context);
  process.once('SIGTERM', () => {
    void app
      .close()
      .then(() => context.close())
      .then(() => process.disconnect());
  });
  const sources = await context.db
    .selectFrom('sources')
    .select(['source_id', 'environment'])
    .orderBy('source_id')
    .execute();
  if (events === 0) return;
  for (let done = 0; ; done += AT_ONCE) {
    if (done >= events && done < events + AT_ONCE) process.send?.('published');
    const source = sources[Math.floor(done / AT_ONCE) % sources.length];
    if (!source) throw new Error('no sources');
    const ids = Array.from({ length: AT_ONCE }, (_, n) => `${life}-${done + n}`);
    await context.db.transaction().execute((tx) =>
      publish(tx, context, {
        source: { sourceId: source.source_id, environment: source.environment },
        events: ids.map((id) => ({
          eventScope: 'commerce/orders',
          event: 'created',
          recordId: id,
          body: { id, remoteId: id, total: '12.50', currency: 'EUR', note: 'x'.repeat(200) },
        })),
      }),
    );
    context.dispatcher.wake();
    // A synchronous write, because the pipe's content survives the process.
    writeSync(1, `${ids.join(' ')}\n`);
    await sleep((overMs * AT_ONCE) / events);
  }
}
