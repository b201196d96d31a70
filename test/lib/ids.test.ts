import { describe, expect, test } from 'vitest';
import { newId, newOrderedId } from '../../src/lib/ids.ts';

describe('ids', () => {
  test('ids begin with their kind, have 22 digits, and are unique', () => {
    const ids = Array.from({ length: 1000 }, () => newId('cred'));
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^cred_[0-9A-Za-z]{22}$/);
  });

  test('ids ordered by time sort as their times do, byte by byte', () => {
    const times = [0, 1, 61, 62, 1_763_000_000_000, 1_763_000_000_001, 1_999_999_999_999];
    const ids = times.map((time) => newOrderedId('exe', time));
    for (const id of ids) expect(id).toMatch(/^exe_[0-9A-Za-z]{22}$/);
    expect(ids.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(ids);
    expect(newOrderedId('exe', 5)).not.toBe(newOrderedId('exe', 5));
  });
});
