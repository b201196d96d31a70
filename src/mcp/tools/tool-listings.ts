import { LRUCache } from 'lru-cache';
import type { Base } from '../../base.ts';
import type { Context } from '../context.ts';
import { severalAccounts } from '../../credentials/active-credentials.ts';
import { withPauses } from '../../lib/pauses.ts';
import { estimateTokens } from '../../lib/token-estimate.ts';
import { describeActions } from '../../servers/described-actions.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import type { ListedTool, ToolCost, ToolListing } from '../../servers/tool-listing.ts';
import type { ToolDefinition } from '../scope/tool-definition.ts';
import { BUILT_IN_BY_NAME } from './tools.ts';
import { choicesIn, computeVisible, withAccounts } from './visible.ts';
import { createWorkflowTools, listed } from './workflow-tools.ts';

/** The sum of tools in all cached listings. A tool is a few references and numbers. */
const MAX_CACHED_TOOLS = 50_000;

/** The tools that servers list to the clients of their users. */
export interface Listings {
  /** Cached until the restrictions, the tool mode, the instructions, the catalogue or the user's accounts change. */
  of(live: LiveServer, userId: string | undefined): Promise<ToolListing>;
}

type ListingContext = Pick<Base, 'db' | 'clock' | 'catalog' | 'publicUrl'> &
  Pick<Context, 'credentialMemory'>;

export function createListings(context: ListingContext): Listings {
  const cached = new LRUCache<string, ToolListing>({ maxSize: MAX_CACHED_TOOLS });
  const workflowTools = createWorkflowTools(context);
  const ofActions = async (live: LiveServer, several: ReadonlySet<string>): Promise<ToolListing> => {
    const key = `${context.catalog.version} ${live.shape} ${[...several].toSorted().join(' ')}`;
    const found = cached.get(key);
    if (found) return found;
    const listing = await listingOf(context, live, several);
    cached.set(key, listing, { size: listing.direct.tools });
    return listing;
  };
  return {
    async of(live, userId) {
      const user = { environment: live.server.environment, userId };
      const listing = await ofActions(live, await severalAccounts(context, user));
      const workflows = listed(await workflowTools.of({ ...user, live }), { live }).map(weigh);
      return workflows.length === 0 ? listing : withTools(listing, workflows);
    },
  };
}

/** Returns the tools that a server lists, and the cost of each tool mode. */
async function listingOf(
  context: Pick<Base, 'catalog' | 'publicUrl'>,
  live: LiveServer,
  several: ReadonlySet<string>,
): Promise<ToolListing> {
  const { environment } = live.server;
  await describeActions(context.catalog, { environment, decision: live.decision });
  const visible = computeVisible(context, live);
  const { direct, connectors, instructions } = visible;
  const server = { ...live.server, toolMode: 'direct' as const };
  const whole = computeVisible(context, { ...live, server }, connectors);
  const toChoose = choicesIn(visible, several);
  const { tools } = toChoose.length === 0 ? whole : withAccounts(whole, toChoose);
  const all: ListedTool[] = [];
  for await (const tool of withPauses(tools)) all.push(weigh(tool));
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

/** Returns a listing with further tools, in the mode that it has. */
function withTools(listing: ToolListing, more: readonly ListedTool[]): ToolListing {
  const tools = [...listing.tools, ...more];
  return { ...listing, tools, [listing.mode]: costOf(tools) };
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
