import { ADDRESS_MARK, addressOf, servedLink, withPublicAddress, type LinkTargets } from './links.ts';
import type { DocsEntry, DocsGroup, DocsPage } from './pages.ts';

/*
 * The documentation for models, in the form of llmstxt.org: an index of links with notes, and the guides as one text.
 */

/**
 * Pages with tables of fields and figures, which llms-full.txt leaves out to stay below 100,000 tokens. The OpenAPI document
 * has the fields of the API too.
 */
const LEFT_OUT = /^docs\/(api\/|connector-fields|data-model|performance)/;

/** Returns llms.txt: title, summary, and the links of each group. `summary` is one paragraph. */
export function llmsIndex(
  groups: DocsGroup[],
  pages: ReadonlyMap<string, DocsPage>,
  summary: string,
): string {
  const sections = groups.map(({ title, entries }) => {
    // The convention: readers may leave out the links of a section with this name.
    return `## ${title === 'Project' ? 'Optional' : title}\n\n${linksOf(entries, pages)}\n`;
  });
  const whole =
    `The pages without tables of fields as one text of less than 100,000 tokens: ${ADDRESS_MARK}/llms-full.txt. ` +
    `The API as OpenAPI 3.1: ${ADDRESS_MARK}/openapi.json.`;
  return `# Gatehouse\n\n> ${summary}\n\n${whole}\n\n${sections.join('\n')}`;
}

/**
 * Returns llms-full.txt: the pages of all groups but the last one about the project, one after the other. It begins with
 * links to the pages that are left out.
 */
export function llmsFull(
  groups: DocsGroup[],
  pages: ReadonlyMap<string, DocsPage>,
  targets: LinkTargets,
): string {
  const entries = groups.filter(({ title }) => title !== 'Project').flatMap((group) => group.entries);
  const leftOut = entries.filter(({ file }) => LEFT_OUT.test(file));
  const whole = entries.filter(({ file }) => !LEFT_OUT.test(file));
  const index =
    `# Gatehouse: the documentation as one text\n\nPages with tables of fields and figures have their own addresses. ` +
    `The API as OpenAPI 3.1 is at ${ADDRESS_MARK}/openapi.json.\n\n${linksOf(leftOut, pages)}`;
  const texts = whole
    .flatMap(({ file }) => pages.get(file) ?? [])
    .map((page) => servedMarkdown(page, targets).trim());
  return [index, ...texts].join('\n\n---\n\n').concat('\n');
}

function linksOf(entries: DocsEntry[], pages: ReadonlyMap<string, DocsPage>): string {
  return entries
    .map(({ file, title, summary }) => {
      const path = pages.get(file)?.path ?? '';
      return `- [${title}](${ADDRESS_MARK}/docs/${path}.md): ${summary}`;
    })
    .join('\n');
}

/** Returns a page as Markdown whose links lead to pages as Markdown at /docs, and whose comments are left out. */
export function servedMarkdown({ text, file }: DocsPage, targets: LinkTargets): string {
  return withPublicAddress(text)
    .replaceAll(/^<!--[\s\S]*?-->\n+/gm, '')
    .replaceAll(/\]\(([^)\s]+)\)/g, (whole, href: string) => {
      if (/^([a-z]+:|#)/i.test(href)) return whole;
      const target = servedLink(href, file, targets);
      if (target === undefined) return whole;
      const [path = '', anchor] = target.split('#');
      const isFile = targets.attachments.has(path.slice(addressOf('').length + 1));
      const page = path.endsWith('/docs') ? `${path}/index.md` : isFile ? path : `${path}.md`;
      return `](${page}${anchor === undefined ? '' : `#${anchor}`})`;
    });
}
