import { button, el } from './elements.ts';
import type { Json } from './json-values.ts';
import { recordFields } from './record-fields.ts';
import { cellSummary, cellsOf, columnsOf, compareCells, type Cells } from './table-cells.ts';

/** Characters of a cell. The row opens to show a longer text whole. */
const MAX_CELL = 160;

/** A page of records as a table that sorts, and whose rows open. */
export interface RecordTable {
  readonly element: HTMLElement;
  /** Shows other records. `start`: position of the first one. */
  show(records: readonly Json[], start: number): void;
  /** The columns and rows as they are shown. */
  shown(): { columns: readonly string[]; rows: readonly Cells[] };
}

interface Row {
  number: number;
  record: Json;
  cells: Cells;
}

interface Sorting {
  column: string;
  descending: boolean;
}

export function recordTable(label: string): RecordTable {
  const table = el('table', {});
  const element = el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, table);
  let rows: Row[] = [];
  let columns: string[] = [];
  let sorting: Sorting | undefined;

  const sorted = (): Row[] => {
    if (!sorting) return rows;
    const { column, descending } = sorting;
    const sign = descending ? -1 : 1;
    return rows.toSorted((one, other) => sign * compareCells(one.cells.get(column), other.cells.get(column)));
  };
  const sortBy = (column: string) => {
    const isFirst = sorting?.column !== column;
    if (isFirst) sorting = { column, descending: false };
    else sorting = sorting?.descending ? undefined : { column, descending: true };
    draw();
    // The buttons are new elements. The focus stays where the user left it.
    table.querySelectorAll<HTMLElement>('thead button')[columns.indexOf(column)]?.focus();
  };
  const draw = () => {
    const numeric = new Set(columns.filter((name) => isNumeric(rows, name)));
    table.replaceChildren(
      headOf(columns, { sorting, sortBy, numeric }),
      el('tbody', {}, ...sorted().map((row) => rowOf(row, columns, numeric))),
    );
  };
  return {
    element,
    show(records, start) {
      rows = records.map((record, at) => ({ number: start + at + 1, record, cells: cellsOf(record) }));
      const found = columnsOf(rows.map(({ cells }) => cells));
      // Columns keep their places from page to page.
      columns = [...new Set([...columns, ...found])];
      draw();
      element.scrollTop = 0;
    },
    shown: () => ({ columns, rows: sorted().map(({ cells }) => cells) }),
  };
}

function headOf(
  columns: readonly string[],
  {
    sorting,
    sortBy,
    numeric,
  }: { sorting: Sorting | undefined; sortBy(column: string): void; numeric: ReadonlySet<string> },
): HTMLElement {
  const cells = columns.map((name) => {
    const direction =
      sorting?.column === name ? (sorting.descending ? 'descending' : 'ascending') : undefined;
    return el(
      'th',
      { scope: 'col', 'aria-sort': direction, class: numeric.has(name) ? 'number' : undefined },
      button({}, [name], () => sortBy(name)),
    );
  });
  const first = el('th', { scope: 'col', class: 'row' }, el('span', { class: 'hidden' }, 'Row'));
  return el('thead', {}, el('tr', {}, first, ...cells));
}

function rowOf(
  { number, record, cells }: Row,
  columns: readonly string[],
  numeric: ReadonlySet<string>,
): HTMLElement {
  const open = button(
    { 'aria-expanded': 'false', 'aria-label': `Record ${number}` },
    [String(number)],
    () => {
      const isOpen = open.getAttribute('aria-expanded') === 'true';
      open.setAttribute('aria-expanded', String(!isOpen));
      if (isOpen) row.nextElementSibling?.remove();
      else row.after(detailOf(record, columns.length + 1));
    },
  );
  const row = el(
    'tr',
    {},
    el('th', { scope: 'row', class: 'row' }, open),
    ...columns.map((name) => {
      const text = cellSummary(cells.get(name));
      const cut = text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)} …` : text;
      return el('td', { class: numeric.has(name) ? 'number' : undefined }, el('span', {}, cut));
    }),
  );
  return row;
}

function detailOf(record: Json, columns: number): HTMLElement {
  return el('tr', { class: 'detail' }, el('td', { colspan: String(columns) }, recordFields(record)));
}

function isNumeric(rows: readonly Row[], column: string): boolean {
  const values = rows
    .map(({ cells }) => cells.get(column))
    .filter((value) => value !== undefined && value !== null);
  return values.length > 0 && values.every((value) => typeof value === 'number');
}
