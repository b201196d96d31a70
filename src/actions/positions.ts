import { z } from 'zod';
import type { Base } from '../base.ts';
import type { Credential } from '../credentials/credential.ts';
import { holdsTokens } from '../credentials/refresh.ts';
import { StoreUnavailable } from '../lib/errors.ts';
import { HOUR } from '../lib/clock.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** How long a position in a third party's list is stored. */
const KEPT_MS = HOUR;
/** Maximum number of positions of one list; beyond it the oldest are deleted. */
const MAX_PER_LIST = 1000;
/** Pages of a walk between two checks of MAX_PER_LIST. */
const PRUNE_EVERY = 64;

/** The beginning of a page of an upstream list. */
export interface Position {
  /** Number of records before it. */
  offset: number;
  /** The third party's cursor, key or address; undefined at the beginning of the list. */
  cursor: string | undefined;
  /** Number of pages before it. */
  pages: number;
  /** Fingerprint of an earlier cursor, by which walk.ts detects a cycle. */
  earlier: string;
}

/** The stored positions of one list: one credential, action and input. */
export interface Positions {
  /** Returns the furthest position at or before `offset`, or undefined. */
  nearest(offset: number): Promise<Position | undefined>;
  remember(positions: Position[]): Promise<void>;
  /** Deletes all of them, because the third party no longer accepts one. */
  forget(): Promise<void>;
}

const storedPosition = z.object({ cursor: z.string(), pages: z.int(), earlier: z.string() });

/**
 * Returns the account of a list, which its positions are stored under. It changes with the account, not with the
 * tokens.
 */
export function accountOfList(credential: Credential | undefined): string {
  if (!credential) return '';
  return holdsTokens(credential)
    ? `${credential.credentialId} ${credential.account?.id ?? ''}`
    : credential.sealed;
}

/**
 * Stores positions in the table page_positions, so that page n+1 costs one upstream call in every process. They are
 * sealed, because a cursor may hold a key of the list's records, and an address a secret.
 */
export function storedPositions(
  { db, clock, keys }: Pick<Base, 'db' | 'clock' | 'keys'>,
  list: { listHash: () => string; credentialId: string },
): Positions {
  const binding = (offset: number): string =>
    boundTo('page_positions.position', { list_hash: list.listHash(), item_offset: offset });
  return {
    async nearest(offset) {
      const row = await db
        .selectFrom('page_positions')
        .select(['item_offset', 'position'])
        .where('list_hash', '=', list.listHash())
        .where('item_offset', '<=', offset)
        .where('expires_at', '>', clock.now())
        .orderBy('item_offset', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row && openPosition(row);
    },

    async remember(positions) {
      try {
        await write(positions);
      } catch (error) {
        // Without a position a later page costs more calls; a full disk must not end the reading.
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    },

    async forget() {
      await db.deleteFrom('page_positions').where('list_hash', '=', list.listHash()).execute();
    },
  };

  async function write(positions: Position[]): Promise<void> {
    // Empty pages leave several positions at one offset; the last is the furthest.
    const byOffset = new Map(positions.map((position) => [position.offset, position]));
    const expiresAt = clock.now() + KEPT_MS;
    const rows = [...byOffset.values()].map(({ offset, ...position }) => ({
      list_hash: list.listHash(),
      credential_id: list.credentialId,
      item_offset: offset,
      position: keys.sealJson(position, binding(offset)),
      expires_at: expiresAt,
    }));
    if (rows.length === 0) return;
    await db
      .insertInto('page_positions')
      .values(rows)
      .onConflict((c) =>
        c.columns(['list_hash', 'item_offset']).doUpdateSet((e) => ({
          position: e.ref('excluded.position'),
          expires_at: e.ref('excluded.expires_at'),
        })),
      )
      .execute();
    if (positions.some(({ pages }) => pages % PRUNE_EVERY === 0)) await prune();
  }

  /**
   * Opens a row. An altered row, or one sealed by a lost key, gives undefined, and the list is walked from the
   * beginning.
   */
  function openPosition(row: { item_offset: number; position: string }): Position | undefined {
    try {
      const position = keys.openJson(storedPosition, row.position, binding(row.item_offset));
      return { offset: row.item_offset, ...position };
    } catch {
      return undefined;
    }
  }

  async function prune(): Promise<void> {
    await db
      .deleteFrom('page_positions')
      .where('list_hash', '=', list.listHash())
      .where('item_offset', 'not in', (e) =>
        e
          .selectFrom('page_positions')
          .select('item_offset')
          .where('list_hash', '=', list.listHash())
          .orderBy('expires_at', 'desc')
          .orderBy('item_offset', 'desc')
          .limit(MAX_PER_LIST),
      )
      .execute();
  }
}

/** Keeps the last two positions of a list that is read once, in order, from `start` on. */
export function positionsInMemory(
  start: (Partial<Position> & Omit<Position, 'cursor'>) | undefined,
): Positions {
  const stored: Position[] = start ? [{ ...start, cursor: start.cursor }] : [];
  return {
    nearest: async (offset) => stored.findLast((position) => position.offset <= offset),
    async remember(positions) {
      stored.push(...positions);
      stored.splice(0, Math.max(0, stored.length - 2));
    },
    async forget() {
      stored.length = 0;
    },
  };
}
