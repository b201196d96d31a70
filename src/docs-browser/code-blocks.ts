const COPIED_MS = 2000;
/** The caption of the tab that the reader chose last, such as `TypeScript`. */
const CHOICE = 'gatehouse-docs-tab';

/** Adds a button to each code block that copies its text. */
export function addCopyButtons(): void {
  for (const figure of document.querySelectorAll<HTMLElement>('figure.code')) {
    const code = figure.querySelector('code');
    if (!code || !('clipboard' in navigator)) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    let timer = 0;
    const copy = async () => {
      await navigator.clipboard.writeText(code.textContent.replace(/\n$/, ''));
      button.textContent = 'Copied';
      clearTimeout(timer);
      timer = setTimeout(() => (button.textContent = 'Copy'), COPIED_MS);
    };
    button.addEventListener('click', () => void copy());
    figure.append(button);
  }
}

/** Lets the keyboard scroll the blocks and tables that are wider than the page. */
export function makeScrollable(): void {
  for (const part of document.querySelectorAll<HTMLElement>('pre, .table'))
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
}

/** Turns groups of code blocks into tabs. A choice counts for all groups that have a tab of that name. */
export function makeTabs(): void {
  const groups = [...document.querySelectorAll<HTMLElement>('.tabs')].map(makeTabList);
  const choose = (name: string) => {
    for (const select of groups) select(name);
  };
  document.addEventListener('choose-tab', (event) => {
    if (!(event instanceof CustomEvent)) return;
    const name = String(event.detail);
    // The groups above may change their height. The chosen tab stays where it is.
    const tab = event.target instanceof HTMLElement ? event.target : undefined;
    const before = tab?.getBoundingClientRect().top ?? 0;
    choose(name);
    scrollBy({ top: (tab?.getBoundingClientRect().top ?? 0) - before, behavior: 'instant' });
    try {
      localStorage.setItem(CHOICE, name);
    } catch {
      // Without storage the choice lasts for this page.
    }
  });
  try {
    const stored = localStorage.getItem(CHOICE);
    if (stored) choose(stored);
  } catch {
    // The first tab stays open.
  }
}

let count = 0;

/** Makes the tabs of one group. Returns the function that opens the tab of a name, where there is one. */
function makeTabList(group: HTMLElement): (name: string) => void {
  const list = document.createElement('div');
  list.className = 'tab-list';
  list.role = 'tablist';
  list.ariaLabel = 'Languages';
  const panels = [...group.querySelectorAll<HTMLElement>('figure.code')];
  const tabs = panels.map((panel) => {
    const caption = panel.querySelector('figcaption');
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.role = 'tab';
    tab.textContent = caption?.textContent ?? '';
    tab.id = `tab-${++count}`;
    panel.id = `${tab.id}-panel`;
    panel.role = 'tabpanel';
    panel.setAttribute('aria-labelledby', tab.id);
    tab.setAttribute('aria-controls', panel.id);
    caption?.remove();
    tab.addEventListener('click', () => {
      tab.dispatchEvent(new CustomEvent('choose-tab', { bubbles: true, detail: tab.textContent }));
    });
    return tab;
  });
  const open = (at: number) => {
    for (const [index, tab] of tabs.entries()) {
      tab.ariaSelected = String(index === at);
      tab.tabIndex = index === at ? 0 : -1;
      const panel = panels[index];
      if (panel) panel.hidden = index !== at;
    }
  };
  list.addEventListener('keydown', ({ key }) => {
    const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const at = tabs.findIndex((tab) => tab === document.activeElement);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next?.focus();
    next?.click();
  });
  list.append(...tabs);
  group.prepend(list);
  open(0);
  return (name) => {
    const at = tabs.findIndex((tab) => tab.textContent === name);
    if (at !== -1) open(at);
  };
}
