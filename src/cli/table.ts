import { styleText } from 'node:util';
import { withoutHidden } from '../lib/hidden-characters.ts';

/** A column of a table: its title, and the text of a row. */
export type Column<Row> = [title: string, text: (row: Row) => string];

/**
 * Returns a function that turns rows into lines, the columns as wide as the widest text so far. The first rows follow a
 * line of titles. Hidden characters are written out.
 */
export function linesOf<Row>(columns: readonly Column<Row>[]): (rows: readonly Row[]) => string {
  const widths = columns.map(([title]) => title.length);
  const titles = columns.map(([title]) => title.toUpperCase());
  let hasTitles = false;
  return (rows) => {
    if (rows.length === 0) return '';
    const cells = rows.map((row) => columns.map(([, text]) => oneLine(text(row))));
    for (const line of cells)
      for (const [at, text] of line.entries()) widths[at] = Math.max(widths[at] ?? 0, text.length);
    const lines = cells.map((line) => padded(line, widths)).join('');
    if (hasTitles) return lines;
    hasTitles = true;
    return styleText('bold', padded(titles, widths), { stream: process.stdout }) + lines;
  };
}

/** Returns rows as lines with a title line. */
export function tableOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return linesOf(columns)(rows);
}

function padded(line: readonly string[], widths: readonly number[]): string {
  const text = line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ');
  return `${text.trimEnd()}\n`;
}

/** Returns the members of a record as lines, one for each, lists and objects as JSON. */
export function membersOf(record: object): string {
  const entries = Object.entries(record);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(textOf(value))}\n`).join('');
}

/** Returns a value as the text of a cell; `-` for nothing. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Returns a time of an answer without its fraction: `2026-11-24 18:03:11Z`; `-` for none. */
export function shortTime(time: unknown): string {
  return typeof time === 'string' ? time.replace('T', ' ').replace(/\.\d+Z$/, 'Z') : '-';
}

function oneLine(text: string): string {
  return withoutHidden(text).replaceAll(/[\t\n]+/g, ' ');
}
