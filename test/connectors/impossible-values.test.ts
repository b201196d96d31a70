import { describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../src/connectors/format/format.ts';
import { forgiven } from '../../src/connectors/schemas/forgive.ts';
import { compileSchema } from '../../src/connectors/schemas/validate.ts';
import { parseJson, type Json } from '../../src/lib/json.ts';
import { fileOfTools } from '../../src/remote/tools-file.ts';

/* Schemas whose values have another type, and what their messages make of it. */

const TYPES: unknown[] = ['string', 'integer', 'boolean', 'array', 'object', ['string', 'null'], undefined];
const LISTS: Json[][] = [['1', '2'], [1, 2], [true], ['a', 1], ['a', null], [[1]]];
const GIVEN: Json[] = ['1', 1, 'a', true, 'true', null, 1.5, [1], { a: 1 }, 'none'];

/** Returns the same type and values in several forms of a schema. */
function formsOf(type: unknown, values: Json[]): JsonSchema[] {
  const typed = type === undefined ? {} : { type };
  const [only = null] = values;
  return [
    { ...typed, enum: values },
    { ...typed, const: only },
    { ...typed, allOf: [{ enum: values }] },
    { allOf: [typed, { enum: values }] },
    { ...typed, anyOf: [{ enum: values }, { const: only }] },
  ];
}

/** Returns a check of a member that gives its faults after the corrections that every caller gets. */
function checkOf(schema: JsonSchema): (value: Json) => string[] {
  const whole = { type: 'object', properties: { it: schema } };
  const check = compileSchema(whole);
  return (value) => check(forgiven(whole, { it: value }).input).map(({ rule }) => rule);
}

/** Returns the value that a caller sends after a message. */
function followed(rule: string, { type }: JsonSchema, given: Json): Json {
  const [, quoted] = /write "(.*)" in quotes/.exec(rule) ?? [];
  if (quoted !== undefined) return quoted;
  const [, plain] = /write (.*?)(?: without quotes)?$/.exec(rule) ?? [];
  if (plain !== undefined) return parseJson(plain);
  const [, list] = /must be one of: (.+)$/.exec(rule) ?? [];
  const first = /^(\[.*?\]|\{.*?\}|.*?)(?:, |\. Did|$)/.exec(list ?? '')?.[1] ?? '';
  if (first.startsWith('"')) return parseJson(first);
  const isText = [type].flat().includes('string') && first !== 'null';
  try {
    return isText ? first : parseJson(first);
  } catch {
    return first === '' ? given : first;
  }
}

describe.each(TYPES.map((type) => ({ name: JSON.stringify(type) ?? 'no type', type })))(
  'a member of $name',
  ({ type }) => {
    test.each(LISTS.map((values) => ({ list: JSON.stringify(values), values })))(
      'the fault rules for the values $list send no caller in a circle',
      ({ values }) => {
        const circles = formsOf(type, values).flatMap((schema) => {
          const check = checkOf(schema);
          return GIVEN.flatMap((given) => {
            const [rule] = check(given);
            if (rule === undefined || rule.includes('no other value helps')) return [];
            const next = followed(rule, schema, given);
            const [again] = check(next);
            const isHelped = again === undefined || again.includes('no other value helps');
            return isHelped ? [] : [`${JSON.stringify(schema)} ${JSON.stringify(given)}: ${rule} | ${again}`];
          });
        });
        expect(circles).toEqual([]);
      },
    );
  },
);

describe('a tool of a remote server', () => {
  const fileOf = (inputSchema: object) =>
    fileOfTools(
      { connectorId: 'far', url: 'https://far.example.com', authentication: { type: 'none' } },
      { tools: [{ name: 'open', inputSchema }], readOn: '2026-11-28' },
    );

  test('a remote tool gets values of the type of its parameters, at any depth', async () => {
    const { file, report } = await fileOf({
      type: 'object',
      properties: {
        size: { type: 'integer', enum: ['1', '2'], default: '1' },
        tags: { type: 'array', items: { anyOf: [{ type: 'string', enum: [1, 'b'] }, { type: 'null' }] } },
      },
    });
    expect(file).toMatchObject({
      actions: {
        open: {
          input: {
            properties: {
              size: { enum: [1, 2], default: 1 },
              tags: { items: { anyOf: [{ enum: ['1', 'b'] }, { type: 'null' }] } },
            },
          },
        },
      },
    });
    expect(report.changed).toEqual([{ name: 'open', change: expect.stringContaining('type integer now') }]);
  });

  test('a remote tool accepts every object when a parameter takes no value', async () => {
    const { file, report } = await fileOf({
      type: 'object',
      properties: { size: { allOf: [{ type: 'integer' }, { type: 'string' }] } },
    });
    expect(file).toMatchObject({ actions: { open: { input: { type: 'object' } } } });
    expect(report.changed[0]?.change).toContain('input.properties.size takes no value');
  });
});

describe('null in a choice of objects', () => {
  const text = { type: 'string' };
  const contact = (name: string, schema: object = text) => ({
    type: 'object',
    properties: { [name]: schema },
    required: [name],
  });
  const readWith = (branches: object[], who: Json) =>
    forgiven({ type: 'object', properties: { who: { oneOf: branches } } }, { who });

  test('null is left out where the matching alternative of a choice does not need it', () => {
    const { input, corrections } = readWith([contact('email'), contact('phone')], {
      email: 'a@b.example',
      phone: null,
    });
    expect(input).toEqual({ who: { email: 'a@b.example' } });
    expect(corrections).toEqual([{ path: 'who.phone', from: null, to: '(left out)' }]);
  });

  test.each<[string, object[], Json]>([
    ['no alternative fits', [contact('email'), contact('phone')], { email: null, phone: null }],
    [
      'an alternative takes null',
      [contact('email'), contact('phone', { type: ['string', 'null'] })],
      { email: 'a', phone: null },
    ],
    ['no alternative knows the member', [contact('email'), contact('phone')], { email: 'a', fax: null }],
  ])('null in a choice of objects stays where %s', (_, branches, who) => {
    expect(readWith(branches, who)).toEqual({ input: { who }, corrections: [] });
  });
});
