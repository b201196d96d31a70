import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultsOfFile, lineOf, startFileApp, type Arrived, type FileApp } from '../../support/file-app.ts';

/** An app that pages by headers, and answers with dictionaries and tables. */
const FILE = `baseUrl: '{origin}'
authentication: [{type: bearer}]
errors: {message: [message]}
paging:
  ranges: {style: offset, in: header, offsetParam: Range, range: 'items={from}-{to}', maxLimit: 20, total: 'header:Content-Range'}
  cursors: {style: cursor, in: header, cursorParam: X-Cursor, limitParam: X-Size, next: 'header:X-Next-Cursor', maxLimit: 20}
  none: {style: none}
  keys: {style: keyset, cursorParam: after, field: id, limitParam: size, maxLimit: 20}
actions:
  list_ranges: {description: By ranges., request: GET /ranges, paging: ranges}
  list_cursors: {description: By cursors., request: GET /cursors, paging: cursors, response: {data: items}}
  list_coins:
    description: A dictionary of objects.
    request: GET /coins
    paging: keys
    response: {data: coins, keyedBy: id, map: '{"id": id, "price": usd}'}
  list_rates:
    description: A dictionary of numbers.
    request: GET /rates
    paging: none
    response: {data: rates, keyedBy: currency, map: '{"currency": currency, "rate": value}'}
  list_rows:
    description: A table.
    request: GET /rows
    paging: none
    response: {data: rows, columns: {at: schema.fields, name: name, cells: f, value: v}}
`;

const ALL = Array.from({ length: 45 }, (_, index) => ({ id: index }));

function answerTo({ path, headers, query }: Arrived) {
  if (path === '/ranges') {
    const [, from = '0', to = '0'] = /^items=(\d+)-(\d+)$/.exec(String(headers.range)) ?? [];
    if (Number(from) >= ALL.length) return { status: 416, body: { message: 'no such range' } };
    const records = ALL.slice(Number(from), Number(to) + 1);
    const range = `items ${from}-${Number(from) + records.length - 1}/${ALL.length}`;
    return { status: 206, headers: { 'content-range': range }, body: records };
  }
  if (path === '/cursors') {
    const from = Number(headers['x-cursor'] ?? 0);
    const end = from + Number(headers['x-size']);
    const next: Record<string, string> = end < ALL.length ? { 'x-next-cursor': String(end) } : {};
    return { headers: next, body: { items: ALL.slice(from, end) } };
  }
  if (path === '/coins') {
    const names = ALL.map(({ id }) => `c${String(id).padStart(2, '0')}`);
    const from = names.findIndex((name) => name > (query.get('after') ?? ''));
    const page = from < 0 ? [] : names.slice(from, from + Number(query.get('size')));
    return { body: { coins: Object.fromEntries(page.map((name) => [name, { usd: 1 }])) } };
  }
  if (path === '/rates') return { body: { rates: { EUR: 1, JPY: 160.5 } } };
  const fields = [{ name: 'word' }, { name: 'count' }];
  return { body: { schema: { fields }, rows: [{ f: [{ v: 'a' }, { v: '3' }] }, { f: [{ v: 'b' }] }] } };
}

describe('lists of unusual apps', () => {
  let app: FileApp;
  beforeAll(async () => {
    app = await startFileApp(FILE);
    app.answer = answerTo;
    await app.connect({ token: 'token-of-the-tests' });
  });
  afterAll(() => app[Symbol.asyncDispose]());
  beforeEach(() => void (app.seen.length = 0));

  /** Returns every record, page by page. */
  const allOf = async (actionId: string, limit: number) => {
    const records: unknown[] = [];
    for (let offset = 0; ;) {
      const page = await app.execute(actionId, { limit, offset });
      expect(page.status).toBe(200);
      const data = page.at('data');
      records.push(...(Array.isArray(data) ? data : []));
      if (page.at('pagination.hasMore') !== true) return records;
      offset = Number(page.at('pagination.nextOffset'));
    }
  };

  test.each(['list_ranges', 'list_cursors'])('the action %s returns every record once', async (actionId) => {
    expect(await allOf(actionId, 7)).toEqual(ALL);
    expect(await allOf(actionId, 50)).toEqual(ALL);
  });

  test('the size of a Content-Range ends the list without a further call', async () => {
    await app.execute('list_ranges', { limit: 15, offset: 30 });
    expect(app.seen.map(({ headers }) => headers.range)).toEqual(['items=30-44']);
  });

  test('a range after the end is an empty page', async () => {
    const page = await app.execute('list_ranges', { offset: 100, limit: 5 });
    expect([page.status, page.at('data'), page.at('pagination.hasMore')]).toEqual([200, [], false]);
  });

  test('a dictionary is paged by the names of its records', async () => {
    const coins = await allOf('list_coins', 20);
    expect(coins).toHaveLength(45);
    expect(coins[44]).toEqual({ id: 'c44', price: 1 });
  });

  test('the numbers of a dictionary become records', async () => {
    expect((await app.execute('list_rates')).at('data')).toEqual([
      { currency: 'EUR', rate: 1 },
      { currency: 'JPY', rate: 160.5 },
    ]);
  });

  test('the rows of a table become records named by its columns', async () => {
    expect((await app.execute('list_rows')).at('data')).toEqual([
      { word: 'a', count: '3' },
      { word: 'b', count: null },
    ]);
  });

  test('an empty dictionary that comes as a list is an empty page', async () => {
    app.answer = () => ({ body: { rates: [] } });
    expect((await app.execute('list_rates')).at('data')).toEqual([]);
    app.answer = answerTo;
  });
});

describe('a planted fault is found with its line', () => {
  test.each<[from: string, to: string, fault: string]>([
    ['{from}-{to}', 'to {to}', 'must name {from}'],
    [
      'cursorParam: X-Cursor',
      'cursorParam: Authorization',
      '"Authorization" is no header that paging can set',
    ],
    ['keyedBy: currency', 'keyedBy: currency, columns: {at: names}', 'is not used with keyedBy'],
    ['GET /rates\n    paging: none', 'GET /rates', 'keyedBy: is for list actions'],
  ])('a planted fault of a list is found with its line: %s', async (from, to, fault) => {
    const file = FILE.replace(from, to);
    const faults = await faultsOfFile(file);
    expect(faults.join('\n')).toContain(fault);
    expect(faults.some((one) => Number(one.split(' ')[0]) >= lineOf(file, 'paging:'))).toBe(true);
  });
});
