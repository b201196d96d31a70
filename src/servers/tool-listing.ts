/** A tool of a server, and what it costs to list it. */
export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { [keyword: string]: unknown };
  annotations: { [hint: string]: unknown };
  /** Of the whole definition as tools/list gives it. */
  bytes: number;
  /** Of what clients hand to their model: name, description and input schema. */
  tokens: number;
}

export interface ToolCost {
  tools: number;
  bytes: number;
  tokens: number;
}

/** What a server lists, and what it would cost in either mode. */
export interface ToolListing {
  mode: 'direct' | 'discovery';
  /** Actions that its restrictions let through. */
  actions: number;
  tools: readonly ListedTool[];
  /** Tokens of `instructions`, which clients hand to their model beside the tools. */
  instructionTokens: number;
  direct: ToolCost;
  discovery: ToolCost;
}
