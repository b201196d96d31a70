// The OpenAI Agents SDK.
import { MCPServerStreamableHttp } from '@openai/agents';

const server = new MCPServerStreamableHttp({ url: process.argv[2] });
await server.connect();
const tools = await server.listTools();
const content = await server.callTool('sandbox_list_customers', { limit: 1 });
await server.close();
console.log(JSON.stringify({ tools: tools.length, called: { content } }));
