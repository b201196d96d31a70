import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildRequest } from '../../src/upstream/request.ts';
import { callOf } from '../support/upstream.ts';

const ACTION = `request: GET /query
escape: backslash
parts:
  email: {type: string}
  min: {type: number}
  order: {type: string, enum: [ASC, DESC]}
compose:
  q:
    - SELECT Id FROM Contact
    - {before: 'WHERE ', join: ' AND ', all: ["Email = '{email}'", 'Score > {min}']}
    - ORDER BY Id {order}`;

const DOUBLED = ACTION.replace('backslash', 'double');

const textOf = async (input: { [name: string]: string | number }, action = ACTION) => {
  const { url } = await buildRequest(callOf({ action }, { input }), 0);
  return new URL(url).searchParams.get('q');
};

describe('a text in a query language', () => {
  test('a text in a query language leaves out clauses without a value', async () => {
    expect(await textOf({})).toBe('SELECT Id FROM Contact');
    expect(await textOf({ min: 3, order: 'DESC' })).toBe(
      'SELECT Id FROM Contact WHERE Score > 3 ORDER BY Id DESC',
    );
    expect(await textOf({ email: 'a@b.c', min: 0.5 })).toBe(
      "SELECT Id FROM Contact WHERE Email = 'a@b.c' AND Score > 0.5",
    );
  });

  test('a text in a query language keeps any value between its quotes', async () => {
    expect(await textOf({ email: "x' OR Id != '" })).toBe(
      String.raw`SELECT Id FROM Contact WHERE Email = 'x\' OR Id != \''`,
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("'", '\\', '"', 'a', ' OR ', '{min}'), { maxLength: 8 }),
        async (signs) => {
          const value = signs.join('');
          const text = (await textOf({ email: value })) ?? '';
          const written = text.slice("SELECT Id FROM Contact WHERE Email = '".length, -1);
          expect(text.endsWith("'")).toBe(true);
          // A reader of the language gets the value back, and no quote stands alone.
          expect(written.replaceAll(/\\([\s\S])/g, '$1')).toBe(value);
          expect(written.replaceAll(/\\[\s\S]/g, '')).not.toMatch(/['\\]/);
        },
      ),
    );
  });

  test('a text in a query language doubles quotes where the language requires it', async () => {
    expect(await textOf({ email: "O'Neil" }, DOUBLED)).toBe("SELECT Id FROM Contact WHERE Email = 'O''Neil'");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("'", "' or 1=1 --", '\\', '"', 'a', '{min}'), { maxLength: 8 }),
        async (signs) => {
          const value = signs.join('');
          const text = (await textOf({ email: value, min: 1 }, DOUBLED)) ?? '';
          // A reader of such a language finds one value, and the text after it is that of the file.
          const [, written = '', rest] =
            /^SELECT Id FROM Contact WHERE Email = '((?:[^']|'')*)'(?!')(.*)$/s.exec(text) ?? [];
          expect(written.replaceAll("''", "'")).toBe(value);
          expect(rest).toBe(' AND Score > 1');
        },
      ),
    );
  });

  test('a parameter of a query language is quoted by the rules of the language', async () => {
    const url = async (escape: string, quote: string, value: string) => {
      const action = `request: GET /a\nquery:\n  x: {type: string, quote: ${quote}}`;
      const built = await buildRequest(
        callOf({ head: `escape: ${escape}`, action }, { input: { x: value } }),
        0,
      );
      return new URL(built.url).searchParams.get('x');
    };
    expect(await url('double', 'single', "a' or '1'='1\\")).toBe("'a'' or ''1''=''1\\'");
    expect(await url('double', 'double', 'a"b')).toBe('"a""b"');
    expect(await url('backslash', 'single', "a'b\\")).toBe("'a\\'b\\\\'");
  });

  test('a text in a query language includes the parameters of its paging', async () => {
    const action = `request: GET /query
compose: {q: ['select * from Invoice', 'STARTPOSITION {start} MAXRESULTS {max}']}
paging: {style: offset, in: compose, offsetParam: start, firstOffset: 1, limitParam: max, maxLimit: 100}`;
    const call = callOf({ action }, { page: { params: { start: 51, max: 50 } } });
    const { url } = await buildRequest(call, 0);
    expect([...new URL(url).searchParams]).toEqual([
      ['q', 'select * from Invoice STARTPOSITION 51 MAXRESULTS 50'],
    ]);
  });
});

test('a repeated write has its key in a query parameter where the app expects it', async () => {
  const parts = {
    head: 'idempotencyQuery: requestid',
    action: 'request: POST /a\nbody: {x: {type: string}}',
  };
  const { url } = await buildRequest(callOf(parts, { idempotencyKey: 'k-1' }), 0);
  expect(url).toBe('https://api.example.com/v1/a?requestid=k-1');
  const read = { ...parts, action: 'request: GET /a' };
  expect((await buildRequest(callOf(read, { idempotencyKey: 'k-1' }), 0)).url).not.toContain('k-1');
});
