import express from 'express';
import { benchActions } from './fixtures.ts';

/* The floor: Express that parses a JSON-RPC request and answers it, with no MCP library. Argument: number of tools. */
const tools = benchActions(Number(process.argv[2] ?? '10')).map(({ name, description, properties }) => ({
  name,
  description,
  inputSchema: { type: 'object', properties },
}));
const app = express();
app.use(express.json({ limit: '4mb' }));
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
