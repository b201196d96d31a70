import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A page of the documentation: a Markdown file of the repository, and its address below /docs. */
export interface DocsPage {
  /** Path of the file from the root of the repository: `docs/webhooks.md`. */
  file: string;
  /** Address below /docs, without slash at its beginning: `webhooks`; empty for the start page. */
  path: string;
  title: string;
  text: string;
}

/** A group of the navigation. Its entries are in reading order. */
export interface DocsGroup {
  title: string;
  entries: DocsEntry[];
}

export interface DocsEntry {
  /** Path of the file from the root of the repository. */
  file: string;
  title: string;
  /** One sentence without Markdown. */
  summary: string;
}

/** The index of the documentation, which gives the navigation its order. */
export const INDEX = 'docs/README.md';

/** Pages of the root of the repository that are part of the documentation. */
const ROOT_PAGES = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];

/** Reads all pages below `root`, the folder of the package. */
export function readPages(root: string): DocsPage[] {
  const names = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  return [...files, ...ROOT_PAGES.filter((name) => existsSync(join(root, name)))].toSorted().map((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return { file, path: pathOf(file), title: plainText(/^# (.+)$/m.exec(text)?.[1] ?? file), text };
  });
}

/** Reads the files of docs/ that are no pages: alert rules, dashboards, examples of configuration. */
export function readAttachments(root: string): Map<string, string> {
  const entries = readdirSync(join(root, 'docs'), { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.md'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(join(root, 'docs').length + 1), readFileSync(path, 'utf8')]),
  );
}

/** Returns the address of a page below /docs. */
function pathOf(file: string): string {
  const below = file.startsWith('docs/') ? file.slice('docs/'.length) : file.toLowerCase();
  return below.replace(/\.md$/, '').replace(/(^|\/)README$/, '');
}

/** Returns the groups of the index: its second headings, each with a list of links and summaries. */
export function readGroups(index: string): DocsGroup[] {
  return index
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n');
      return { title, entries: entriesOf(lines.join('\n')) };
    })
    .filter(({ entries }) => entries.length > 0);
}

function entriesOf(text: string): DocsEntry[] {
  return [...text.matchAll(/^- \[([^\]]+)\]\(([^)]+\.md)\): ([^\n]+(?:\n {2}[^\n]+)*)/gm)].map(
    ([, title = '', link = '', summary = '']) => ({
      file: join('docs', link),
      title: plainText(title),
      summary: plainText(summary.replaceAll(/\s+/g, ' ')),
    }),
  );
}

/** Returns a line of Markdown without its marks. */
export function plainText(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .trim();
}
