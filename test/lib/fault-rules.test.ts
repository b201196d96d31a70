import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventSources } from '../../src/connectors/format/events-format.ts';
import { faultsOf, invalidValue } from '../../src/lib/errors.ts';
import { forFaults } from '../../src/lib/for-faults.ts';

const faults = (schema: z.ZodType, value: unknown) =>
  faultsOf(schema.safeParse(value, forFaults()).error?.issues ?? []);

describe('the fault of a value that no form of a union takes', () => {
  const form = z.strictObject({
    id: z.union([z.string(), z.array(z.string())]),
    mode: z.union([z.literal('all'), z.int()]).optional(),
    one: z.union([z.strictObject({ a: z.string() }), z.string()]).optional(),
  });

  test('the fault of a value outside of a union names every form', () => {
    expect(faults(form, { id: 1, mode: 'none' })).toEqual([
      { field: 'id', rule: 'must be text or a list' },
      { field: 'mode', rule: 'must be all or a number' },
    ]);
  });

  test('the fault of a union is inside of the form that has the type of the value', () => {
    expect(faults(form, { id: 'x', one: { a: 1 } })).toEqual([
      { field: 'one.a', rule: 'must be text: write "1" in quotes' },
    ]);
  });

  test('the fault of a missing union says that the value is required', () => {
    expect(faults(form, {})).toEqual([{ field: 'id', rule: 'is required' }]);
  });
});

test('the id of an event is text, or a list of several texts', () => {
  const found = faults(eventSources, { orders: { description: 'Orders.', remoteId: ['id'] } });
  expect(found).toContainEqual({ field: 'orders.remoteId', rule: 'must be text, or a list of 2 to 4 texts' });
});

test('the fault of a short or long value names the bound with its unit', () => {
  const schema = z.object({ a: z.string().min(1), b: z.array(z.int()).max(2), c: z.int().max(5) });
  expect(faults(schema, { a: '', b: [1, 2, 3], c: 6 })).toEqual([
    { field: 'a', rule: 'must be at least 1 character' },
    { field: 'b', rule: 'must be at most 2 items' },
    { field: 'c', rule: 'must be at most 5' },
  ]);
});

test('names are proposed for the first 200 unknown members', () => {
  const schema = z.strictObject({ username: z.string().optional() });
  const value = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`usernam_${at}`, at]));
  const { error } = schema.safeParse(value, forFaults());
  const proposals = error?.issues.flatMap(({ message }) => message.split('\n'));
  expect(proposals).toHaveLength(200);
  const { details } = invalidValue(error?.issues ?? [], 'The body');
  expect(details).toMatchObject({ faults: { length: 50 }, moreFaults: 4950 });
});

test('values outside of a list have proposals for the first 200 faults', () => {
  const schema = z.array(z.enum(['red', 'green']));
  const { error } = schema.safeParse(Array(5000).fill('gren'), forFaults());
  const proposed = error?.issues.filter(({ message }) => message.includes('Did you mean')) ?? [];
  expect(proposed).toHaveLength(200);
});
