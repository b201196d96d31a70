import { describe, expect, test } from 'vitest';
import { parseYaml } from '../../src/connectors/parse.ts';
import { readDefinition } from '../../src/custom/custom-definition.ts';

/* A text of YAML costs time in proportion to its length, or is refused. */

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');
const read = (text: string) => parseYaml(text, 'app.yaml');

describe('a YAML text', () => {
  test('a YAML text with 80,000 members is read', () => {
    const { value } = Object(read(lines(80_000, (at) => `k${at}: 1`)));
    expect(Object.keys(value)).toHaveLength(80_000);
  });

  test('a YAML text that repeats a member in any mapping is refused with its line', () => {
    expect(read('a: 1\nb:\n  c: 1\n  "c": 2\n')).toMatchObject({
      faults: [{ line: 4, rule: expect.stringContaining('repeats a member of the same mapping') }],
    });
  });

  test('a YAML text may merge several anchors into one mapping', () => {
    const { value } = Object(read('a: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: *a\n  <<: *b\n'));
    expect(value.c).toEqual({ x: 1, y: 2 });
  });

  test.each([
    ['many merge keys', `a: &a {x: 1}\nb:\n${lines(30_000, () => '  <<: *a')}`, /1000 aliases/],
    ['many unknown aliases', `b:\n${lines(50_000, () => ' - *x')}`, /1000 aliases/],
    [
      'large mappings merged many times',
      `a: &a {${lines(20_000, (at) => `k${at}: 1,`).replaceAll('\n', ' ')}}\nb:\n${lines(90, () => '  - {<<: *a}')}`,
      /merge keys/,
    ],
    [
      'merges that double at each level',
      `m0: &m0 {x: 1}\n${lines(40, (at) => `m${at + 1}: &m${at + 1} {<<: [*m${at}, *m${at}]}`)}`,
      /merge keys|alias/,
    ],
    ['brackets a hundred thousand deep', `a: ${'['.repeat(100_000)}`, /deep/],
  ])('a YAML text with %s is refused', (_, text, rule) => {
    expect(read(text)).toMatchObject({ faults: [{ rule: expect.stringMatching(rule) }] });
  });
});

test('a definition of 2,002 actions is refused', () => {
  const actions = lines(2002, (at) => `  get_${at}: { description: Reads it., request: GET /${at} }`);
  const { faults } = readDefinition(
    { kind: 'definition', source: `id: many\nactions:\n${actions}`, overlay: undefined },
    'definition',
  );
  expect(faults).toMatchObject([{ rule: 'must have at most 2001 actions' }]);
});
