import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** A row of the table: two figures that belong together. */
export interface Row {
  /** The part of the evaluation, such as `search, held out`. */
  part: string;
  name: string;
  /** The meaning of both figures: `calls / tokens`. */
  figures: string;
  now: Figures;
  /** The figures are fractions, printed in percent. */
  isShare?: boolean;
}

export type Figures = readonly [number, number];

/** How much of the material a part uses. */
export interface Extent {
  /** Only the first item of each kind, for a test of the command. */
  few: boolean;
}

const BEFORE = new URL('before.json', import.meta.url);
const saved = z.strictObject({
  /** The release that the rows were measured on. */
  of: z.string(),
  rows: z.record(z.string(), z.tuple([z.number(), z.number()])),
});

/** Returns the table in Markdown, and below it where the figures before come from. */
export function tableOf(rows: readonly Row[]): string {
  const before = saved.parse(JSON.parse(readFileSync(BEFORE, 'utf8')));
  const cells = [
    ['Part', 'Row', 'Figures', 'Before', 'Now'],
    ...rows.map((row) => [
      row.part,
      row.name,
      row.figures,
      printed(before.rows[keyOf(row)], row),
      printed(row.now, row),
    ]),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const [head = '', ...lines] = cells.map(
    (line) => `| ${line.map((cell, column) => padded(cell, column, widths[column] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width, column) => (column < NUMBERS ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [
    head,
    rule,
    ...lines,
    '',
    `Before: ${before.of}. A dash: not measured there, or not possible.`,
  ].join('\n');
}

/** Writes the rows as the figures before. */
export function saveBefore(of: string, rows: readonly Row[]): void {
  const byKey = Object.fromEntries(rows.map((row) => [keyOf(row), row.now]));
  writeFileSync(BEFORE, `${JSON.stringify({ of, rows: byKey }, null, 2)}\n`);
}

/** Returns the items that bring a key which no earlier item had, or all of them. */
export function within<T>(extent: Extent, items: readonly T[], keysOf: (item: T) => string[]): T[] {
  if (!extent.few) return [...items];
  const seen = new Set<string>();
  return items.filter((item) => {
    const fresh = keysOf(item).filter((key) => !seen.has(key));
    for (const key of fresh) seen.add(key);
    return fresh.length > 0;
  });
}

function keyOf({ part, name }: Row): string {
  return `${part}: ${name}`;
}

/** The first column that is aligned to the right. */
const NUMBERS = 3;

function padded(cell: string, column: number, width: number): string {
  return column < NUMBERS ? cell.padEnd(width) : cell.padStart(width);
}

function printed(figures: Figures | undefined, { isShare }: Row): string {
  if (figures === undefined) return '–';
  return figures.map((figure) => (isShare ? shareOf(figure) : figure.toLocaleString('en-US'))).join(' / ');
}

function shareOf(fraction: number): string {
  return `${(fraction * 100).toFixed(0)} %`;
}
