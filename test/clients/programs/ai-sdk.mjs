// The Vercel AI SDK.
import { createMCPClient } from '@ai-sdk/mcp';

const client = await createMCPClient({ transport: { type: 'http', url: process.argv[2] } });
const tools = await client.tools();
const called = await tools.sandbox_list_customers.execute({ limit: 1 }, { toolCallId: '1', messages: [] });
await client.close();
console.log(JSON.stringify({ tools: Object.keys(tools).length, called }));
