import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runOnce, type IdempotentCall } from '../../src/actions/idempotency.ts';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { createKeyRing } from '../../src/crypto/key-ring.ts';
import { DAY, SECOND } from '../../src/lib/clock.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import { manualClock, type ManualClock } from '../support/clock.ts';
import { freshDatabase, STORE_KINDS } from '../support/stores.ts';

const keys = createKeyRing([Buffer.alloc(32, 3).toString('base64')]);
const log = createLog('silent');

describe.each(STORE_KINDS)('an Idempotency-Key on %s', (kind) => {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let store: Store;
  /** The same database, opened by another process. */
  let other: Store;
  let clock: ManualClock;
  let runs: number;

  beforeEach(async () => {
    fresh = await freshDatabase(kind);
    store = await openStore(fresh.database);
    other = await openStore(fresh.database);
    clock = manualClock();
    runs = 0;
    await migrate(store, clock.now());
  });
  afterEach(async () => {
    await store.close();
    await other.close();
    await fresh.remove();
  });

  const here = () => ({ db: store.db, clock, keys, log });
  const there = () => ({ db: other.db, clock, keys, log });
  const call = (changes: Partial<IdempotentCall> = {}): IdempotentCall => ({
    key: 'order-1',
    scope: ['development', 'usr_1', 'shop', 'create_order'],
    body: { input: { amount: 5 } },
    repeatable: false,
    ...changes,
  });
  const succeed = async () => ({ data: { id: ++runs } });
  const fail = (error: unknown) => async () => {
    runs++;
    throw error;
  };
  /** A process that dies during its call: its row stays unchanged. */
  const die = () => {
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    void runOnce(here(), call(), () => {
      resolve();
      return new Promise(() => {});
    });
    return begun;
  };

  test('a repeated Idempotency-Key returns the first answer, also in another process', async () => {
    expect(await runOnce(here(), call(), succeed)).toEqual({ value: { data: { id: 1 } }, replayed: false });
    expect(await runOnce(there(), call(), succeed)).toEqual({ value: { data: { id: 1 } }, replayed: true });
    expect(runs).toBe(1);
  });

  test('one of many concurrent calls in two processes runs', async () => {
    // The running call ends when all others have their answer, however late they come.
    const others = Promise.withResolvers<void>();
    let refusals = 0;
    const slow = async () => {
      await others.promise;
      return succeed();
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        runOnce(i % 2 === 0 ? here() : there(), call(), slow).catch((error: unknown) => {
          if (++refusals === 19) others.resolve();
          throw error;
        }),
      ),
    );
    expect(runs).toBe(1);
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused).toHaveLength(19);
    for (const reason of refused) {
      expect(reason).toMatchObject({ code: 'idempotency_in_progress' });
      expect(Number(reason.headers['Retry-After'])).toBeGreaterThan(0);
    }
  });

  test('an Idempotency-Key counts per user, connector and action', async () => {
    await runOnce(here(), call(), succeed);
    for (const scope of [
      ['production', 'usr_1', 'shop', 'create_order'],
      ['development', 'usr_2', 'shop', 'create_order'],
      ['development', 'usr_1', 'other', 'create_order'],
      ['development', 'usr_1', 'shop', 'create_customer'],
    ]) {
      expect((await runOnce(here(), call({ scope }), succeed)).replayed).toBe(false);
    }
    expect(runs).toBe(5);
  });

  test('an Idempotency-Key with another body is a conflict, in any order of members', async () => {
    await runOnce(here(), call({ body: { a: 1, b: 2 } }), succeed);
    expect((await runOnce(here(), call({ body: { b: 2, a: 1 } }), succeed)).replayed).toBe(true);
    await expect(runOnce(here(), call({ body: { a: 1 } }), succeed)).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
  });

  test('an Idempotency-Key is free again after 24 hours', async () => {
    await runOnce(here(), call(), succeed);
    clock.advance(DAY - 1);
    expect((await runOnce(here(), call(), succeed)).replayed).toBe(true);
    clock.advance(1);
    expect((await runOnce(here(), call({ body: { amount: 6 } }), succeed)).replayed).toBe(false);
    clock.advance(DAY);
    await deleteOldRows(store.db, clock.now());
    expect(await store.db.selectFrom('idempotency').selectAll().execute()).toEqual([]);
  });

  test('a repeated Idempotency-Key returns a refusal of the app again', async () => {
    const refusal = new GatehouseError('upstream_rejected', 'Shop: no stock', { details: { status: 422 } });
    await expect(runOnce(here(), call(), fail(refusal))).rejects.toThrow('no stock');
    await expect(runOnce(here(), call(), succeed)).rejects.toMatchObject({
      code: 'upstream_rejected',
      message: 'Shop: no stock',
      details: { status: 422 },
      headers: { 'Idempotency-Replayed': 'true' },
    });
    expect(runs).toBe(1);
  });

  test.each([
    new GatehouseError('upstream_rate_limited', 'later'),
    new GatehouseError('credential_invalid', 'refused'),
    new GatehouseError('upstream_failed', 'no such host', { details: { reason: 'dns' } }),
  ])('an Idempotency-Key does not store a failure without effect: %s', async (error) => {
    await expect(runOnce(here(), call(), fail(error))).rejects.toBe(error);
    expect((await runOnce(here(), call(), succeed)).replayed).toBe(false);
  });

  test('an Idempotency-Key stores an unknown outcome unless the call may be repeated', async () => {
    const unknown = new GatehouseError('upstream_timeout', 'no answer');
    await expect(runOnce(here(), call(), fail(unknown))).rejects.toBe(unknown);
    await expect(runOnce(here(), call(), succeed)).rejects.toMatchObject({ code: 'upstream_timeout' });
    const safe = call({ key: 'safe', repeatable: true });
    await expect(runOnce(here(), safe, fail(unknown))).rejects.toBe(unknown);
    expect((await runOnce(here(), safe, succeed)).replayed).toBe(false);
  });

  test('an Idempotency-Key reports an unknown outcome after its process died', async () => {
    await die();
    await expect(runOnce(there(), call(), succeed)).rejects.toMatchObject({
      code: 'idempotency_in_progress',
    });
    clock.advance(30 * SECOND);
    await expect(runOnce(there(), call(), succeed)).rejects.toMatchObject({
      code: 'upstream_failed',
      details: { outcome: 'unknown' },
    });
    expect(runs).toBe(0);
  });

  test('a harmless call runs once more after the process that held its key died', async () => {
    await die();
    clock.advance(30 * SECOND);
    const again = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        runOnce(i % 2 === 0 ? here() : there(), call({ repeatable: true }), succeed),
      ),
    );
    expect(runs).toBe(1);
    expect(again.filter((one) => one.status === 'fulfilled').length).toBeGreaterThan(0);
  });

  test('the app gets the same key of a call in every attempt', async () => {
    const names: string[] = [];
    const failing = async (name: string) => {
      names.push(name);
      throw new GatehouseError('upstream_timeout', 'no answer');
    };
    for (let i = 0; i < 3; i++) await runOnce(here(), call({ repeatable: true }), failing).catch(() => {});
    expect(names).toHaveLength(3);
    expect(new Set(names).size).toBe(1);
  });

  test('the stored answer of an Idempotency-Key is sealed and bound to its row', async () => {
    await runOnce(here(), call(), async () => ({ data: { email: 'ada@example.com' } }));
    const row = await store.db.selectFrom('idempotency').selectAll().executeTakeFirstOrThrow();
    expect(row.body).not.toContain('ada@');
    await runOnce(here(), call({ key: 'order-2' }), succeed);
    await store.db.updateTable('idempotency').set({ body: row.body }).execute();
    await expect(runOnce(here(), call({ key: 'order-2' }), succeed)).rejects.toThrow(/altered, or moved/);
  });

  test.each(['', 'x'.repeat(256), 'line\nbreak', 'ünicode'])('%j is refused as a key', async (key) => {
    await expect(runOnce(here(), call({ key }), succeed)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
