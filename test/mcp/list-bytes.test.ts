import { expect, test } from 'vitest';
import { connectClient, shop } from '../support/mcp.ts';
import { startService } from '../support/service.ts';

test('a list has at most one and a half times the bytes of its plain tools', async () => {
  await using service = await startService();
  const client = await connectClient((await shop(service, { toolMode: 'direct' })).accessUrl);
  const { tools } = await client.listTools();
  await client.close();
  const bare = tools.map(({ name, title, description, inputSchema }) => ({
    name,
    title,
    description,
    inputSchema,
  }));
  expect(tools.length).toBeGreaterThan(500);
  expect(JSON.stringify(tools).length / JSON.stringify(bare).length).toBeLessThan(1.5);
});
