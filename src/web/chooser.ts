import type { AppView } from './api.ts';
import { h, icon } from './dom.ts';
import { texts } from './page-texts.ts';

/** From this many apps on, the list offers their categories as a filter. */
const MANY = 8;
/** A category of one app filters no better than the search. */
const LEAST = 2;

/** The list of apps with its search. */
interface Chooser {
  /** Called with the app that was clicked. */
  choose(app: AppView): void;
  /** Ids of the apps to mark as connected, when they are known. */
  connected?: Promise<ReadonlySet<string>> | undefined;
}

export function drawChooser(all: AppView[], { choose, connected }: Chooser): HTMLElement {
  const apps = usable(all);
  const rows = apps.map((app) => ({ app, element: drawRow(app, choose), text: searchText(app) }));
  void markConnected(rows, connected);
  const list = h('ul', { class: 'apps' }, ...rows.map(({ element }) => element));
  const count = h('p', { class: 'hidden', role: 'status' });
  const nothing = h('div', { class: 'nothing', hidden: true });
  const search = h('input', {
    type: 'search',
    placeholder: texts.search,
    'aria-label': texts.search,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  let category: string | undefined;

  const narrow = (): void => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter(({ app, element, text }) => {
      const fits =
        (category === undefined || app.categories.includes(category)) &&
        words.every((word) => text.includes(word));
      element.hidden = !fits;
      return fits;
    });
    count.replaceChildren(found.length === 0 ? texts.foundNothing(search.value) : texts.found(found.length));
    nothing.hidden = found.length > 0;
    nothing.replaceChildren(
      h('p', {}, texts.foundNothing(search.value.trim())),
      h('button', { type: 'button', class: 'quiet', onclick: clear }, texts.clearSearch),
    );
  };
  const clear = (): void => {
    search.value = '';
    chips?.select(undefined);
    narrow();
    search.focus();
  };
  const chips =
    apps.length < MANY
      ? undefined
      : drawChips(apps, (chosen) => {
          category = chosen;
          narrow();
        });

  search.addEventListener('input', narrow);
  const element = h(
    'div',
    { class: 'chooser' },
    h('div', { class: 'search' }, icon('search'), search),
    chips?.element,
    count,
    list,
    nothing,
  );
  element.addEventListener('keydown', (event) => moveFocus(event, [search, ...visibleButtons(list)]));
  return element;
}

/** Returns the apps that are set up. Where none is, it returns all, and each says what is missing. */
function usable(apps: AppView[]): AppView[] {
  const ready = apps.filter(({ authentication }) => authentication.some((way) => way.ready));
  return ready.length > 0 ? ready : apps;
}

function drawRow(app: AppView, choose: (app: AppView) => void): HTMLLIElement {
  return h(
    'li',
    {},
    h(
      'button',
      { type: 'button', class: 'app', onclick: () => choose(app) },
      h('img', { src: app.iconUrl, alt: '', width: '40', height: '40', loading: 'lazy' }),
      h(
        'span',
        { class: 'app-text' },
        h('span', { class: 'app-name' }, app.name),
        h('span', { class: 'app-about' }, app.description),
      ),
      icon('forward'),
    ),
  );
}

async function markConnected(
  rows: { app: AppView; element: HTMLLIElement }[],
  connected: Chooser['connected'],
): Promise<void> {
  const ids = await connected;
  for (const { app, element } of rows) if (ids?.has(app.connectorId)) mark(element);
}

/** Adds the mark inside the button, so that it is part of the button's name. */
function mark(row: HTMLLIElement): void {
  row.querySelector('.app')?.lastElementChild?.before(h('span', { class: 'tag' }, texts.appConnected));
}

function drawChips(apps: AppView[], choose: (category: string | undefined) => void) {
  const categories = categoriesOf(apps);
  if (categories.length < 2) return undefined;
  const chips = [undefined, ...categories].map((category) => ({
    category,
    button: h(
      'button',
      {
        type: 'button',
        class: 'chip',
        'aria-pressed': String(category === undefined),
        onclick: () => select(category),
      },
      category === undefined ? texts.allCategories : texts.category(category),
    ),
  }));
  function select(category: string | undefined): void {
    for (const chip of chips) chip.button.ariaPressed = String(chip.category === category);
    choose(category);
  }
  const element = h(
    'div',
    { class: 'chips', role: 'group', 'aria-label': texts.categories },
    ...chips.map(({ button }) => button),
  );
  // A mouse wheel has only one direction, so it must scroll the row sideways.
  element.addEventListener('wheel', (event) => {
    const before = element.scrollLeft;
    if (event.deltaX === 0) element.scrollLeft += event.deltaY;
    if (element.scrollLeft !== before) event.preventDefault();
  });
  return { element, select };
}

/** Returns the categories of several apps. The largest come first, because not all of them are visible. */
function categoriesOf(apps: AppView[]): string[] {
  const counts = new Map<string, number>();
  for (const category of apps.flatMap((app) => app.categories)) {
    counts.set(category, (counts.get(category) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count >= LEAST)
    .sort(([one, many], [other, more]) => more - many || one.localeCompare(other))
    .map(([category]) => category);
}

function searchText({ connectorId, name, description, categories }: AppView): string {
  return [connectorId, name, description, ...categories].join(' ').toLowerCase();
}

function visibleButtons(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>('li:not([hidden]) button')];
}

/** Moves the focus by arrow keys through search and list, as users expect of a filtered list. */
function moveFocus(event: KeyboardEvent, stops: HTMLElement[]): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  const at = stops.findIndex((stop) => stop === document.activeElement);
  if (step === 0 || at < 0) return;
  event.preventDefault();
  stops[at + step]?.focus();
}
