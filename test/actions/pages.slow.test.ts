import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPage } from '../../src/actions/offset-pages.ts';
import type { ListSource } from '../../src/actions/list-page.ts';
import { storedPositions, type Positions } from '../../src/actions/positions.ts';
import type { UpstreamPage } from '../../src/actions/places.ts';
import { MAX_CALLS } from '../../src/actions/walk.ts';
import type { Paging } from '../../src/connectors/format/format.ts';
import { createKeyRing } from '../../src/crypto/key-ring.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import type { Json } from '../../src/lib/json.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/open-database.ts';
import type { UpstreamCall } from '../../src/upstream/upstream-call.ts';
import { manualClock } from '../support/clock.ts';
import { freshDatabase } from '../support/stores.ts';
import { IS_FULL } from '../support/full.ts';

/** The behaviour of a third party in the tests; `cap` is the most records that it returns. */
interface Behaviour {
  total: number;
  cap: number;
  signal: 'total' | 'hasMore' | 'none';
  sized: boolean;
}

let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let store: Store;
const clock = manualClock();
const keys = createKeyRing([Buffer.alloc(32, 7).toString('base64')]);
let lists = 0;

beforeAll(async () => {
  fresh = await freshDatabase('sqlite');
  store = await openStore(fresh.database);
  await migrate(store, clock.now());
});
afterAll(async () => {
  await store.close();
  await fresh.remove();
});

const newPositions = (listHash = `list-${lists++}`): Positions =>
  storedPositions({ db: store.db, clock, keys }, { listHash: () => listHash, credentialId: 'cred_1' });

const positionsOf = (listHash: string) =>
  store.db.selectFrom('page_positions').selectAll().where('list_hash', '=', listHash).execute();

/** Returns a list of records 0 … total-1 with one paging style, which counts its calls. */
function thirdParty(paging: Paging, { total, cap, signal }: Behaviour) {
  const all: Json[] = Array.from({ length: total }, (_, id) => ({ id: id + 1 }));
  const calls: UpstreamCall['page'][] = [];
  const size = (params: Record<string, string | number>) => Math.min(cap, Number(params['limit'] ?? cap));
  const answer = (from: number, records: Json[]): UpstreamPage => {
    const end = from + records.length;
    return {
      records,
      lastRaw: records.at(-1),
      headers: {
        link:
          end < total
            ? `<https://api.test/first>; rel="first", </list?from=${end}&size=${records.length}>; rel="next"`
            : '',
      },
      body: {
        ...(signal === 'total' ? { total: String(total) } : {}),
        ...(signal === 'hasMore' ? { more: end < total } : {}),
        next: end < total ? `c${end}` : null,
      },
    };
  };
  const source: ListSource = {
    name: 'Test',
    paging,
    async fetch(page) {
      calls.push(page);
      if (paging.style === 'none') return answer(0, all);
      if (page && 'url' in page) {
        const url = new URL(page.url);
        const from = Number(url.searchParams.get('from'));
        return answer(from, all.slice(from, from + Number(url.searchParams.get('size'))));
      }
      const params = page?.params ?? {};
      const from =
        paging.style === 'offset'
          ? Number(params['offset'])
          : paging.style === 'page'
            ? (Number(params['page']) - 1) * size(params)
            : paging.style === 'cursor'
              ? Number(String(params['cursor'] ?? 'c0').slice(1))
              : Number(params['after'] ?? 0);
      return answer(from, all.slice(from, from + size(params)));
    },
    resolveLink: (link) => new URL(link, 'https://api.test/list').href,
  };
  return { source, all, calls };
}

function pagingOf(style: Paging['style'], { cap, signal, sized }: Behaviour, maxLimit: number): Paging {
  const common = {
    in: 'query' as const,
    maxLimit,
    ...(sized ? { limitParam: 'limit' } : { defaultLimit: cap }),
    ...(signal === 'total' ? { total: 'body:total' } : {}),
    ...(signal === 'hasMore' ? { hasMore: 'body:more' } : {}),
  };
  switch (style) {
    case 'offset':
      return { style, ...common, offsetParam: 'offset', firstOffset: 0 };
    case 'page':
      return { style, ...common, pageParam: 'page', firstPage: 1 };
    case 'cursor':
      return { style, ...common, cursorParam: 'cursor', next: 'body:next' };
    case 'keyset':
      return { style, ...common, cursorParam: 'after', field: 'id' };
    case 'link':
      return { style, ...common, next: 'header:Link' };
    default:
      return { style: 'none', maxLimit };
  }
}

const STYLES: Paging['style'][] = ['offset', 'page', 'cursor', 'keyset', 'link', 'none'];
const behaviour = fc.record({
  total: fc.integer({ min: 0, max: 130 }),
  cap: fc.integer({ min: 3, max: 60 }),
  signal: fc.constantFrom<Behaviour['signal']>('total', 'hasMore', 'none'),
  sized: fc.boolean(),
});
const limits = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 });

