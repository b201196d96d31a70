import type { Correction } from '../../lib/correction.ts';
import type { Context } from '../context.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { McpCall } from './mcp-call.ts';
import type { RunningTasks } from './running-tasks.ts';
import type { Sizing } from './sizing.ts';
import type { SearchActions } from '../../search/action-search.ts';
import type { Visibility, Visible } from './visible-types.ts';
import type { WaitingCalls } from './waiting-calls.ts';
import type { WorkflowTools } from './workflow-tool.ts';
import type { ToolDefinition } from './tool-definition.ts';
import type { ViewDocument } from './view-document.ts';

/** The context of a tool run, and the request that it belongs to. */
export interface ToolScope extends Omit<McpCall, 'connection' | 'listen' | 'protocolVersion'> {
  context: Context;
  visible: Visible;
  visibility: Visibility;
  searchActions: SearchActions;
  workflowTools: WorkflowTools;
  waitingCalls: WaitingCalls;
  runningTasks: Pick<RunningTasks, 'wake'>;
  viewDocument: ViewDocument;
  /** Subscribes the user to a resource of a remote MCP server. @throws as RemoteSubscriptions */
  follow(uri: string): Promise<void>;
  /** Ends the subscription when no other client of the user has it. */
  unfollow(uri: string): void;
  /** Corrections of the arguments so far. */
  corrections: Correction[];
}

/** A built-in tool: name, schema and code in one value. */
export interface BuiltInTool {
  definition: ToolDefinition;
  /** Whether its answer holds the words of an app. */
  thirdParty: boolean;
  /**
   * When clients with MCP Apps show its results in the document: always, or only where they cannot ask their user.
   * Undefined means never.
   */
  view?: 'results' | 'questions' | undefined;
  /**
   * Runs the tool. Returns the structured answer and how much of it is inlined.
   * @throws GatehouseError, which becomes a tool error.
   */
  run(scope: ToolScope, args: unknown): Promise<{ value: JsonObject; sizing: Sizing | undefined }>;
  /**
   * For tools that some servers do not list, and then do not run: returns whether a call goes on with work that began while
   * the tool was listed. Such a call runs. Undefined for a tool that runs everywhere.
   */
  continues?: ((scope: ToolScope, args: unknown) => Promise<boolean>) | undefined;
}
