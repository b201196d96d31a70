import type { ToolDefinition } from '../scope/tool-definition.ts';

/**
 * Returns the JSON Schemas of the inputs of built-in tools, by name. The build puts in those that it computed, because
 * computing them takes a thirtieth of a start. Sources have none.
 */
export function readySchemas(): Readonly<Record<string, ToolDefinition['inputSchema']>> {
  return {};
}
