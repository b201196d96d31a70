import { sql } from 'kysely';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { sha256 } from '../lib/sha256.ts';
import type { Tx } from '../store/schema.ts';
import { countCall, windowWait, type Window } from './sliding-window.ts';

/** A sliding window that all processes share. */
export interface StoredWindow {
  /** Name of the window: equal texts are one window. */
  key: string;
  limit: number;
  perSeconds: number;
}

/** A window without room, and when it has room again, epoch ms. */
export interface FullWindow<W> {
  window: W;
  resetAt: number;
}

/**
 * Counts a call in every window, or in none when one is full. Processes that count in the same windows wait for each
 * other, so that they exceed no limit together.
 * @returns the full window that has room last; undefined when the call is counted.
 */
export async function countInWindows<W extends StoredWindow>(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  windows: readonly W[],
): Promise<FullWindow<W> | undefined> {
  // All processes lock the rows in one order, so that two never wait for each other.
  const sorted = windows
    .map((window) => ({ window, hash: sha256(window.key) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : 1));
  return db.transaction().execute(async (tx) => {
    const now = clock.now();
    const counted: { window: W; hash: string; calls: Window }[] = [];
    let full: FullWindow<W> | undefined;
    for (const { window, hash } of sorted) {
      const calls = await lockWindow(tx, hash, now + window.perSeconds * SECOND);
      const waitMs = windowWait(calls, limitOf(window), { cost: 1, now });
      if (waitMs > 0 && now + waitMs > (full?.resetAt ?? 0)) full = { window, resetAt: now + waitMs };
      counted.push({ window, hash, calls });
    }
    if (full) return full;
    for (const { window, hash, calls } of counted) {
      countCall(calls, limitOf(window), { cost: 1, now });
      await tx
        .updateTable('call_windows')
        .set({ calls: textOf(calls) })
        .where('window_hash', '=', hash)
        .execute();
    }
    return undefined;
  });
}

function limitOf({ limit, perSeconds }: StoredWindow) {
  return { requests: limit, perSeconds };
}

/** Creates the row of a window if it is absent, locks it until the end of the transaction, and returns its calls. */
async function lockWindow(tx: Tx, hash: string, expiresAt: number): Promise<Window> {
  const { calls } = await tx
    .insertInto('call_windows')
    .values({ window_hash: hash, calls: '[]', expires_at: expiresAt })
    .onConflict((c) => c.column('window_hash').doUpdateSet({ expires_at: sql`excluded.expires_at` }))
    .returning('calls')
    .executeTakeFirstOrThrow();
  return readCalls(calls);
}

/** The stored form of a window: for each entry its first time, the milliseconds to its last one, and its calls. */
const storedCalls = z.array(z.tuple([z.number(), z.number(), z.number()]));

function readCalls(text: string): Window {
  const entries = storedCalls
    .parse(JSON.parse(text))
    .map(([from, spanMs, used]) => ({ from, at: from + spanMs, used }));
  return { entries, used: entries.reduce((sum, { used }) => sum + used, 0) };
}

function textOf({ entries }: Window): string {
  return JSON.stringify(entries.map(({ from, at, used }) => [from, at - from, used]));
}
