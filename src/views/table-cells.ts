import { isObject, type Json } from './json-values.ts';

/* Records as cells of a table. */

/** Objects inside of a record become columns down to this depth. */
const MAX_DEPTH = 2;
const MAX_COLUMNS = 60;
/** Name of the column of records that are no objects. */
const VALUE = 'value';

export type Cells = ReadonlyMap<string, Json>;

/** Returns the members of a record by column, those of inner objects as `customer.email`. */
export function cellsOf(record: Json): Cells {
  const cells = new Map<string, Json>();
  if (!isObject(record)) return cells.set(VALUE, record);
  const add = (value: Json, path: string, depth: number) => {
    if (isObject(value) && depth < MAX_DEPTH && Object.keys(value).length > 0)
      for (const [name, member] of Object.entries(value))
        add(member, path === '' ? name : `${path}.${name}`, depth + 1);
    else cells.set(path, value);
  };
  add(record, '', 0);
  return cells;
}

/** Returns the columns of records, in the order of their first appearance. */
export function columnsOf(records: readonly Cells[]): string[] {
  return [...new Set(records.flatMap((cells) => [...cells.keys()]))].slice(0, MAX_COLUMNS);
}

/** Returns a value as one line. */
export function cellText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object'))
    return value.map(String).join(', ');
  return JSON.stringify(value);
}

/** Returns a value as a person reads it in a table. A list of records is counted, and the open row shows it. */
export function cellSummary(value: Json | undefined): string {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isObject)) return cellText(value);
  return value.length === 1 ? '1 item' : `${value.length} items`;
}

/** Compares two cells: numbers by value, others as a person reads them. Empty cells come last. */
export function compareCells(one: Json | undefined, other: Json | undefined): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  const [left, right] = [cellText(one), cellText(other)];
  if (left === '' || right === '') return left === right ? 0 : left === '' ? 1 : -1;
  return left.localeCompare(right, undefined, { numeric: true, sensitivity: 'base' });
}

/** Returns rows as CSV (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe. */
export function toCsv(columns: readonly string[], rows: readonly Cells[]): string {
  const lines = [
    columns.map((name) => csvField(name)),
    ...rows.map((cells) => columns.map((name) => csvField(cells.get(name)))),
  ];
  return lines.map((fields) => `${fields.join(',')}\r\n`).join('');
}

function csvField(value: Json | undefined): string {
  const text = cellText(value);
  const safe = typeof value !== 'number' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
