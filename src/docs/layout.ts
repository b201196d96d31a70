import { escapeHtml } from '../lib/html.ts';
import { addressOf, ADDRESS_MARK, BASE_MARK, CONSOLE_MARK } from './links.ts';
import type { Section } from './markdown.ts';
import type { DocsEntry, DocsGroup, DocsPage } from './pages.ts';

/** The place in a built page that gets the version of the files that pages load. */
export const ASSETS_MARK = '__ASSETS__';

/** The address of the page for addresses without a page. */
export const MISSING = '404';

/** Everything around the text of a page. */
export interface Frame {
  groups: DocsGroup[];
  pages: ReadonlyMap<string, DocsPage>;
  version: string;
}

export interface Shown {
  page: Pick<DocsPage, 'path' | 'title'>;
  /** The group of the page; undefined for a page outside the navigation. */
  group: string | undefined;
  summary: string;
  html: string;
  sections: Section[];
  previous?: DocsEntry | undefined;
  next?: DocsEntry | undefined;
}

const EMBLEM =
  '<svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" focusable="false"><rect class="emblem-ground" width="32" height="32" rx="8"/>' +
  '<path fill="#fff" d="M7 26V14a9 9 0 0 1 18 0v12h-4.5V14.5a4.5 4.5 0 0 0-9 0V26z"/><path class="emblem-gate" d="M14.5 26v-5h3v5z"/></svg>';

const icon = (path: string) =>
  `<svg width="18" height="18" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">${path}</svg>`;
const ICONS = {
  menu: icon('<path d="M4 6h16M4 12h16M4 18h16"/>'),
  search: icon('<circle cx="11" cy="11" r="7"/><path d="m20 20-3.5-3.5"/>'),
  theme: icon('<circle cx="12" cy="12" r="9"/><path d="M12 3a9 9 0 0 0 0 18z" fill="currentColor"/>'),
};

/** Returns the HTML of a page with its navigation. It holds no inline script or style. */
export function layoutPage(frame: Frame, shown: Shown): string {
  const { page, summary, html, sections } = shown;
  const markdown = markdownAddress(page.path === MISSING ? '' : page.path);
  const title = page.path === '' ? 'Gatehouse documentation' : `${page.title} · Gatehouse`;
  return `<!doctype html>
<html lang="en" data-docs="${BASE_MARK}/docs" data-assets="${assetAddress('')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(summary)}">
<link rel="icon" href="${assetAddress('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetAddress('docs.css')}">
<link rel="alternate" type="text/markdown" href="${markdown}">
<script src="${assetAddress('theme.js')}"></script>
<script type="module" src="${assetAddress('docs.js')}"></script>
</head>
<body${page.path === '' ? ' class="start"' : ''}>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<button type="button" class="icon menu" aria-label="Menu" aria-controls="pages" aria-expanded="false" hidden>${ICONS.menu}</button>
<a class="brand" href="${addressOf('')}">${EMBLEM}<span>Gatehouse</span><span class="brand-part">Docs</span></a>
<button type="button" class="search-open" aria-label="Search" hidden>${ICONS.search}<span>Search</span><kbd>/</kbd></button>
<nav class="links" aria-label="Service"><a href="${addressOf('api')}">API</a>${CONSOLE_MARK}</nav>
<button type="button" class="icon theme" aria-label="Colours" hidden>${ICONS.theme}</button>
</header>
<div class="frame">
<nav id="pages" class="pages" aria-label="Pages">
${frame.groups.map((group) => navigationGroup(group, page, frame)).join('\n')}
</nav>
${contents(sections)}
<main id="content" tabindex="-1">
${shown.group === undefined ? '' : `<p class="group">${escapeHtml(shown.group)}</p>`}
<article>
${html}</article>
${neighbours(frame, shown)}
<footer><span>Gatehouse ${escapeHtml(frame.version)}</span><a href="${markdown}">This page as Markdown</a><a href="${ADDRESS_MARK}/llms.txt">llms.txt</a></footer>
</main>
</div>
</body>
</html>
`;
}

/** Returns the address of a file that pages load. Its version is part of it, so browsers may cache it for ever. */
function assetAddress(name: string): string {
  return `${BASE_MARK}/docs/assets/${ASSETS_MARK}/${name}`;
}

/** Returns the address of a page as Markdown. */
function markdownAddress(path: string): string {
  return `${BASE_MARK}/docs/${path === '' ? 'index' : path}.md`;
}

function navigationGroup({ title, entries }: DocsGroup, shown: Shown['page'], { pages }: Frame): string {
  const links = entries.map((entry) => {
    const path = pages.get(entry.file)?.path ?? '';
    const current = path === shown.path ? ' aria-current="page"' : '';
    return `<li><a href="${addressOf(path)}"${current}>${escapeHtml(entry.title)}</a></li>`;
  });
  const id = `group-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return `<p id="${id}">${escapeHtml(title)}</p><ul aria-labelledby="${id}">${links.join('')}</ul>`;
}

/** Returns the table of contents: second and third headings, without the third where there would be too many. */
function contents(sections: Section[]): string {
  const below = sections.filter(({ depth }) => depth === 2 || depth === 3);
  const listed = below.length > MAX_CONTENTS ? below.filter(({ depth }) => depth === 2) : below;
  if (listed.length < 2) return '';
  const links = listed.map(
    ({ depth, anchor, title }) =>
      `<li class="depth-${depth}"><a href="#${anchor}">${escapeHtml(title)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><details open><summary>On this page</summary><ul>${links.join('')}</ul></details></nav>`;
}

const MAX_CONTENTS = 60;

function neighbours({ pages }: Frame, { previous, next }: Shown): string {
  if (!previous && !next) return '';
  const link = (entry: DocsEntry | undefined, word: string, side: string) =>
    entry
      ? `<a class="${side}" href="${addressOf(pages.get(entry.file)?.path ?? '')}"><span>${word}</span>${escapeHtml(entry.title)}</a>`
      : '';
  return `<nav class="neighbours" aria-label="Neighbouring pages">${link(previous, 'Previous', 'previous')}${link(next, 'Next', 'next')}</nav>`;
}
