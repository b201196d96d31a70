import type { Grant } from './grant.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** A workflow as a tool, and the rule that denies it to this server, if any. */
export interface WorkflowTool {
  definition: ToolDefinition;
  workflowId: string;
  rule: string | undefined;
}

export interface WorkflowTools {
  /** Returns the tools of a grant's user, denied ones included. */
  of(grant: Pick<Grant, 'environment' | 'userId' | 'live'>): Promise<readonly WorkflowTool[]>;
}
