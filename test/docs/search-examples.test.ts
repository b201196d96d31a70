import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { askTool } from '../eval/evaluate.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { startService } from '../support/service.ts';

test('each query of docs/mcp.md has the first hit that the page names', async () => {
  const page = readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('## The search\n');
  const rows = [...section.matchAll(/^\| (.+) \| `([a-z.-]+\.[a-z_]+)` \|$/gm)].map(([, query, hit]) => ({
    query: query ?? '',
    hit,
  }));
  expect(rows.length).toBeGreaterThanOrEqual(5);
  await using service = await startService();
  const client = await connectClient((await shop(service)).accessUrl);
  const ask = askTool(client);
  const found = [];
  for (const { query } of rows) found.push({ query, hit: (await ask(query))[0] });
  expect(found).toEqual(rows);
  await client.close();
});
