import type { Defined } from '../api-types.ts';
import { rest } from '../rest-client.ts';

/** The version that holds a stored draft. */
export interface StoredDraft {
  workflowId: string;
  version: number;
}

export interface DraftProps {
  definition: Defined['definition'];
  /** Undefined before the first draft of a new workflow is stored. */
  workflowId: string | undefined;
  canStore: boolean;
  /** The refusal of the last draft, which the editor shows. */
  storeError: Error | null;
  store: () => Promise<StoredDraft>;
}

/** The values that a test starts with; undefined where the person entered none. */
export interface Start {
  config?: Record<string, unknown>;
  input?: unknown;
}

/** Starts a test. Returns the id of its run. */
export async function startTest(
  { workflowId, version }: StoredDraft,
  userId: string,
  body: Start & { stepId?: string; given?: Record<string, Record<string, unknown>>; fromRunId?: string },
): Promise<string> {
  const { runId } = await rest('POST', '/workflows/{workflowId}/versions/{version}/try', {
    path: { workflowId, version },
    query: { userId },
    body,
  });
  return runId;
}
