import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Agent, request } from 'undici';
import { toolsIn } from './fixtures.ts';

/*
 * The reference: the official SDK alone on plain node:http, a low-level Server for each POST as in its stateless example.
 * No token, no restriction, no limit, no credential, no record. Arguments: a file with the tools to list, upstream origin, `http` or `stdio`.
 */
const [file, upstream = '', mode = 'http'] = process.argv.slice(2);
const agent = new Agent({ connections: 64 });
const tools = toolsIn(file);

function createServer(): Server {
  const server = new Server({ name: 'peer', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    if (params.name === 'echo')
      return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
    const path = params.name === 'get_item' ? '/items/1' : '/things?limit=50&offset=0';
    const answer = await request(upstream + path, {
      dispatcher: agent,
      headers: { authorization: 'Bearer t' },
    });
    const body: unknown = await answer.body.json();
    const structuredContent = { data: body };
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
  });
  return server;
}

if (mode === 'stdio') {
  await createServer().connect(new StdioServerTransport());
} else {
  const listening = createHttpServer(async (req, res) => {
    const body: unknown = JSON.parse(await textOf(req));
    const server = createServer();
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    res.on('close', () => {
      void transport.close();
      void server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(req, res, body);
  });
  listening.listen(0, '127.0.0.1', () => {
    const address = listening.address();
    process.stdout.write(`${address && typeof address === 'object' ? address.port : 0}\n`);
  });
}

function textOf(req: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    req.setEncoding('utf8');
    req.on('data', (chunk: string) => (text += chunk));
    req.on('end', () => resolve(text));
  });
}
