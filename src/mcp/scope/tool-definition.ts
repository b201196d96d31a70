/** A tool in the form of tools/list. */
export interface ToolDefinition {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; [keyword: string]: unknown };
  outputSchema?: { type: 'object'; [keyword: string]: unknown };
  annotations: Partial<Hints>;
  icons?: { src: string; mimeType: string }[];
  _meta?: Record<string, unknown>;
}

/** The effects of a tool, in the words of MCP. */
export interface Hints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/**
 * Returns the hints without those that say nothing new: MCP assumes that a tool writes, is not idempotent and reaches
 * the open world, and two of the hints have a meaning for writes alone. A list has hundreds of tools.
 */
export function sparseHints(hints: Hints): Partial<Hints> {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = hints;
  return {
    ...(readOnlyHint ? { readOnlyHint } : { destructiveHint }),
    ...(idempotentHint && !readOnlyHint ? { idempotentHint } : {}),
    ...(openWorldHint ? {} : { openWorldHint }),
  };
}

/** Maximum size of a page of tools/list. It is large, because most clients never read a second page. */
export const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** Returns the JSON texts of the first tools, as many as fit in one page. */
export function pageTexts(tools: readonly ToolDefinition[]): string[] {
  const texts: string[] = [];
  let bytes = 0;
  for (const tool of tools) {
    const text = JSON.stringify(tool);
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_PAGE_BYTES && texts.length > 0) break;
    texts.push(text);
  }
  return texts;
}
