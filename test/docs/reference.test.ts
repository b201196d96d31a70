import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { buildDocs } from '../../src/docs/site.ts';
import { INDEX, readGroups, readPages } from '../../src/docs/pages.ts';
import { headOf } from '../clients/api-types.ts';
import { referencePages } from './reference/pages.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('the pages that are printed from the code are current: npm run reference', async () => {
  const printed = await referencePages();
  expect(printed.size).toBeGreaterThan(20);
  const old = [...printed].filter(([name, text]) => readFileSync(resolve(ROOT, name), 'utf8') !== text);
  expect(old.map(([name]) => name)).toEqual([]);
});

test('data/api-types.ts is printed from these routes: npm run client:types', () => {
  expect(readFileSync(resolve(ROOT, 'data/api-types.ts'), 'utf8').split('\n')[0]).toBe(headOf());
});

test('docs/README.md lists each page once', () => {
  const pages = readPages(ROOT).map(({ file }) => file);
  const listed = readGroups(readFileSync(resolve(ROOT, INDEX), 'utf8')).flatMap(({ entries }) =>
    entries.map(({ file }) => file),
  );
  const wanted = pages.filter((file) => file !== INDEX && !/^docs\/decisions\/\d/.test(file));
  expect(listed.toSorted()).toEqual(wanted.toSorted());
});

test('each link and anchor of the built pages leads to a built page', () => {
  const built = buildDocs(ROOT);
  const idsOf = (html: string) => new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id));
  const ids = new Map(
    [...built].flatMap(([name, text]) =>
      name.endsWith('.html')
        ? [[name.replace(/^pages\//, '').replace(/(^index)?\.html$/, ''), idsOf(text)] as const]
        : [],
    ),
  );
  const broken = [...built].flatMap(([name, text]) => {
    if (!name.endsWith('.html')) return [];
    const own = name.replace(/^pages\//, '').replace(/(^index)?\.html$/, '');
    return [...text.matchAll(/ href="([^"]*)"/g)].flatMap(([, href = '']) => {
      if (/^(https?:|__BASE__\/docs\/assets\/|__BASE__\/console$|__PUBLIC_URL__)/.test(href)) return [];
      const [path = '', anchor] = href.replace(/^__BASE__\/docs\/?/, '').split('#');
      const target = href.startsWith('#') ? own : path;
      const known = ids.get(target);
      const isFile = built.has(`pages/${target}`);
      const good = known ? anchor === undefined || known.has(decodeURIComponent(anchor)) : isFile;
      return good ? [] : [`${own}: ${href}`];
    });
  });
  expect(ids.size).toBeGreaterThan(80);
  expect(broken).toEqual([]);
});
