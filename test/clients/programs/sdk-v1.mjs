// The official SDK's client, v1: a session.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const client = new Client({ name: 'v1', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
const called = await client.callTool({ name: 'sandbox_list_customers', arguments: { limit: 1 } });
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
await client.close();
console.log(
  JSON.stringify({ tools: tools.length, called, resources: resources.length, prompts: prompts.length }),
);