describe.each(STYLES)('paging of style %s', (style) => {
  test('a walk to the end with changing limits returns every record once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(behaviour, limits, fc.integer({ min: 1, max: 100 }), async (how, sizes, maxLimit) => {
        // Without any signal, a page below the requested size is the end, so such a third party must not cap below it.
        const most = how.signal === 'none' ? Math.min(maxLimit, how.cap) : maxLimit;
        const { source, all } = thirdParty(pagingOf(style, how, most), how);
        const positions = newPositions();
        const read: Json[] = [];
        for (let turn = 0; ; turn++) {
          const limit = sizes[turn % sizes.length] ?? 1;
          const page = await readPage(source, positions, { limit, offset: read.length });
          read.push(...page.records);
          if (!page.hasMore) break;
          expect(page.records).toHaveLength(limit);
        }
        expect(read).toEqual(all);
      }),
      { numRuns: IS_FULL ? 150 : 40 },
    );
  });

  test('any window, requested in any order, has the right records', async () => {
    const windows = fc.array(
      fc.record({ limit: fc.integer({ min: 1, max: 50 }), offset: fc.integer({ min: 0, max: 150 }) }),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(behaviour, windows, fc.integer({ min: 1, max: 100 }), async (how, asked, maxLimit) => {
        const most = how.signal === 'none' ? Math.min(maxLimit, how.cap) : maxLimit;
        const { source, all } = thirdParty(pagingOf(style, how, most), how);
        const positions = newPositions();
        for (const { limit, offset } of asked) {
          const page = await readPage(source, positions, { limit, offset });
          expect(page.records).toEqual(all.slice(offset, offset + limit));
          const more = offset + limit < all.length;
          // Without total, flag and next page, a full last page may promise one more; a short one never does.
          const exact = how.signal !== 'none' || ['cursor', 'link', 'none'].includes(style);
          expect(exact || more ? page.hasMore : more).toBe(more);
        }
      }),
      { numRuns: IS_FULL ? 150 : 40 },
    );
  });
});

const PLAIN: Behaviour = { total: 500, cap: 100, signal: 'total', sized: true };

test.each(['cursor', 'keyset', 'link'] as const)(
  'page n+1 of style %s costs one call, in any process',
  async (style) => {
    const { source, calls } = thirdParty(pagingOf(style, PLAIN, 100), PLAIN);
    const name = `shared-${style}`;
    for (let offset = 0; offset < 500; offset += 50) {
      calls.length = 0;
      // The positions are new each time, as in another process.
      await readPage(source, newPositions(name), { limit: 50, offset });
      expect(calls).toHaveLength(1);
    }
  },
);

test('later pages with a path of their own get only the cursor', async () => {
  const paging: Paging = {
    style: 'cursor',
    in: 'body',
    maxLimit: 100,
    limitParam: 'limit',
    cursorParam: 'cursor',
    next: 'body:next',
    nextPath: '/list/continue',
  };
  const { source, all, calls } = thirdParty(paging, PLAIN);
  const page = await readPage(source, newPositions(), { limit: 20, offset: 90 });
  expect(page).toEqual({ records: all.slice(90, 110), hasMore: true });
  expect(calls).toEqual([{ params: { limit: 100 } }, { params: { cursor: 'c100' }, path: '/list/continue' }]);
});

test('a window of page numbers costs one call whenever a page size holds it', async () => {
  const { source, calls } = thirdParty(pagingOf('page', PLAIN, 100), PLAIN);
  await readPage(source, newPositions(), { limit: 10, offset: 15 });
  expect(calls).toEqual([{ params: { page: 2, limit: 13 } }]);
});

test('positions expire after an hour, and are sealed in the store', async () => {
  const { source, calls } = thirdParty(pagingOf('cursor', PLAIN, 100), PLAIN);
  await readPage(source, newPositions('an hour'), { limit: 50, offset: 0 });
  const rows = await positionsOf('an hour');
  expect(rows).toHaveLength(1);
  expect(rows[0]?.position).not.toContain('c50');
  clock.advance(60 * 60 * 1000 + 1);
  calls.length = 0;
  await readPage(source, newPositions('an hour'), { limit: 50, offset: 50 });
  expect(calls[0]).toEqual({ params: { limit: 100 } });
});

