import type { Question } from '../../actions/agreement.ts';
import type { Credential } from '../../credentials/credential.ts';
import { withoutHidden } from '../../lib/hidden-characters.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';

/** Limit for the shown parameters. A user would not read more before agreeing. */
export const MAX_PARAMETER_CHARS = 8000;
/** Characters shown at each end of a long value. The first of these that fits is used. */
const ENDS = [2000, 500, 150, 50];
const NAME_ENDS = 100;
/** Addresses of a hidden middle that are shown, and their longest part. */
const MAX_ADDRESSES = 10;
const MAX_ADDRESS_CHARS = 120;
/** Addresses to which data may go: of e-mail, of pages and of hosts. Runs are bounded, so that no text takes long. */
const ADDRESS =
  /[^\s@<>"',;:()[\]]{1,64}@[^\s@<>"',;:()[\]]{1,253}|\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>"']{1,2000}|\bwww\.[^\s<>"']{1,2000}/giu;
const INDENT = '  ';

/**
 * Returns the question that a user reads before agreeing to a call. It shows the action, the account and every
 * parameter. Long values lose their middle and name how many characters that was, and which addresses are in it. Hidden characters are written out.
 * Returns undefined when the names and the ends of all values do not fit, because a user cannot agree to what is not
 * shown.
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

/** Returns the value as indented JSON with long texts cut; undefined when it is too long. */
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
    // A name is shown whole, because a cut name could be mistaken for another.
    const members = Object.entries(value).map(([name, member]): [string, Json] => [
      `${quoted(name, Infinity)}: `,
      member,
    ]);
    return addMembers('{}', members, indent);
  };
  return addValue(input, '') ? text : undefined;
}

/** Returns the question that asks whether an account becomes the default account. */
export function questionForDefault(
  connectorName: string,
  { credentialId, name, account }: Credential,
): string {
  const of =
    account?.name === undefined || account.name === name ? '' : ` (${quoted(account.name, NAME_ENDS)})`;
  return [
    `Use this account of ${connectorName} for all calls that name no account?`,
    `Account: ${quoted(name, NAME_ENDS)}${of}, ${credentialId}`,
  ].join('\n');
}

/** Returns a text in quotes, so that no part of it looks like words of Gatehouse. */
function quoted(text: string, ends: number): string {
  if (text.length <= 2 * ends) return withoutHidden(JSON.stringify(text));
  const head = text.slice(0, ends).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-ends).replace(/^[\udc00-\udfff]/, '');
  const [begin, end] = [head, tail].map((part) => withoutHidden(JSON.stringify(part)));
  const addresses = addressesBetween(text, head.length, text.length - tail.length);
  return `${begin} … ${text.length - head.length - tail.length} characters left out${addresses} … ${end}`;
}

/** Returns the addresses that are not shown whole, because a long text may hide where it sends something. */
function addressesBetween(text: string, from: number, to: number): string {
  const found = new Set<string>();
  for (const { 0: address, index } of text.matchAll(ADDRESS))
    if (index + address.length > from && index < to) found.add(address);
  if (found.size === 0) return '';
  const some = [...found]
    .slice(0, MAX_ADDRESSES)
    .map((one) => withoutHidden(JSON.stringify(one.slice(0, MAX_ADDRESS_CHARS).toWellFormed())));
  const more = found.size - some.length;
  return `, with ${some.join(', ')}${more > 0 ? ` and ${more} more addresses` : ''}`;
}
