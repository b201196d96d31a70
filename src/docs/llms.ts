import { ADDRESS_MARK, addressOf, servedLink, withPublicAddress, type LinkTargets } from './links.ts';
import type { DocsGroup, DocsPage } from './pages.ts';

/*
 * The documentation for models, in the form of llmstxt.org: an index of links with notes, and all pages as one text.
 */

/** Returns llms.txt: title, summary, and the links of each group. `summary` is one paragraph. */
export function llmsIndex(
  groups: DocsGroup[],
  pages: ReadonlyMap<string, DocsPage>,
  summary: string,
): string {
  const sections = groups.map(({ title, entries }) => {
    const lines = entries.map((entry) => {
      const path = pages.get(entry.file)?.path ?? '';
      return `- [${entry.title}](${ADDRESS_MARK}/docs/${path}.md): ${entry.summary}`;
    });
    // The convention: readers may leave out the links of a section with this name.
    return `## ${title === 'Project' ? 'Optional' : title}\n\n${lines.join('\n')}\n`;
  });
  const whole = `All pages as one text: ${ADDRESS_MARK}/llms-full.txt. The API as OpenAPI 3.1: ${ADDRESS_MARK}/openapi.json.`;
  return `# Gatehouse\n\n> ${summary}\n\n${whole}\n\n${sections.join('\n')}`;
}

/** Returns llms-full.txt: the pages of all groups but the last ones about the project, one after the other. */
export function llmsFull(
  groups: DocsGroup[],
  pages: ReadonlyMap<string, DocsPage>,
  targets: LinkTargets,
): string {
  return groups
    .filter(({ title }) => title !== 'Project')
    .flatMap(({ entries }) => entries)
    .flatMap(({ file }) => pages.get(file) ?? [])
    .map((page) => servedMarkdown(page, targets).trim())
    .join('\n\n---\n\n')
    .concat('\n');
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