test('a position that was altered or moved is not used', async () => {
  const { source, calls, all } = thirdParty(pagingOf('cursor', PLAIN, 100), PLAIN);
  await readPage(source, newPositions('mine'), { limit: 50, offset: 0 });
  await readPage(source, newPositions('theirs'), { limit: 10, offset: 0 });
  const [theirs] = await positionsOf('theirs');
  await store.db
    .updateTable('page_positions')
    .set({ position: theirs?.position ?? '' })
    .where('list_hash', '=', 'mine')
    .execute();
  calls.length = 0;
  const page = await readPage(source, newPositions('mine'), { limit: 50, offset: 50 });
  expect(page.records).toEqual(all.slice(50, 100));
  expect(calls[0]).toEqual({ params: { limit: 100 } });
});

test('a list stores at most a thousand positions', async () => {
  const how: Behaviour = { total: 3000, cap: 100, signal: 'total', sized: true };
  const { source } = thirdParty(pagingOf('cursor', how, 100), how);
  for (let offset = 0; offset < 1300; offset++) {
    await readPage(source, newPositions('long'), { limit: 1, offset });
  }
  expect((await positionsOf('long')).length).toBeLessThan(1070);
});

test('a far offset is reached in several requests, each of at most that many calls', async () => {
  const how: Behaviour = { total: 1000, cap: 3, signal: 'total', sized: true };
  const { source, calls, all } = thirdParty(pagingOf('cursor', how, 100), how);
  const positions = newPositions();
  const first = await readPage(source, positions, { limit: 5, offset: 700 }).catch((error: unknown) => error);
  expect(first).toBeInstanceOf(GatehouseError);
  expect(String(first)).toMatch(/input\.offset.*600 records were passed/);
  expect(calls).toHaveLength(MAX_CALLS);
  expect((await readPage(source, positions, { limit: 5, offset: 700 })).records).toEqual(all.slice(700, 705));
});

test.each([1, 2, 3, 7])('a third party that repeats a cycle of %i pages is refused', async (length) => {
  const paging = pagingOf('cursor', PLAIN, 100);
  const positions = newPositions();
  let calls = 0;
  const source: ListSource = {
    name: 'Circular',
    paging,
    async fetch(page) {
      calls++;
      const at = page && 'params' in page ? Number(String(page.params['cursor'] ?? 'c0').slice(1)) : 0;
      const records = Array.from({ length: 10 }, (_, id) => ({ id }));
      return { records, lastRaw: records.at(-1), headers: {}, body: { next: `c${(at % length) + 1}` } };
    },
    resolveLink: (link) => link,
  };
  const read = async () => {
    for (let offset = 0; ; offset += 10) await readPage(source, positions, { limit: 10, offset });
  };
  await expect(read()).rejects.toThrow(/Circular cannot be paged: it gives the same next page again/);
  expect(calls).toBeLessThan(4 * length + 4);
});

test('an empty page with a next cursor is skipped, and the same cursor ends the list', async () => {
  const cursors: unknown[] = [];
  const source: ListSource = {
    name: 'Sparse',
    paging: pagingOf('cursor', PLAIN, 100),
    async fetch(page) {
      const cursor = page && 'params' in page ? page.params['cursor'] : undefined;
      cursors.push(cursor);
      const next = cursor === undefined ? 'a' : 'b';
      const records = cursor === 'a' ? [{ id: 1 }] : [];
      return { records, lastRaw: records.at(-1), headers: {}, body: { next } };
    },
    resolveLink: (link) => link,
  };
  const positions = newPositions();
  for (const _ of [1, 2]) {
    cursors.length = 0;
    const page = await readPage(source, positions, { limit: 10, offset: 0 });
    expect(page).toEqual({ records: [{ id: 1 }], hasMore: false });
    // Offset 0 starts from the beginning, although a position at 0 after the empty page is stored.
    expect(cursors).toEqual([undefined, 'a', 'b']);
  }
});

test('a cursor that the third party dropped is reached by a new walk', async () => {
  const honest = thirdParty(pagingOf('cursor', PLAIN, 100), PLAIN);
  const positions = newPositions();
  await readPage(honest.source, positions, { limit: 50, offset: 0 });
  let refused = 0;
  const forgetful: ListSource = {
    ...honest.source,
    async fetch(page) {
      if (page && 'params' in page && page.params['cursor'] === 'c50' && refused++ === 0) {
        throw new GatehouseError('upstream_rejected', 'unknown cursor');
      }
      return honest.source.fetch(page);
    },
  };
  const page = await readPage(forgetful, positions, { limit: 50, offset: 50 });
  expect(page.records).toEqual(honest.all.slice(50, 100));
});

test('a dropped cursor deletes the other positions of its list', async () => {
  const honest = thirdParty(pagingOf('cursor', PLAIN, 50), PLAIN);
  const positions = newPositions('dropped');
  for (const offset of [0, 50, 100, 150]) await readPage(honest.source, positions, { limit: 50, offset });
  const forgetful: ListSource = {
    ...honest.source,
    async fetch(page) {
      const cursor = page && 'params' in page ? page.params['cursor'] : undefined;
      if (cursor === 'c100') throw new GatehouseError('upstream_rejected', 'unknown cursor');
      return honest.source.fetch(page);
    },
  };
  await readPage(forgetful, positions, { limit: 50, offset: 100 }).catch(() => {});
  expect(await positionsOf('dropped')).toEqual([]);
});

