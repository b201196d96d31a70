import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { checkFile } from '../../src/cli/connectors-check.ts';

const GUIDE = readFileSync(resolve(import.meta.dirname, '../../docs/connectors.md'), 'utf8');
const blocks = [...GUIDE.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
const blockWith = (start: string): string => blocks.find((block) => block.startsWith(start)) ?? '';

test('the connector of the guide is good, and its example replays', async () => {
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

test('its OAuth scheme and unified model are good as well', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-guide-'));
  try {
    const whole = blockWith('id: bookshop')
      .replace(/authentication:\n[\s\S]*?\nprobe/, `${blockWith('authentication:')}probe`)
      .replace(
        '  lend_book:',
        '  get_book:\n    description: A book.\n    request: GET /books/{bookId}\n    path: { bookId: { type: string } }\n  lend_book:',
      )
      .replace('author: {', 'changed_after: { type: string }\n      author: {');
    const file = join(folder, 'connector.yaml');
    writeFileSync(file, `${whole}\n${blockWith('unified:')}`);
    expect((await checkFile(file)).faults).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
