import { openSearch } from './docs-search.ts';
import type { Found, Search } from './docs-index.ts';

/** Adds the search: a dialog that the button, "/" or Ctrl+K opens. Its entries are loaded when it opens first. */
export function addSearch(): void {
  const button = document.querySelector<HTMLButtonElement>('.search-open');
  if (!button) return;
  const { dialog, field, list, status } = createDialog();
  let search: Promise<Search> | undefined;
  const open = () => {
    search ??= openSearch();
    search.catch(() => {
      search = undefined;
      status.textContent = 'The search could not be loaded. Check the connection, and open it again.';
    });
    if (!dialog.open) dialog.showModal();
    field.select();
  };
  const show = async () => {
    const text = field.value.trim();
    const found = text === '' ? [] : ((await search)?.(text) ?? []);
    // The reader may have typed more in the meantime.
    if (field.value.trim() !== text) return;
    list.replaceChildren(...found.map((one) => resultOf(one, text)));
    const some = found.length === 1 ? '1 result' : `${found.length} results`;
    status.textContent = text === '' ? '' : found.length === 0 ? `Nothing found for “${text}”.` : some;
  };
  button.hidden = false;
  button.addEventListener('click', open);
  field.addEventListener('input', () => void show().catch(() => {}));
  dialog.addEventListener('keydown', (event) => moveFocus(event, field, list));
  // A click on the backdrop is a click on the dialog itself.
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog || (target instanceof Element && target.closest('a'))) dialog.close();
  });
  document.addEventListener('keydown', (event) => {
    const typing =
      event.target instanceof Element && event.target.closest('input, textarea, [contenteditable]');
    const isShortcut =
      (event.key === '/' && !typing) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
    if (!isShortcut) return;
    event.preventDefault();
    open();
  });
}

function createDialog() {
  const dialog = document.createElement('dialog');
  dialog.className = 'search';
  dialog.ariaLabel = 'Search the documentation';
  const field = document.createElement('input');
  field.type = 'text';
  // Escape in a field of the type `search` would empty it, and not close the dialog.
  field.role = 'searchbox';
  field.placeholder = 'Search the documentation';
  field.ariaLabel = 'Search the documentation';
  field.autocomplete = 'off';
  field.spellcheck = false;
  const close = document.createElement('button');
  close.type = 'button';
  close.textContent = 'Close';
  close.addEventListener('click', () => dialog.close());
  const bar = document.createElement('div');
  bar.className = 'search-bar';
  bar.append(field, close);
  const list = document.createElement('ul');
  const status = document.createElement('p');
  status.role = 'status';
  dialog.append(bar, list, status);
  document.body.append(dialog);
  return { dialog, field, list, status };
}

/** Moves the focus by arrow keys: from the field to the results, and between them. Enter opens the first result. */
function moveFocus(event: KeyboardEvent, field: HTMLInputElement, list: HTMLElement): void {
  const links = [...list.querySelectorAll('a')];
  const at = links.findIndex((link) => link === document.activeElement);
  if (event.key === 'Enter' && document.activeElement === field) {
    links[0]?.click();
    return;
  }
  const next = event.key === 'ArrowDown' ? at + 1 : event.key === 'ArrowUp' ? at - 1 : undefined;
  if (next === undefined) return;
  event.preventDefault();
  if (next < 0) field.focus();
  else links[Math.min(next, links.length - 1)]?.focus();
}

/** Characters of the text around the first found word. */
const EXCERPT = 160;

function resultOf({ at, page, heading, text, words }: Found, typed: string): HTMLElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = `${document.documentElement.dataset['docs']}${at === '' || at.startsWith('#') ? at : `/${at}`}`;
  const title = document.createElement('strong');
  title.append(...marked(heading === '' ? page : heading, [...words, typed]));
  const place = document.createElement('span');
  place.className = 'place';
  place.textContent = heading === '' ? '' : page;
  const excerpt = document.createElement('span');
  excerpt.className = 'excerpt';
  excerpt.append(...marked(excerptOf(text, words), words));
  link.append(title, place, excerpt);
  item.append(link);
  return item;
}

function excerptOf(text: string, words: string[]): string {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place !== -1);
  const first = Math.max(0, Math.min(...(places.length === 0 ? [0] : places)) - EXCERPT / 4);
  const start = first === 0 ? 0 : text.indexOf(' ', first) + 1;
  const end = text.length > start + EXCERPT ? text.lastIndexOf(' ', start + EXCERPT) : text.length;
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`;
}

/** Returns the text with the found words marked. */
function marked(text: string, words: string[]): (string | HTMLElement)[] {
  const known = new Set(words.map((word) => word.toLowerCase()));
  return text.split(/([\p{L}\p{N}_]+)/u).map((part) => {
    if (!known.has(part.toLowerCase())) return part;
    const mark = document.createElement('mark');
    mark.textContent = part;
    return mark;
  });
}
