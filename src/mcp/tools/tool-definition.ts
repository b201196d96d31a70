/** A tool in the form of tools/list. */
export interface ToolDefinition {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; [keyword: string]: unknown };
  outputSchema?: { type: 'object'; [keyword: string]: unknown };
  annotations: {
    title: string;
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
  icons?: { src: string; mimeType: string; sizes: string[] }[];
  _meta?: Record<string, unknown>;
}

/** Page size of tools/list. It is large, because most clients never read a second page. */
export const TOOLS_A_PAGE = 5000;
