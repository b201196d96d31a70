import { LRUCache } from 'lru-cache';
import type { Base } from '../../base.ts';
import { withPauses } from '../../lib/pauses.ts';
import { estimateTokens } from '../../lib/token-estimate.ts';
import { describeActions } from '../../servers/described-actions.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import type { ListedTool, ToolCost, ToolListing } from '../../servers/tool-listing.ts';
import type { ToolDefinition } from './tool-definition.ts';
import { BUILT_IN_BY_NAME } from './tools.ts';
import { computeVisible } from './visible.ts';

/** The sum of tools in all cached listings. A tool is a few references and numbers. */
const MAX_CACHED_TOOLS = 50_000;

/** The tools that servers list to their clients. */
export interface Listings {
  /** Cached until the restrictions, the tool mode, the instructions or the catalogue change. */
  of(live: LiveServer): Promise<ToolListing>;
}

export function createListings(context: Pick<Base, 'catalog' | 'publicUrl'>): Listings {
  const cached = new LRUCache<string, ToolListing>({ maxSize: MAX_CACHED_TOOLS });
  return {
    async of(live) {
      const key = `${context.catalog.version} ${live.shape}`;
      const found = cached.get(key);
      if (found) return found;
      const listing = await listingOf(context, live);
      cached.set(key, listing, { size: listing.direct.tools });
      return listing;
    },
  };
}

/** Returns the tools that a server lists, and the cost of each tool mode. */
async function listingOf(
  context: Pick<Base, 'catalog' | 'publicUrl'>,
  live: LiveServer,
): Promise<ToolListing> {
  const { environment } = live.server;
  await describeActions(context.catalog, { environment, decision: live.decision });
  const { direct, connectors, instructions } = computeVisible(context, live);
  const server = { ...live.server, toolMode: 'direct' as const };
  const all: ListedTool[] = [];
  for await (const tool of withPauses(computeVisible(context, { ...live, server }, connectors).tools))
    all.push(weigh(tool));
  const builtIn = all.filter(({ name }) => BUILT_IN_BY_NAME.has(name));
  const mode = direct.size > 0 ? 'direct' : 'discovery';
  return {
    mode,
    actions: connectors.reduce((sum, one) => sum + one.actions.length, 0),
    tools: mode === 'direct' ? all : builtIn,
    instructionTokens: estimateTokens(instructions),
    direct: costOf(all),
    discovery: costOf(builtIn),
  };
}

function weigh(tool: ToolDefinition): ListedTool {
  const { name, title, description, inputSchema, annotations } = tool;
  return {
    name,
    title,
    description,
    inputSchema,
    annotations,
    bytes: Buffer.byteLength(JSON.stringify(tool)),
    tokens: estimateTokens(JSON.stringify({ name, description, inputSchema })),
  };
}

function costOf(tools: readonly ListedTool[]): ToolCost {
  return {
    tools: tools.length,
    bytes: tools.reduce((sum, { bytes }) => sum + bytes, 0),
    tokens: tools.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}
