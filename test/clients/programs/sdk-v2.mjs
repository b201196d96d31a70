// The official SDK's client, v2: it finds out which form is spoken, or insists on one.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [, , url, mode] = process.argv;
const versionNegotiation = { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode };
const client = new Client({ name: 'v2', version: '1' }, { versionNegotiation });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const era = client.getProtocolEra?.();
const { tools } = await client.listTools();
const called = await client.callTool({ name: 'sandbox_list_customers', arguments: { limit: 1 } });
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
await client.close();
console.log(
  JSON.stringify({ era, tools: tools.length, called, resources: resources.length, prompts: prompts.length }),
);
