import { describe, expect, it } from 'vitest';
import { createSlots } from '../../src/lib/slots.ts';

describe('slots', () => {
  it('return each value by its number until it is removed', () => {
    const slots = createSlots<string>();
    const first = slots.add('first');
    const second = slots.add('second');
    expect(first).not.toBe(second);
    slots.remove(first);
    expect(slots.get(first)).toBeUndefined();
    expect(slots.get(second)).toBe('second');
  });

  it('give the number of a removed value to one later value only', () => {
    const slots = createSlots<string>();
    const first = slots.add('first');
    slots.remove(first);
    slots.remove(first);
    const numbers = [slots.add('second'), slots.add('third')];
    expect(new Set(numbers).size).toBe(2);
    expect(numbers.map(slots.get)).toEqual(['second', 'third']);
  });

  it('have nothing at numbers that were never given', () => {
    expect(createSlots<string>().get(Number.NaN)).toBeUndefined();
  });
});
