import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../../..');

/** A fenced block of code of a page. */
export interface Block {
  /** `docs/start.md:31`, the place of the fence. */
  at: string;
  page: string;
  /** Empty where the fence names none. */
  language: string;
  caption: string;
  code: string;
  /** The reason of the comment `<!-- not run: … -->` above the block; undefined for a block that runs. */
  notRun: string | undefined;
}

/** Returns the pages whose examples count: README.md and all of docs/ but the decisions. */
export function pagesWithExamples(): string[] {
  const below = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions/'))
    .map((name) => `docs/${name}`);
  return ['README.md', ...below.toSorted()];
}

/** Returns the blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const pattern = /(?:^ *<!-- not run: ([^>]*?) -->\n)?^( *)```([^\n]*)\n([\s\S]*?)^\2```$/gm;
  return [...text.matchAll(pattern)].map((match) => {
    const [whole, notRun, indent = '', info = '', code = ''] = match;
    const [language = '', ...words] = info.trim().split(' ');
    const fence = match.index + whole.indexOf('```');
    return {
      at: `${page}:${text.slice(0, fence).split('\n').length}`,
      page,
      language,
      caption: words.join(' '),
      code: indent === '' ? code : code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      notRun,
    };
  });
}
