import { piecesOf } from '../connectors/clauses.ts';
import type { Clause, Escape } from '../connectors/format/format.ts';
import type { Json } from '../lib/json.ts';
import { pagedIn, type UpstreamCall } from './upstream-call.ts';
import { escaped } from './values.ts';

type Given = (name: string) => Json | undefined;

/**
 * Returns the texts of a call in a query language, as name and text: `["q", "SELECT Id FROM Contact WHERE Email =
 * 'a\'b'"]`. A parameter cannot leave its quotes. Outside of quotes, meaning.ts limits each parameter to the values
 * that its file allows.
 */
export function composedTexts(
  call: Pick<UpstreamCall, 'connector' | 'action' | 'input' | 'page'>,
): [string, string][] {
  const { definition } = call.action;
  const paged = pagedIn(call, 'compose');
  const given: Given = (name) => paged?.[name] ?? call.input[name];
  const escape = definition.escape ?? call.connector.definition.escape;
  return Object.entries(definition.compose).map(([wire, clauses]) => {
    const texts = clauses.map((clause) => textOf(clause, given, escape));
    return [wire, texts.filter((text) => text !== '').join(' ')];
  });
}

function textOf(clause: Clause, given: Given, escape: Escape | undefined): string {
  if (typeof clause === 'string') return filled(clause, given, escape) ?? '';
  const left = clause.all.map((one) => filled(one, given, escape)).filter((text) => text !== undefined);
  return left.length === 0 ? '' : clause.before + left.join(clause.join);
}

/** Returns the clause with its parameters, or undefined when one is not given. */
function filled(clause: string, given: Given, escape: Escape | undefined): string | undefined {
  let text = '';
  for (const piece of piecesOf(clause)) {
    if ('text' in piece) {
      text += piece.text;
      continue;
    }
    const value = given(piece.name);
    if (value === undefined || value === null) return undefined;
    const written = typeof value === 'string' ? value : JSON.stringify(value);
    text += piece.quote === '' ? written : escaped(written, piece.quote, escape);
  }
  return text;
}
