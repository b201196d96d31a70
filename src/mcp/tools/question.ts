import type { Question } from '../../actions/execute.ts';
import { withoutHidden } from '../../lib/hidden.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';

/** More than this is not read before it is agreed to. */
export const MAX_PARAMETER_CHARS = 8000;
/** Characters shown of each end of a long value: as many as fit. */
const ENDS = [2000, 500, 150, 50];
const NAME_ENDS = 100;
const INDENT = '  ';

/**
 * What a person reads before they agree to a call: the action, the account, and every parameter. Long values are cut in
 * their middle, which says how much is left out, and hidden characters are written out. Undefined when the names and
 * the ends of all values do not fit: what cannot be shown cannot be agreed to.
 */
export function questionFor({ connector, action, effect, input, credential }: Question): string | undefined {
  const account = credential?.account?.name ?? credential?.name;
  const parameters = shown(input);
  if (parameters === undefined) return undefined;
  return [
    `Run "${action.name}" in ${connector.name}? Its effect: ${effect}.`,
    ...(account === undefined ? [] : [`Account: ${quoted(account, NAME_ENDS)}`]),
    `Parameters: ${parameters}`,
  ].join('\n');
}

function shown(input: Json): string | undefined {
  for (const ends of ENDS) {
    const text = render(input, ends);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The value as indented JSON with cut texts; undefined as soon as it is too long. */
function render(input: Json, ends: number): string | undefined {
  let text = '';
  const add = (piece: string): boolean => {
    text += piece;
    return text.length <= MAX_PARAMETER_CHARS;
  };
  const addMembers = (brackets: string, members: [name: string, value: Json][], indent: string): boolean => {
    const inner = indent + INDENT;
    const [open = '', close = ''] = brackets;
    if (members.length === 0) return add(brackets);
    const fits = members.every(
      ([name, value], index) => add(`${index === 0 ? open : ','}\n${inner}${name}`) && addValue(value, inner),
    );
    return fits && add(`\n${indent}${close}`);
  };
  const addValue = (value: Json, indent: string): boolean => {
    if (typeof value === 'string') return add(quoted(value, ends));
    if (Array.isArray(value))
      return addMembers(
        '[]',
        value.map((item) => ['', item]),
        indent,
      );
    if (!isJsonObject(value)) return add(JSON.stringify(value));
    // A name is shown whole: with its middle left out it could stand for another.
    const members = Object.entries(value).map(([name, member]): [string, Json] => [
      `${quoted(name, Infinity)}: `,
      member,
    ]);
    return addMembers('{}', members, indent);
  };
  return addValue(input, '') ? text : undefined;
}

/** A text in quotes, so that nothing in it looks like our own words. */
function quoted(text: string, ends: number): string {
  if (text.length <= 2 * ends) return withoutHidden(JSON.stringify(text));
  const head = text.slice(0, ends).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-ends).replace(/^[\udc00-\udfff]/, '');
  const [begin, end] = [head, tail].map((part) => withoutHidden(JSON.stringify(part)));
  return `${begin} … ${text.length - head.length - tail.length} characters left out … ${end}`;
}
