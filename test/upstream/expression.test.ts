import { describe, expect, test } from 'vitest';
import { mapValue } from '../../src/upstream/expression.ts';

describe('a regular expression of a mapping', () => {
  test.each([
    ['$match(x, /(b)(z)?/i).{"at": index, "groups": groups}', 'aBab'],
    ['$split(x, /\\s*,\\s*/)', 'a, b ,c,,d'],
    ['$replace(x, /(\\d+)-(\\w)/, "$2:$1")', '12-a and 7-b'],
    ['$contains(x, /^-?\\d{1,3}$/)', '-12'],
    ['$match(x, /^a/).match', 'aaa'],
    ['$match(x, /é+/).index', 'aéé€é'],
    ['$match(x, /^b$/m).index', 'a\nb\nc'],
  ])('the expression %s has the same result as in V8', async (expression, x) => {
    const { default: jsonata } = await import('jsonata');
    const wanted: unknown = await jsonata(expression).evaluate({ x });
    expect(await mapValue(expression, { x })).toEqual(JSON.parse(JSON.stringify(wanted)));
  });

  test('a regular expression of a mapping that never ends in V8 ends here', async () => {
    expect(await mapValue('$contains(x, /^(a+)+$/)', { x: `${'a'.repeat(60)}!` })).toBe(false);
  });

  test('a regular expression without linear time is refused', async () => {
    await expect(mapValue('$contains(x, /(?=a)/)', { x: 'a' })).rejects.toThrow('must be a pattern of RE2');
  });

  test('a regular expression of a mapping is refused for a text that is too long', async () => {
    const run = (length: number) => mapValue('$contains(x, /^(?:[ab]{900}c)?$/)', { x: 'a'.repeat(length) });
    expect(await run(1000)).toBe(false);
    await expect(run(10_000)).rejects.toThrow('The text is too long for a regular expression.');
  });
});
