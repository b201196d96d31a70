import type { Correction } from '../../connectors/forgive.ts';
import type { Context } from '../../context.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Changed, LogMessage, Progress, TraceHeaders } from '../../upstream/call.ts';
import type { Grant } from './grant.ts';
import type { Inputs } from './input.ts';
import type { Sizing } from './results.ts';
import type { SearchActions } from './search.ts';
import type { Visibility, Visible } from './visible.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** More tools than this are listed in pages; most clients never ask for a second one. */
export const TOOLS_A_PAGE = 5000;

/** A tool as tools/list shows it. */
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

/** What a tool run has to work with. */
export interface ToolScope {
  context: Context;
  grant: Grant;
  visible: Visible;
  visibility: Visibility;
  searchActions: SearchActions;
  workflowTools: WorkflowTools;
  /** What of the arguments was read otherwise than it was written, so far. */
  corrections: Correction[];
  requestId: string;
  signal: AbortSignal;
  onProgress: ((progress: Progress) => void) | undefined;
  onLog: ((message: LogMessage) => void) | undefined;
  onChanged: ((lists: readonly Changed[]) => void) | undefined;
  onWait: (() => void) | undefined;
  trace: TraceHeaders | undefined;
  /** How the person and the model of the client are reached; undefined where a request stands alone. */
  inputs: Inputs | undefined;
}

/** A built-in tool: one value, name, schema and code together. */
export interface BuiltInTool {
  definition: ToolDefinition;
  /** Its answer holds what an app said. */
  thirdParty: boolean;
  /** The structured answer, and how much of it is inlined. @throws GatehouseError for what the run meets; it becomes a tool error. */
  run(scope: ToolScope, args: unknown): Promise<{ value: JsonObject; sizing: Sizing | undefined }>;
}
