import type { Parameter } from '../connectors/format.ts';
import type { Json } from '../lib/json.ts';
import { isJsonObject } from '../lib/json.ts';

/** Name and text pairs of one parameter in a query string or form: arrays and objects by its `style`. */
export function queryPairs(
  wire: string,
  value: Json,
  { style, quote }: Pick<Parameter, 'style' | 'quote'>,
): [string, string][] {
  // A text is JSON already, or the app takes it for one.
  if (style === 'json') return [[wire, scalar(value)]];
  if (Array.isArray(value)) {
    if (style === 'comma') return [[wire, value.map((item) => quoted(scalar(item), quote)).join(',')]];
    if (style === 'brackets' || style === 'indices') {
      return value.flatMap((item, index) =>
        queryPairs(`${wire}[${style === 'indices' ? index : ''}]`, item, { style }),
      );
    }
    return value.map((item) => [wire, quoted(scalar(item), quote)]);
  }
  if (isJsonObject(value)) {
    return Object.entries(value).flatMap(([key, member]) =>
      member === null ? [] : queryPairs(`${wire}[${key}]`, member, { style: style ?? 'brackets' }),
    );
  }
  return [[wire, quoted(scalar(value), quote)]];
}

/** Text of a query language: between quotes, with quotes and backslashes escaped, so that it stays one value. */
function quoted(text: string, quote: Parameter['quote']): string {
  if (quote === 'single') return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
  if (quote === 'double') return `"${text.replaceAll(/[\\"]/g, '\\$&')}"`;
  return text;
}

function scalar(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
