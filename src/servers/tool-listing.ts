/** A tool of a server, with the cost of listing it. */
export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { [keyword: string]: unknown };
  annotations: { [hint: string]: unknown };
  /** Size of the complete definition in tools/list, in bytes. */
  bytes: number;
  /** Tokens of the parts that clients give to their model: name, description and input schema. */
  tokens: number;
}

export interface ToolCost {
  tools: number;
  bytes: number;
  tokens: number;
}

/** The tools of a server, with their cost in both modes. */
export interface ToolListing {
  mode: 'direct' | 'discovery';
  /** Number of actions that the restrictions allow. */
  actions: number;
  tools: readonly ListedTool[];
  /** Tokens of `instructions`, which clients give to their model in addition to the tools. */
  instructionTokens: number;
  direct: ToolCost;
  discovery: ToolCost;
}
