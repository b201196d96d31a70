import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { checkFile } from '../../src/author/check-file.ts';

const GUIDE = readFileSync(resolve(import.meta.dirname, '../../docs/connectors.md'), 'utf8');
const blocks = [...GUIDE.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
const blockWith = (start: string): string => blocks.find((block) => block.startsWith(start)) ?? '';

test('the connector of the guide is valid, and its example replays', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-guide-'));
  try {
    mkdirSync(join(folder, 'bookshop'));
    const file = join(folder, 'bookshop', 'connector.yaml');
    writeFileSync(file, blockWith('id: bookshop'));
    writeFileSync(join(folder, 'bookshop', 'examples.yaml'), blockWith('examples:'));
    expect(await checkFile(file)).toMatchObject({ actions: 3, examples: 1, faults: [] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the OAuth scheme of the connector guide is valid', async () => {
  const whole = blockWith('id: bookshop').replace(
    /authentication:\n[\s\S]*?\nprobe/,
    `${blockWith('authentication:')}probe`,
  );
  expect((await checked({ 'connector.yaml': whole })).faults).toEqual([]);
});

test("the guide's model, event source and webhook give what the examples expect", async () => {
  const hook = (name: string, request: string, parameters: string) =>
    `  ${name}:\n    internal: true\n    description: Hooks.\n    request: ${request}\n    ${parameters}\n`;
  const whole = blockWith('id: bookshop')
    .replace(
      '  lend_book:',
      '  get_book:\n    description: A book.\n    request: GET /books/{bookId}\n    path: { bookId: { type: string } }\n  lend_book:',
    )
    .replace('author: {', 'changed_after: { type: string }\n      author: {');
  const reviews =
    '  list_reviews:\n    description: Reviews.\n    request: GET /books/{bookId}/reviews\n' +
    '    path: { bookId: { type: string } }\n    query: { after: { type: string } }\n    paging: pages\n';
  const hooks = [
    reviews,
    hook('list_hooks', 'GET /hooks', ''),
    hook(
      'add_hook',
      'POST /hooks',
      'body: { url: { type: string }, event: { type: string }, secret: { type: string } }',
    ),
    hook('remove_hook', 'DELETE /hooks/{hookId}', 'path: { hookId: { type: string } }'),
  ];
  const found = await checked({
    'connector.yaml': [
      whole,
      ...hooks,
      blockWith('unified:\n  commerce'),
      blockWith('events:\n  review'),
      blockWith('webhooks:'),
    ].join(''),
    'examples.yaml': blockWith('examples:') + blockWith('unified:\n  - scope'),
  });
  expect(found).toMatchObject({ faults: [], examples: 1, records: 2, webhooks: 2, untried: [] });
});

async function checked(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-guide-'));
  try {
    mkdirSync(join(folder, 'bookshop'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'bookshop', name), text);
    return await checkFile(join(folder, 'bookshop', 'connector.yaml'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
