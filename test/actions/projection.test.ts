import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { fieldsSchema, projectFields } from '../../src/actions/projection.ts';

const ORDER: JsonObject = {
  id: 1,
  customer: { name: 'Ada', email: 'ada@example.com', address: null },
  lines: [
    { sku: 'a', quantity: 2 },
    { sku: 'b', note: 'gift' },
  ],
  'a.b': true,
};

describe('the requested members', () => {
  test.each([
    [['id'], { id: 1 }, []],
    [['customer.email', 'id'], { customer: { email: 'ada@example.com' }, id: 1 }, []],
    [['lines.sku'], { lines: [{ sku: 'a' }, { sku: 'b' }] }, []],
    [['lines.note'], { lines: [{}, { note: 'gift' }] }, []],
    [['customer', 'customer.email'], { customer: ORDER['customer'] ?? null }, []],
    [['customer.email', 'customer'], { customer: ORDER['customer'] ?? null }, []],
    [['a\\.b'], { 'a.b': true }, []],
    [['customer.address.city'], { customer: { address: null } }, ['customer.address.city']],
    [
      ['id.deeper', 'none', '__proto__', 'constructor'],
      {},
      ['id.deeper', 'none', '__proto__', 'constructor'],
    ],
  ])('the requested fields %j of a record are picked', (paths, value, unmatched) => {
    expect(projectFields(ORDER, paths)).toEqual({ value, unmatched });
  });

  test('requested fields are picked from each record of a list that has them', () => {
    const list = [ORDER, { id: 2 }, null, 'text'];
    expect(projectFields(list, ['id', 'lines.sku'])).toEqual({
      value: [{ id: 1, lines: [{ sku: 'a' }, { sku: 'b' }] }, { id: 2 }, null],
      unmatched: [],
    });
  });

  test('requested fields have no unmatched paths in an empty value', () => {
    expect(projectFields([], ['id'])).toEqual({ value: [], unmatched: [] });
    expect(projectFields(null, ['id'])).toEqual({ value: null, unmatched: [] });
  });
});

test.each([[[]], [['']], [['a..b']], [['.a']], [['x'.repeat(201)]], [Array.from({ length: 51 }, () => 'a')]])(
  'the list of requested fields refuses %j',
  (fields) => {
    expect(fieldsSchema.safeParse(fields).success).toBe(false);
  },
);
