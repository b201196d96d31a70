import express from 'express';
import { Agent, request } from 'undici';
import { toolsIn } from './fixtures.ts';

/*
 * The floor: Express that parses a JSON-RPC request and answers it, with no MCP library. An action asks the upstream, as in
 * peer-sdk.ts. Arguments: a file with the tools to list, upstream origin.
 */
const [file, upstream = ''] = process.argv.slice(2);
const tools = toolsIn(file);
const agent = new Agent({ connections: 64 });
const app = express();
app.use(express.json({ limit: '4mb' }));
app.get('/record', (_req, res) => {
  res.json({
    userId: 'usr_1',
    username: 'bench',
    metadata: {},
    enabled: true,
    createdAt: '2026-01-01T00:00:00Z',
  });
});
app.post('/mcp', async (req, res) => {
  const { id, method, params } = req.body;
  const result = method === 'tools/list' ? { tools } : await called(params);
  res.json({ jsonrpc: '2.0', id, result });
});
const listening = app.listen(0, '127.0.0.1', () => {
  const address = listening.address();
  process.stdout.write(`${address && typeof address === 'object' ? address.port : 0}\n`);
});

async function called(params: { name: string; arguments: unknown }): Promise<object> {
  if (params.name === 'echo') return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
  const path = params.name === 'get_item' ? '/items/1' : '/things?limit=50&offset=0';
  const answer = await request(upstream + path, {
    dispatcher: agent,
    headers: { authorization: 'Bearer t' },
  });
  const structuredContent = { data: await answer.body.json() };
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}
