import { dirname, join } from 'node:path';
import type { DocsPage } from './pages.ts';

/** The place in a built page that gets the path before /docs of the public address. */
export const BASE_MARK = '__BASE__';
/** The place that gets the link to the console, where the service has one. */
export const CONSOLE_MARK = '__CONSOLE__';
/** The place that gets the public address. */
export const ADDRESS_MARK = '__PUBLIC_URL__';
/** The address of a service on the reader's machine, which examples name. */
const LOCAL_ADDRESS = 'http://127.0.0.1:3000';

/** Where links of the repository lead at /docs. */
export interface LinkTargets {
  pages: ReadonlyMap<string, DocsPage>;
  /** Paths below docs/ of files that are served unchanged. */
  attachments: ReadonlySet<string>;
}

/**
 * Returns the address at /docs of a link in a file of the repository. Returns undefined where the target is not served, such
 * as a source file.
 */
export function servedLink(
  href: string,
  file: string,
  { pages, attachments }: LinkTargets,
): string | undefined {
  if (/^[a-z]+:/i.test(href)) return href.replace(LOCAL_ADDRESS, ADDRESS_MARK);
  const [path = '', anchor] = href.split('#');
  const target = path === '' ? file : join(dirname(file), path);
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const page = pages.get(target) ?? pages.get(join(target, 'README.md'));
  if (page) return `${addressOf(page.path)}${hash}`;
  if (target === 'README.md') return addressOf('');
  const below = target.slice('docs/'.length);
  return target.startsWith('docs/') && attachments.has(below) ? addressOf(below) : undefined;
}

/** Returns the address of a page by its path below /docs. */
export function addressOf(path: string): string {
  return path === '' ? `${BASE_MARK}/docs` : `${BASE_MARK}/docs/${path}`;
}

/** Returns an example with the address of the service that shows it. */
export function withPublicAddress(code: string): string {
  return code.replaceAll(LOCAL_ADDRESS, ADDRESS_MARK);
}

/** Returns the page that a link in a file leads to; undefined where it leads to none. */
export function linkedPage(href: string, file: string, { pages }: LinkTargets): DocsPage | undefined {
  return /^[a-z]+:|^#/i.test(href) ? undefined : pages.get(join(dirname(file), href.split('#')[0] ?? ''));
}
