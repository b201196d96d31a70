import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { estimateTokens } from '../../src/lib/token-estimate.ts';
import { connectClient, shop } from '../support/mcp.ts';
import type { Service } from '../support/service.ts';
import type { Row } from './rows.ts';

const TYPICAL = ['github', 'slack', 'notion'];
const SERVERS = [
  { name: 'all connectors', restrictions: {} },
  { name: 'GitHub, Slack and Notion', restrictions: { connectors: { allowedIds: TYPICAL } } },
];
const MODES = [
  { name: 'direct', server: { toolMode: 'direct', codeMode: 'off' } },
  { name: 'discovery', server: { toolMode: 'discovery', codeMode: 'off' } },
  { name: 'program', server: { toolMode: 'discovery', codeMode: 'on' } },
];

/** Returns the tools that a model reads at first, and their tokens, by server and mode. */
export async function listRows(service: Service): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, restrictions } of SERVERS)
    for (const mode of MODES) {
      const { accessUrl } = await shop(service, { ...mode.server, restrictions });
      const client = await connectClient(accessUrl);
      const tools = await listAll(client);
      await client.close();
      rows.push({
        part: 'tools listed',
        name: `${name}: ${mode.name}`,
        figures: 'tools / tokens',
        now: [tools.length, tools.reduce((sum, tool) => sum + tokensOf(tool), 0)],
      });
    }
  return rows;
}

/** Returns the tools of all pages. */
export async function listAll(client: Client): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

/** Returns the tokens of a tool as it is listed. */
export function tokensOf(tool: Tool): number {
  return estimateTokens(JSON.stringify(tool));
}
