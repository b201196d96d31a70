import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { layoutPage, MISSING, type Frame, type Shown } from './layout.ts';
import { linkedPage, servedLink, type LinkTargets } from './links.ts';
import { llmsFull, llmsIndex, servedMarkdown } from './llms.ts';
import { renderMarkdown, type Section } from './markdown.ts';
import {
  INDEX,
  plainText,
  readAttachments,
  readGroups,
  readPages,
  type DocsEntry,
  type DocsPage,
} from './pages.ts';

/** A part of a page as the search finds it. */
interface SearchEntry {
  /** Address below /docs, with the anchor. */
  at: string;
  page: string;
  heading: string;
  text: string;
}

/** Longest text of one part in the search, characters. The rest of a long table adds little but bytes. */
const MAX_TEXT = 1200;
/** Pages that the search leaves out, because they repeat others or only record the past. */
const UNSEARCHED = /^(docs\/decisions\/|CHANGELOG\.md)/;

/**
 * Builds the documentation from the folder of the package. Returns text by file name: pages as HTML and Markdown, the
 * files of docs/ that are no pages, the entries of the search, the indexes for models, and a list of all names.
 */
export function buildDocs(root: string): Map<string, string> {
  const all = readPages(root);
  const pages = new Map(all.map((page) => [page.file, page]));
  const attachments = readAttachments(root);
  const targets: LinkTargets = { pages, attachments: new Set(attachments.keys()) };
  const index = pages.get(INDEX);
  if (!index) throw new Error(`${INDEX} is missing.`);
  const groups = readGroups(index.text);
  const frame: Frame = { groups, pages, version: versionOf(root) };
  const order = groups.flatMap(({ title, entries }) => entries.map((entry) => ({ ...entry, group: title })));

  const built = new Map<string, string>();
  const found: SearchEntry[] = [];
  for (const page of all) {
    const { html, sections } = renderMarkdown(page.text, (href) => {
      const address = servedLink(href, page.file, targets);
      return address === undefined
        ? undefined
        : { address, title: linkedPage(href, page.file, targets)?.title };
    });
    const at = order.findIndex(({ file }) => file === page.file);
    const shown: Shown = {
      page,
      group: order[at]?.group,
      summary: order[at]?.summary ?? summaryOf(page),
      html: page.path === '' ? asCards(html) : html,
      sections: page.path === '' ? [] : sections,
      ...neighboursOf(order, { page, at }),
    };
    const name = page.path === '' ? 'index' : page.path;
    built.set(`pages/${name}.html`, layoutPage(frame, shown));
    built.set(`pages/${name}.md`, servedMarkdown(page, targets));
    if (!UNSEARCHED.test(page.file)) found.push(...searchEntries(page, sections));
  }
  built.set(`pages/${MISSING}.html`, layoutPage(frame, missingPage()));
  for (const [name, text] of attachments) built.set(`pages/${name}`, text);
  built.set('assets/search.json', JSON.stringify(found));
  built.set('llms.txt', llmsIndex(groups, pages, summaryOf(index)));
  built.set('llms-full.txt', llmsFull(groups, pages, targets));
  built.set('files.json', JSON.stringify([...built.keys()]));
  return built;
}

function versionOf(root: string): string {
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))
    .version;
}

/** Returns the first paragraph of a page on one line, without marks. */
function summaryOf({ text }: DocsPage): string {
  const paragraph = text
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .split(/\n\n+/)
    .find((part) => /^[A-Za-z`[*]/.test(part));
  return plainText((paragraph ?? '').replaceAll(/\s+/g, ' '));
}

function neighboursOf(
  order: DocsEntry[],
  { page, at }: { page: DocsPage; at: number },
): Pick<Shown, 'previous' | 'next'> {
  if (page.path === '') return { next: order[0] };
  return at === -1 ? {} : { previous: order[at - 1], next: order[at + 1] };
}

function searchEntries(page: DocsPage, sections: Section[]): SearchEntry[] {
  return sections.map(({ title, anchor, words }, index) => ({
    at: index === 0 ? page.path : `${page.path}#${anchor}`,
    page: page.title,
    heading: index === 0 ? '' : title,
    text: words.slice(0, MAX_TEXT),
  }));
}

/** Returns the start page with its lists of pages as cards: the title first, the summary below. */
function asCards(html: string): string {
  return html
    .replaceAll(/<ul>\n<li><a/g, '<ul class="cards">\n<li><a')
    .replaceAll(
      /(<li><a [^>]*>.*?<\/a>): (.)/g,
      (_, link: string, first: string) => `${link}<br>${first.toUpperCase()}`,
    );
}

function missingPage(): Shown {
  return {
    page: { path: MISSING, title: 'No such page' },
    group: undefined,
    summary: 'There is no such page.',
    html: '<h1 id="no-such-page">No such page</h1>\n<p>There is no page at this address. Search for it, or choose one of the list.</p>\n',
    sections: [],
  };
}
