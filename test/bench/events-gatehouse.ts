import { createServer } from 'node:http';
import { z } from 'zod';
import { listen } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { publish, type NewEvent } from '../../src/events/publish.ts';
import { createGroupCommit } from '../../src/store/group-commit.ts';
import { isJsonObject, parseJson } from '../../src/lib/json.ts';
import { openProof, openScene } from '../proofs/scene.ts';
import { takeEvents } from './events-door.ts';

/*
 * Gatehouse as the events bench sees it: all of it, and beside it a door at which an event is published in a commit that it
 * shares with others. `{addresses}` makes a store with a subscription for each address, `{beside}` is a second process over
 * one that is there. Prints a JSON line.
 */
const settings = z
  .union([
    z.object({
      addresses: z.array(z.string()),
      env: z.record(z.string(), z.string()).default({}),
      oneSource: z.boolean().default(false),
    }),
    z.object({
      beside: z.object({
        env: z.record(z.string(), z.string()),
        catalogFolder: z.string(),
        sources: z.array(z.string()),
      }),
    }),
  ])
  .parse(JSON.parse(process.argv[2] ?? '{}'));

const { context, ...said } = await open();
const app = await listen(context);

async function open() {
  if ('beside' in settings) {
    const { env, catalogFolder, sources } = settings.beside;
    return {
      context: await openProof(readConfig(env), catalogFolder),
      sources,
      env,
      catalogFolder,
      secrets: [],
    };
  }
  const { addresses, env: more, oneSource } = settings;
  const scene = await openScene(addresses, { more, oneSource });
  const { env, catalogFolder, subscriptions } = scene;
  return {
    context: scene.context,
    env,
    catalogFolder,
    sources: [...new Set(subscriptions.map(({ sourceId }) => sourceId))],
    secrets: subscriptions.map(({ secret }) => secret),
  };
}

const publishes = createGroupCommit<{ sourceId: string; event: NewEvent }>(
  context.db,
  async (tx, items) => {
    for (const [sourceId, mine] of Map.groupBy(items, (item) => item.sourceId)) {
      const source = { sourceId, environment: 'development' as const };
      await publish(
        tx,
        context,
        source,
        mine.map(({ event }) => event),
      );
    }
    return items.map(() => undefined);
  },
  (tx) => context.deliverer.committed(tx),
);

const door = createServer(
  takeEvents(async (endpoint, text) => {
    const body = parseJson(text);
    if (!isJsonObject(body)) throw new Error('an event is an object');
    const event: NewEvent = {
      eventScope: 'commerce/orders',
      event: 'created',
      recordId: String(body['id']),
      body,
    };
    if (endpoint === 'all')
      await Promise.all(said.sources.map((sourceId) => publishes.add({ sourceId, event })));
    else await publishes.add({ sourceId: said.sources[Number(endpoint)] ?? '', event });
  }),
);
door.listen(0, '127.0.0.1', () => {
  const address = door.address();
  const port = address && typeof address === 'object' ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, ...said, app: app.port })}\n`);
});
