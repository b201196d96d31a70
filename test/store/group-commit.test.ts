import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { GroupCommit } from '../../src/store/group-commit.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import type { Tables } from '../../src/store/schema.ts';
import { freshDatabase } from '../support/stores.ts';

let store: Store;
let remove: () => Promise<void>;
let transactions: { tx: Transaction<Tables>; names: string[] }[];
beforeEach(async () => {
  const fresh = await freshDatabase('sqlite');
  remove = fresh.remove;
  store = await openStore(fresh.database);
  await migrate(store, 1);
  transactions = [];
});
afterEach(async () => {
  await store.close();
  await remove();
});

/** Writes rows, and records which names came together. */
function groupOfNames(): GroupCommit<string, string> {
  return store.groupCommit<string, string>(async (tx, names) => {
    const rows = names.map((name) => ({ name, sealed: 'x', created_at: 1 }));
    await tx.insertInto('secrets').values(rows).execute();
    transactions.push({ tx, names });
    return names;
  });
}
const stored = async () =>
  (await store.db.selectFrom('secrets').select('name').orderBy('name').execute()).map(({ name }) => name);
const together = () => transactions.map(({ names }) => names.join(' '));

test('items in quick succession share a transaction, and a lone one does not wait', async () => {
  const group = groupOfNames();
  // A machine that stalls for milliseconds ends the wait early, so not every round shares.
  for (
    let round = 0;
    round < 20 && !together().includes(`c${round - 1} d${round - 1} e${round - 1}`);
    round++
  ) {
    await Promise.all([group.add(`a${round}`), group.add(`b${round}`)]);
    const added: Promise<string>[] = [];
    for (const name of ['c', 'd', 'e']) {
      added.push(group.add(`${name}${round}`));
      await nextTurn();
    }
    expect(await Promise.all(added)).toEqual(['c', 'd', 'e'].map((name) => `${name}${round}`));
  }
  expect(together().at(-1)).toMatch(/^c\d+ d\d+ e\d+$/);
  await group.add('f');
  const alone = group.add('g');
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  await Promise.all([alone, group.add('h')]);
  expect(together().slice(-3)).toEqual(['f', 'g', 'h']);
});

test('an endless flow of items does not delay a commit for ever', async () => {
  const group = groupOfNames();
  await Promise.all([group.add('a'), group.add('b')]);
  const ended: string[] = [];
  void group.add('first').then((name) => ended.push(name));
  const added: Promise<string>[] = [];
  for (let n = 0; ended.length === 0 && n < 1000; n++) {
    added.push(group.add(`n${n}`));
    await nextTurn();
  }
  expect(added.length).toBeLessThan(50);
  await Promise.all(added);
});

test('two groups of one store share a transaction, and a failing group fails alone', async () => {
  const [one, other] = [groupOfNames(), groupOfNames()];
  await Promise.all([one.add('a'), other.add('b')]);
  expect(new Set(transactions.map(({ tx }) => tx)).size).toBe(1);
  const settled = await Promise.allSettled([one.add('c'), one.add('a'), other.add('d'), other.add('e')]);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(await stored()).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect([one.waiting, other.waiting]).toEqual([0, 0]);
});

test('work that a lone item begins after its commit goes out before its answer', async () => {
  const told: string[] = [];
  const group = store.groupCommit<string>(
    async (_tx, names) => names.map(() => undefined),
    // A client works this way: it checks an idle connection once more before it writes.
    () => void setImmediate(() => told.push('sent')),
  );
  await group.add('a').then(() => told.push('answered'));
  expect(told).toEqual(['sent', 'answered']);
});
