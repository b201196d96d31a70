import type { ActionDefinition } from '../connectors/format/format.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';

type Response = ActionDefinition['response'];

/** Returns a list's records where the app answers with an object or a table; any other value unchanged. */
export function recordsIn({ keyedBy, columns }: Response, value: Json, body: Json): Json {
  if (keyedBy !== undefined && isJsonObject(value)) return keyedRecords(keyedBy, value);
  if (columns !== undefined && Array.isArray(value)) return tableRecords(columns, value, body);
  return value;
}

function keyedRecords(keyedBy: string, value: JsonObject): Json[] {
  return Object.entries(value).map(([key, record]) =>
    isJsonObject(record) ? { [keyedBy]: key, ...record } : { [keyedBy]: key, value: record },
  );
}

function tableRecords(
  { at, name = '', cells, value }: NonNullable<Response['columns']>,
  rows: Json[],
  body: Json,
): Json[] {
  const listed = valueAt(body, at);
  const names = (Array.isArray(listed) ? listed : []).map((column) => valueAt(column, name));
  return rows.map((row) => {
    const found = valueAt(row, cells);
    if (!Array.isArray(found)) return row;
    const members = names.flatMap((one, index): [string, Json][] =>
      typeof one === 'string' && one !== '__proto__' ? [[one, valueAt(found[index], value) ?? null]] : [],
    );
    return Object.fromEntries(members);
  });
}
