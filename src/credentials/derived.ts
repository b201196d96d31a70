import type { Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format/format.ts';
import type { DerivedField } from '../connectors/format/derived-format.ts';
import type { Fault } from '../lib/errors.ts';
import { parseJson, valueAt, type Json } from '../lib/json.ts';
import { firstGroup } from '../lib/linear-pattern.ts';
import { checkFields, credentialFields, defaultsOf, storedFields } from './fields.ts';

/**
 * Returns the values of checkFields() with those that the scheme derives from them. A value that cannot be derived is a
 * fault of its field. `stored`: the data may also hold tokens and captured values.
 */
export function checkEntered(
  connector: Connector,
  scheme: Authentication,
  { data, stored = false }: { data: { [name: string]: Json }; stored?: boolean },
): { values: Record<string, string>; faults: Fault[] } {
  const fields = (stored ? storedFields : credentialFields)(connector, scheme);
  const { values, faults } = checkFields(fields, data);
  if (scheme.type === 'none' || faults.length > 0) return { values, faults };
  const known = { ...defaultsOf(fields), ...values };
  for (const [name, derived] of Object.entries(scheme.derived)) {
    const source = known[derived.from];
    if (source === undefined || values[name] !== undefined) continue;
    const found = valueIn(derived, source);
    const wanted = storedFields(connector, scheme).get(name);
    const checked =
      wanted && checkFields(new Map([[name, wanted]]), found === undefined ? {} : { [name]: found });
    const value = checked?.values[name];
    if (value === undefined) faults.push({ field: `data.${derived.from}`, rule: lacking(name, derived) });
    else values[name] = value;
  }
  return { values, faults };
}

function valueIn(
  { json, pattern, replace, case: letters }: DerivedField,
  source: string,
): string | undefined {
  let found = json === undefined ? source : textAt(source, json);
  if (found !== undefined && pattern !== undefined) found = firstGroup(pattern, found);
  if (found === undefined) return undefined;
  for (const [from, to] of Object.entries(replace)) found = found.replaceAll(from, to);
  if (letters === undefined) return found;
  return letters === 'lower' ? found.toLowerCase() : found.toUpperCase();
}

function textAt(source: string, path: string): string | undefined {
  try {
    const value = valueAt(parseJson(source), path);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the rule that a field breaks. It never holds the value. */
function lacking(name: string, { json, pattern }: DerivedField): string {
  if (json !== undefined) return `must be JSON with a text at ${json}; was it copied whole?`;
  return pattern === undefined
    ? `gives no usable ${name}`
    : `must match ${pattern}, because it holds the ${name}`;
}
