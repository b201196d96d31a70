import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from '../lib/html.ts';
import { highlightCode } from './highlight.ts';
import { withPublicAddress } from './links.ts';
import { createSlugs } from './slugs.ts';

/** A heading of a page, with the words below it up to the next heading of its list. */
export interface Section {
  depth: number;
  title: string;
  anchor: string;
  words: string;
}

export interface RenderedPage {
  html: string;
  sections: Section[];
}

/** Where a link leads, and the title of the page there. */
export interface LinkTarget {
  address: string;
  title?: string | undefined;
}

/** Renders a page. `link` returns the target of a link, or undefined where it leads nowhere. */
export function renderMarkdown(text: string, link: (href: string) => LinkTarget | undefined): RenderedPage {
  const slug = createSlugs();
  const sections: Section[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const title = wordsOf(tokens);
        const anchor = slug(title);
        sections.push({ depth, title, anchor, words: '' });
        if (depth === 1) return `<h1 id="${anchor}">${html}</h1>\n`;
        const self = `<a class="anchor" href="#${anchor}" aria-label="Link to this section: ${escapeHtml(title)}">#</a>`;
        return `<div class="heading"><h${depth} id="${anchor}">${html}</h${depth}>${self}</div>\n`;
      },
      code: (token) => codeBlock(token),
      codespan: ({ text: code }) => inlineCode(code),
      link({ href, tokens }) {
        const target = link(href);
        // In the repository a link is named by its file, at /docs by the title of the page.
        const isFile = /^[\w./-]+\.md$/.test(wordsOf(tokens));
        const html = isFile && target?.title ? escapeHtml(target.title) : this.parser.parseInline(tokens);
        if (!target) return html;
        const away = /^https?:/.test(target.address) ? ' rel="noreferrer"' : '';
        return `<a href="${escapeHtml(target.address)}"${away}>${html}</a>`;
      },
      table({ header, rows, align }) {
        const cell = (tag: 'th' | 'td', { tokens }: Tokens.TableCell, at: number): string => {
          const side = align[at] === 'right' ? ' class="end"' : '';
          // Narrow screens show a row as a record, with the name of its column at each cell but the first.
          const name = at > 0 && tokens.length > 0 ? wordsOf(header[at]?.tokens ?? []) : '';
          const column = tag === 'td' && name !== '' ? ` data-column="${escapeHtml(name)}"` : '';
          const scope = tag === 'th' ? ' scope="col"' : '';
          return `<${tag}${scope}${side}${column}>${this.parser.parseInline(tokens)}</${tag}>`;
        };
        const named = header.some(({ tokens }) => tokens.length > 0);
        const head = named
          ? `<thead><tr>${header.map((one, at) => cell('th', one, at)).join('')}</tr></thead>`
          : '';
        const body = rows.map((row) => `<tr>${row.map((one, at) => cell('td', one, at)).join('')}</tr>`);
        return `<div class="table"><table>${head}<tbody>${body.join('')}</tbody></table></div>\n`;
      },
      // Comments mark blocks for the tests. Other HTML would differ between the places that show a page.
      html: ({ text: html }) => (html.trimStart().startsWith('<!--') ? '' : escapeHtml(html)),
    },
  });
  const tokens = marked.lexer(text);
  const html = groupTokens(tokens)
    .map((group) => (group.length > 1 ? tabs(group) : marked.parser(group)))
    .join('');
  return { html, sections: withWords(sections, tokens) };
}

/** Returns the code blocks that follow each other with captions as one group, everything else alone. */
function groupTokens(tokens: Token[]): Token[][] {
  const groups: Token[][] = [];
  for (const token of tokens.filter(({ type }) => type !== 'space')) {
    const last = groups.at(-1);
    if (isCaptioned(token) && last?.[0] && isCaptioned(last[0])) last.push(token);
    else groups.push([token]);
  }
  return groups;
}

function isCaptioned(token: Token): boolean {
  return isCode(token) && captionOf(token.lang) !== '';
}

function isCode(token: Token): token is Tokens.Code {
  return token.type === 'code';
}

/** Returns the words after the language of a code block: `sh curl` has the caption `curl`. */
function captionOf(info: string | undefined): string {
  return (info ?? '').split(' ').slice(1).join(' ');
}

/** Returns blocks as a group. A script makes tabs of it; without one they stand below each other. */
function tabs(blocks: Token[]): string {
  return `<div class="tabs">${blocks.filter(isCode).map(codeBlock).join('')}</div>\n`;
}

function codeBlock({ text, lang }: { text: string; lang?: string | undefined }): string {
  const [language = ''] = (lang ?? '').split(' ');
  const caption = captionOf(lang);
  const title = caption === '' ? '' : `<figcaption>${escapeHtml(caption)}</figcaption>`;
  const code = highlightCode(withPublicAddress(text), language);
  return `<figure class="code">${title}<pre><code>${code}</code></pre></figure>\n`;
}

/** Returns inline code. A request shows its method as a badge. */
function inlineCode(code: string): string {
  const [, method, path] = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/.exec(code) ?? [];
  if (!method || !path) return `<code>${escapeHtml(code)}</code>`;
  return `<code class="request"><span class="method ${method.toLowerCase()}">${method}</span> ${escapeHtml(path)}</code>`;
}

/** Fills in the words between the headings. */
function withWords(sections: Section[], tokens: Token[]): Section[] {
  let at = -1;
  const words = sections.map((): string[] => []);
  for (const token of tokens) {
    if (token.type === 'heading') at++;
    else if (token.type !== 'html') words[at]?.push(wordsOf([token]));
  }
  return sections.map((section, index) => ({
    ...section,
    words: (words[index] ?? []).join(' ').replaceAll(/\s+/g, ' ').trim(),
  }));
}

/** Returns the text of tokens without marks. */
function wordsOf(tokens: readonly Token[]): string {
  return tokens
    .map((token): string => {
      if (isTable(token))
        return [token.header, ...token.rows]
          .flat()
          .map((cell) => wordsOf(cell.tokens))
          .join(' ');
      if (isList(token)) return token.items.map((item) => wordsOf(item.tokens)).join(' ');
      if ('tokens' in token && token.tokens) return wordsOf(token.tokens);
      return 'text' in token ? token.text : token.raw;
    })
    .join('');
}

function isTable(token: Token): token is Tokens.Table {
  return token.type === 'table';
}

function isList(token: Token): token is Tokens.List {
  return token.type === 'list';
}
