import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { claimSources } from '../../src/events/sources.ts';
import { HOUR, MINUTE } from '../../src/lib/clock.ts';
import { openApp, type TestedApp } from './app.ts';

/* Until what was seen of the account before is forgotten, nobody else works on a source. */

test('who looks for due sources just as another account takes the place polls none of the old account, on postgres', async () => {
  await using app = await openApp('postgres');
  const { context } = app.service;
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId, ['created']);
  app.orders = [app.order('1', app.clock.now() + MINUTE)];
  await app.look();
  app.clock.advance(HOUR);
  const { claiming } = await context.db.transaction().execute(async (tx) => {
    await context.listening.other(tx, connectionId);
    const looking = claimSources(context, 10);
    await waitsForRow(app);
    return { claiming: looking };
  });
  expect(await claiming).toEqual([]);
  await app.look('jobs');
  expect(await context.db.selectFrom('seen').select('key').execute()).toEqual([]);
});

/** Somebody waits until a transaction lets go of a row. */
async function waitsForRow({ service }: TestedApp): Promise<void> {
  const waiting = sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await waiting.execute(service.context.db)).rows.length).toBe(1);
}
