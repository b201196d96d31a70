import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createSlugs } from '../../src/docs/slugs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const README = read('README.md');

test('README.md has each npm script', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(read('package.json')));
  const wanted = Object.keys(scripts)
    // npm runs those on its own.
    .filter((name) => !/^(pre|post)/.test(name))
    .map((name) => (['start', 'test'].includes(name) ? `npm ${name}` : `npm run ${name}`));
  expect(wanted.filter((word) => !README.includes(word))).toEqual([]);
});

test('links between our pages lead to a file, and to one of its headings', () => {
  const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docsPages()];
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
      .filter(([, path = '', heading]) => {
        const to = path === '' ? page : join(dirname(page), path);
        return (
          !existsSync(join(ROOT, to)) || (heading !== undefined && !headingsOf(read(to)).includes(heading))
        );
      })
      .map(([link]) => `${page}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test('a file that our pages name exists', () => {
  const named = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docsPages()].flatMap((page) =>
    [...read(page).matchAll(/`((?:[\w-]+\/)*[\w-]+\.(?:ts|js)|(?:[\w-]+\/)+)`/g)].map(([, path = '']) => ({
      page,
      path,
    })),
  );
  // The build creates dist/.
  const missing = named
    .filter(({ path }) => path !== 'dist/')
    .filter(({ path }) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, 'src', path)))
    .map(({ page, path }) => `${page}: ${path}`);
  expect(named.length).toBeGreaterThan(100);
  expect(missing).toEqual([]);
});

/** Returns the pages below docs/. */
function docsPages(): string[] {
  return readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
}

/** Returns the anchors of the headings of a page. */
function headingsOf(text: string): string[] {
  const slug = createSlugs();
  const plain = text.replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...plain.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => slug(title));
}
