import express from 'express';
import { toolsIn } from './fixtures.ts';

/* The floor: Express that parses a JSON-RPC request and answers it, with no MCP library. Argument: a file with the tools to list. */
const tools = toolsIn(process.argv[2]);
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
app.post('/mcp', (req, res) => {
  const { id, method, params } = req.body;
  const result =
    method === 'tools/list'
      ? { tools }
      : { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
  res.json({ jsonrpc: '2.0', id, result });
});
const listening = app.listen(0, '127.0.0.1', () => {
  const address = listening.address();
  process.stdout.write(`${address && typeof address === 'object' ? address.port : 0}\n`);
});
