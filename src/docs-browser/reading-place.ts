/** The width from which the table of contents has a column of its own. */
const WIDE = '(min-width: 75em)';

/** Lets the menu button of narrow screens open the list of pages. */
export function openMenu(): void {
  const button = document.querySelector<HTMLButtonElement>('.menu');
  const pages = document.querySelector<HTMLElement>('.pages');
  if (!button || !pages) return;
  const set = (open: boolean) => {
    button.ariaExpanded = String(open);
    document.body.classList.toggle('menu-open', open);
    if (open) showCurrent(pages);
  };
  button.hidden = false;
  button.addEventListener('click', () => set(button.ariaExpanded !== 'true'));
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || button.ariaExpanded !== 'true') return;
    set(false);
    button.focus();
  });
  showCurrent(pages);
}

/** Scrolls the list of pages to the current page, which would otherwise be out of sight in a long list. */
function showCurrent(pages: HTMLElement): void {
  const current = pages.querySelector<HTMLElement>('[aria-current]');
  const isBelow = current !== null && current.offsetTop + current.clientHeight > pages.clientHeight;
  if (isBelow) pages.scrollTop = current.offsetTop - pages.clientHeight / 3;
}

/** Marks the section that the reader sees in the table of contents, and closes the table on narrow screens. */
export function followReading(): void {
  const details = document.querySelector<HTMLDetailsElement>('.contents details');
  if (!details) return;
  const wide = matchMedia(WIDE);
  details.open = wide.matches;
  wide.addEventListener('change', () => (details.open = wide.matches));
  const links = new Map(
    [...details.querySelectorAll('a')].map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
  );
  const headings = [...links.keys()].flatMap((id) => document.getElementById(id) ?? []);
  const mark = () => {
    const line = innerHeight / 4;
    const current = headings.findLast((heading) => heading.getBoundingClientRect().top < line) ?? headings[0];
    for (const [id, link] of links) {
      if (id === current?.id) link.setAttribute('aria-current', 'location');
      else link.removeAttribute('aria-current');
    }
  };
  let waiting = false;
  addEventListener(
    'scroll',
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}
