import { expect, test } from 'vitest';
import { HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { openApp, type TestedApp } from '../app.ts';

const PAGE = 3;
/** Records that the app's search returns at most, as many searches have such a limit. */
const MOST = 4;

/** Answers the search by the time of change, and refuses pages beyond the limit. */
function search(app: TestedApp): void {
  app.instead = (url, res) => {
    if (url.pathname !== '/search') return false;
    const from = Number(url.searchParams.get('after') ?? 0);
    const since = Date.parse(url.searchParams.get('since') ?? '');
    const found = app.orders
      .filter(({ updated_at }) => Date.parse(updated_at ?? '') >= since)
      .toSorted((a, b) => Date.parse(a.updated_at ?? '') - Date.parse(b.updated_at ?? ''));
    if (from >= MOST) app.send(res, 400, { message: 'The search has no more pages.' });
    else {
      const end = Math.min(from + PAGE, MOST);
      app.send(res, 200, {
        orders: found.slice(from, end),
        next: end < found.length ? String(end) : null,
      });
    }
    return true;
  };
}

test('polls read a search by time, and a backfill reads the whole list', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('searching');
  search(app);
  app.orders = [app.order('old')];
  app.clock.advance(5 * HOUR);
  await app.subscribe(connectionId, ['created'], { backfill: true });
  await app.look('polls');
  expect(await app.published(connectionId)).toEqual([]);
  await app.look('jobs');
  expect(await app.published(connectionId)).toEqual(['created old']);
  app.clearCalls();
  app.clock.advance(5 * MINUTE);
  app.orders.push(app.order('new'));
  await app.look('polls');
  expect(await app.published(connectionId)).toEqual(['created old', 'created new']);
  expect(app.calls).toEqual(['GET /search']);
});

test('a search that ends early continues from the time that was reached', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('searching');
  search(app);
  await app.subscribe(connectionId, ['created']);
  await app.look('polls');
  const start = app.clock.now();
  app.orders = Array.from({ length: 10 }, (_, n) => app.order(`o${n}`, start + n * MINUTE));
  app.clock.advance(HOUR);
  for (let n = 0; n < 6; n++) {
    await app.look('polls');
    app.clock.advance(5 * MINUTE);
  }
  expect((await app.published(connectionId)).toSorted()).toEqual(
    Array.from({ length: 10 }, (_, n) => `created o${n}`),
  );
});
