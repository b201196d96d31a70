import type { Escape, Parameter } from '../connectors/format/format.ts';
import type { Json } from '../lib/json.ts';
import { isJsonObject } from '../lib/json.ts';

/** Returns the name and text pairs of one parameter in a query string or form: arrays and objects by its `style`. */
export function queryPairs(
  wire: string,
  value: Json,
  { style, quote, escape }: Pick<Parameter, 'style' | 'quote'> & { escape?: Escape | undefined },
): [string, string][] {
  const text = (item: Json) => quoted(scalar(item), quote, escape);
  // A text is already JSON, or the app accepts it as such.
  if (style === 'json') return [[wire, scalar(value)]];
  if (Array.isArray(value)) {
    const between = style === undefined ? undefined : SEPARATORS[style];
    if (between !== undefined) return [[wire, value.map(text).join(between)]];
    if (style === 'brackets' || style === 'indices') {
      return value.flatMap((item, index) =>
        queryPairs(`${wire}[${style === 'indices' ? index : ''}]`, item, { style }),
      );
    }
    return value.map((item) => [wire, text(item)]);
  }
  if (isJsonObject(value)) {
    if (style === 'members')
      return Object.entries(value).flatMap(([key, member]) =>
        member === null ? [] : queryPairs(key, member, { style: 'repeat' }),
      );
    return Object.entries(value).flatMap(([key, member]) =>
      member === null ? [] : queryPairs(`${wire}[${key}]`, member, { style: style ?? 'brackets' }),
    );
  }
  return [[wire, text(value)]];
}

/** Styles that write a list as one text. */
const SEPARATORS: { [style in NonNullable<Parameter['style']>]?: string } = {
  comma: ',',
  space: ' ',
  pipe: '|',
};

/** Returns a text of a query language between quotes. */
function quoted(text: string, quote: Parameter['quote'], escape: Escape | undefined): string {
  if (quote === undefined) return text;
  const mark = quote === 'single' ? "'" : '"';
  return `${mark}${escaped(text, mark, escape)}${mark}`;
}

/** Escapes the content between quotes, so that it stays one value. */
export function escaped(text: string, quote: string, escape: Escape = 'backslash'): string {
  if (escape === 'double') return text.replaceAll(quote, quote + quote);
  return text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`);
}

function scalar(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Encodes all characters except the unreserved ones of RFC 3986 (RFC 5849 section 3.6). */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
