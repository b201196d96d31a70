import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { buildDocs } from '../../src/docs/site.ts';

/* The documentation for models, over its real pages. */

/** A model counts about four bytes a token. */
const BYTES_PER_TOKEN = 4;
const MOST_TOKENS = 100_000;

const pages = buildDocs(resolve(import.meta.dirname, '../..'));

test('llms-full.txt has the guides in less than 100,000 tokens', () => {
  const text = pages.get('llms-full.txt') ?? '';
  expect(Buffer.byteLength(text) / BYTES_PER_TOKEN).toBeLessThan(MOST_TOKENS);
  for (const title of ['MCP', 'Receiving events', 'Workflows', 'Error codes', 'Command line'])
    expect(text).toMatch(new RegExp(`^# ${title}$`, 'm'));
});

test('llms-full.txt names each page of the API that it leaves out', () => {
  const text = pages.get('llms-full.txt') ?? '';
  const ofApi = [...pages.keys()].filter((name) => /^pages\/api\/.*\.md$/.test(name));
  expect(ofApi.length).toBeGreaterThan(10);
  const unnamed = ofApi.filter((name) => !text.includes(`/docs/${name.slice('pages/'.length)})`));
  expect(unnamed).toEqual([]);
});