test('pages larger than requested are counted by their real size', async () => {
  const all = Array.from({ length: 95 }, (_, id) => ({ id }));
  const source: ListSource = {
    name: 'Generous',
    paging: { ...pagingOf('page', PLAIN, 100) },
    async fetch(page) {
      const number = page && 'params' in page ? Number(page.params['page']) : 1;
      const records = all.slice((number - 1) * 25, number * 25);
      return { records, lastRaw: records.at(-1), headers: {}, body: { total: all.length } };
    },
    resolveLink: (link) => link,
  };
  for (const [limit, offset] of [
    [10, 0],
    [10, 30],
    [7, 88],
    [20, 40],
  ] as const) {
    const page = await readPage(source, newPositions(), { limit, offset });
    expect(page).toMatchObject({ records: all.slice(offset, offset + limit), hasMore: offset + limit < 95 });
  }
});

test('a number of pages marks the end of a list of page numbers', async () => {
  const all = Array.from({ length: 40 }, (_, id) => ({ id }));
  const source: ListSource = {
    name: 'Numbered',
    paging: {
      style: 'page',
      in: 'query',
      pageParam: 'page',
      firstPage: 1,
      limitParam: 'limit',
      maxLimit: 20,
      totalPages: 'body:pages',
    },
    async fetch(page) {
      const params = page && 'params' in page ? page.params : {};
      const size = Number(params['limit']);
      const from = (Number(params['page']) - 1) * size;
      const records = all.slice(from, from + size);
      return { records, lastRaw: records.at(-1), headers: {}, body: { pages: Math.ceil(40 / size) } };
    },
    resolveLink: (link) => link,
  };
  expect((await readPage(source, newPositions(), { limit: 20, offset: 0 })).hasMore).toBe(true);
  expect((await readPage(source, newPositions(), { limit: 20, offset: 20 })).hasMore).toBe(false);
});

test('a refused page after the end ends the list, and a refused first page is an error', async () => {
  const honest = thirdParty(pagingOf('page', PLAIN, 50), { ...PLAIN, total: 50 });
  const strict: ListSource = {
    ...honest.source,
    async fetch(page) {
      if (page && 'params' in page && Number(page.params['page']) > 1) {
        throw new GatehouseError('upstream_rejected', 'no such page');
      }
      return honest.source.fetch(page);
    },
  };
  expect(await readPage(strict, newPositions(), { limit: 50, offset: 50 })).toEqual({
    records: [],
    hasMore: false,
  });
  const closed: ListSource = {
    ...honest.source,
    fetch: async () => {
      throw new GatehouseError('upstream_rejected', 'no such filter');
    },
  };
  await expect(readPage(closed, newPositions(), { limit: 50, offset: 50 })).rejects.toThrow('no such filter');
});

test.each([
  ['offset', 'total', true],
  ['offset', 'none', false],
  ['page', 'total', true],
  ['page', 'none', false],
] as const)(
  'a refused page by %s is no end where the app said that it follows (%s)',
  async (style, signal, isSaid) => {
    const all = Array.from({ length: 30 }, (_, id) => ({ id }));
    const source: ListSource = {
      name: 'Short',
      paging: pagingOf(style, { ...PLAIN, signal }, 10),
      async fetch(page) {
        const params = page && 'params' in page ? page.params : {};
        const from = style === 'page' ? (Number(params['page']) - 1) * 10 : Number(params['offset']);
        if (from >= 20) throw new GatehouseError('upstream_rejected', 'no further than 20');
        const records = all.slice(from, from + 10);
        return { records, lastRaw: records.at(-1), headers: {}, body: { total: all.length } };
      },
      resolveLink: (link) => link,
    };
    const read = (offset: number, isPromised?: boolean) =>
      readPage(source, newPositions(), { limit: 10, offset, ...(isPromised && { isPromised }) });
    const { isPromised = false } = await read(10);
    expect(isPromised).toBe(isSaid);
    expect(await read(20, isPromised)).toMatchObject({ records: [], hasMore: isSaid });
  },
);

test('a total ends a list of keys whose last page is full', async () => {
  const how: Behaviour = { total: 40, cap: 100, signal: 'total', sized: true };
  const { source } = thirdParty(pagingOf('keyset', how, 100), how);
  expect((await readPage(source, newPositions(), { limit: 20, offset: 0 })).hasMore).toBe(true);
  expect((await readPage(source, newPositions(), { limit: 20, offset: 20 })).hasMore).toBe(false);
});
