import { appHeading } from './app-heading.ts';
import { button, el, icon } from './elements.ts';
import type { Host } from './host-bridge.ts';
import { createPages, PAGE_ROWS, type RecordPages } from './record-pages.ts';
import type { RecordSource } from './record-source.ts';
import { recordTable } from './record-table.ts';
import type { AppFacts } from './shown-facts.ts';
import { toCsv } from './table-cells.ts';

/* The view of a list of records: pages, sorting, words to find, and copying. */

const NUMBERS = new Intl.NumberFormat('en');

/** `about`: the account that was used. */
export interface ListFacts {
  app: AppFacts | undefined;
  title: string;
  about: string | undefined;
}

/** Draws the records of a source. `canFill`: whether the host offers the whole screen. */
export function tableCard(
  host: Host,
  source: RecordSource,
  { app, title, about, canFill }: ListFacts & { canFill: boolean },
): HTMLElement {
  const table = recordTable(title);
  const position = el('p', { class: 'position', role: 'status' });
  const fault = el('p', { class: 'fault', role: 'alert' });
  const whole = createPages(source.first, source.read);
  let pages = whole;
  let busy = false;

  const draw = () => {
    table.show(pages.rows, pages.start);
    position.replaceChildren(positionOf(pages));
    const isFirst = pages.start === 0;
    const { isLast } = pages;
    const isAt = {
      first: isFirst,
      previous: isFirst,
      next: isLast,
      last: isLast || pages.total === undefined,
    };
    for (const [name, one] of Object.entries(turns)) one.disabled = isAt[name as keyof typeof isAt];
    turnBar.hidden = isFirst && isLast;
  };
  const go = async (start: number, from: RecordPages = pages) => {
    if (busy) return;
    busy = true;
    card.setAttribute('aria-busy', 'true');
    fault.replaceChildren();
    try {
      await from.go(start);
      pages = from;
      draw();
    } catch (error) {
      fault.replaceChildren(error instanceof Error ? error.message : String(error));
    } finally {
      busy = false;
      card.removeAttribute('aria-busy');
    }
  };
  const lastStart = () => Math.floor(Math.max(0, (pages.total ?? 0) - 1) / PAGE_ROWS) * PAGE_ROWS;
  const turns = {
    first: turn('first', 'First page', () => void go(0)),
    previous: turn('previous', 'Previous page', () => void go(pages.start - PAGE_ROWS)),
    next: turn('next', 'Next page', () => void go(pages.start + pages.rows.length)),
    last: turn('last', 'Last page', () => void go(lastStart())),
  };
  const turnBar = el('nav', { 'aria-label': 'Pages' }, ...Object.values(turns));
  const find =
    source.find &&
    findField(async (query) => {
      const found = query === '' ? undefined : source.find?.(query);
      await go(found ? 0 : whole.start, found ? createPages(found.first, found.read) : whole);
    });
  const full = canFill
    ? button(
        { class: 'quiet full', 'aria-label': 'Whole screen' },
        [icon('full')],
        () => void host.setDisplayMode('fullscreen'),
      )
    : undefined;
  const tools = el(
    'div',
    { class: 'tools' },
    find,
    copyButton(() => toCsv(table.shown().columns, table.shown().rows)),
    full,
  );
  const card = el(
    'section',
    { class: 'card list' },
    el(
      'div',
      { class: 'top' },
      appHeading(app, title, [app?.name, about].filter(Boolean).join(' · ')),
      tools,
    ),
    table.element,
    fault,
    el('footer', {}, position, turnBar),
  );
  draw();
  return card;
}

function positionOf({ start, rows, total, isLast }: RecordPages): string {
  if (rows.length === 0) return 'No records.';
  const shown = `${NUMBERS.format(start + 1)}–${NUMBERS.format(start + rows.length)}`;
  if (total !== undefined) return `Records ${shown} of ${NUMBERS.format(total)}`;
  // The host passes on no calls, so the user asks the assistant for the rest.
  return isLast ? `Records ${shown}, and more` : `Records ${shown}`;
}

function turn(name: 'first' | 'previous' | 'next' | 'last', label: string, onClick: () => void) {
  return button({ class: 'quiet', 'aria-label': label }, [icon(name)], onClick);
}

function findField(onFind: (query: string) => Promise<void>): HTMLElement {
  const input = el('input', {
    type: 'search',
    'aria-label': 'Find records',
    placeholder: 'Find',
    maxlength: '200',
  });
  // A form would need a right that hosts may withhold from the frame.
  input.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') void onFind(input.value.trim());
  });
  // The cross in the field empties it.
  input.addEventListener('search', () => {
    if (input.value === '') void onFind('');
  });
  return el('search', {}, input);
}

/** Returns the button that copies a text, and shows the text where the browser copies none. */
function copyButton(textOf: () => string): HTMLElement {
  const label = el('span', {}, 'Copy as CSV');
  const said = el('span', { class: 'hidden', role: 'status' });
  const made = button({ class: 'quiet' }, [icon('copy'), label], () => void copy());
  const box = el('span', { class: 'copy' }, made, said);
  const copy = async () => {
    const text = textOf();
    const isCopied = (await viaClipboard(text)) || viaSelection(text);
    label.replaceChildren(isCopied ? 'Copied' : 'Copy as CSV');
    said.replaceChildren(isCopied ? 'Copied' : 'Copying is not allowed here. The text is selected below.');
    box.closest('section')?.querySelector('textarea')?.remove();
    if (!isCopied) showText(box, text);
  };
  return box;
}

function viaClipboard(text: string): Promise<boolean> {
  const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
  return written.then(
    () => true,
    () => false,
  );
}

/** Copies by a selection, for frames whose host does not pass on the clipboard. */
function viaSelection(text: string): boolean {
  const area = el('textarea', { class: 'hidden', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}

function showText(box: HTMLElement, text: string): void {
  const area = el('textarea', { readonly: '', rows: '6', 'aria-label': 'The page as CSV' });
  area.value = text;
  box.closest('section')?.append(area);
  area.focus();
  area.select();
}
