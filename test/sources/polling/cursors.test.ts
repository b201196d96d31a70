import { expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { openApp, type TestedApp } from '../app.ts';

/*
 * Lists with keyset paging: the last record of a page names the next page. The app rejects the name of a
 * deleted record.
 */

const PAGE = 3;
const KEPT = [0, 1, 3, 4, 5, 6, 7, 8, 9].map((n) => `created o${n}`);

/** Lists ten orders, one an hour. The third is removed as the second page is requested. */
function removeWhileRead(app: TestedApp): { hasGone: boolean } {
  const seen = { hasGone: false };
  const { clock, order } = app;
  app.orders = Array.from({ length: 10 }, (_, n) => order(`o${n}`, clock.now() + n * HOUR));
  app.instead = (url, res) => {
    if (url.pathname !== '/orders') return false;
    const after = url.searchParams.get('after');
    if (after === 'o2') {
      seen.hasGone = true;
      app.orders = app.orders.filter(({ id }) => id !== 'o2');
    }
    const since = Date.parse(url.searchParams.get('since') ?? '1970-01-01');
    const all = app.orders.filter(({ updated_at }) => Date.parse(updated_at ?? '') >= since);
    const at = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    if (after !== null && at === 0) app.send(res, 400, { message: `No such order: ${after}` });
    else {
      const orders = all.slice(at, at + PAGE);
      app.send(res, 200, { orders, next: at + PAGE < all.length ? orders.at(-1)?.id : null });
    }
    return true;
  };
  return seen;
}

async function looks(app: TestedApp, what: 'polls' | 'jobs', count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await app.look(what);
    app.clock.advance(5 * MINUTE);
  }
}

test('a record deleted during a poll of its list hides no other record', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('sequential');
  await app.subscribe(connectionId, ['created']);
  await looks(app, 'polls', 1);
  const seen = removeWhileRead(app);
  app.clock.advance(5 * DAY);
  await looks(app, 'polls', 20);
  expect(seen.hasGone).toBe(true);
  expect((await app.published(connectionId)).filter((one) => one !== 'created o2').toSorted()).toEqual(KEPT);
});

test('a record deleted during a backfill of its list hides no other record', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('sequential');
  const seen = removeWhileRead(app);
  app.clock.advance(5 * DAY);
  await app.subscribe(connectionId, ['created'], { backfill: true });
  await looks(app, 'polls', 1);
  await looks(app, 'jobs', 3);
  expect(seen.hasGone).toBe(true);
  expect((await app.published(connectionId)).filter((one) => one !== 'created o2').toSorted()).toEqual(KEPT);
});
