import type { RunRecord } from '../api-types.ts';
import { useRest } from '../queries.ts';
import { isObject } from '../rest-client.ts';

/** Results of steps that a test can use again. */
export interface EarlierResults {
  /** The test run that they are from; undefined when there is none. */
  runId: string | undefined;
  /** By stepId. */
  results: Record<string, unknown>;
}

/**
 * Returns the results of the newest test run of a workflow for a user. When that run lacks a result that is `read`, those of
 * the newest run of a whole draft are returned.
 */
export function useEarlierResults({
  workflowId = '',
  userId,
  read,
}: {
  workflowId: string | undefined;
  userId: string;
  read: readonly string[];
}): EarlierResults {
  const enabled = workflowId !== '' && userId !== '';
  const runs = useRest('/runs', {
    query: { workflowId, userId, limit: 50 },
    topics: ['runs'],
    enabled,
  });
  const tests = enabled ? (runs.data?.data ?? []).filter((one) => isTestOf(one, workflowId, userId)) : [];
  const newest = useResults(workflowId, tests[0]?.runId);
  const whole = useResults(workflowId, tests.find((one) => one.stepId === undefined)?.runId);
  const covers = ({ results }: EarlierResults) => read.every((id) => results[id] !== undefined);
  return covers(newest) || whole.runId === undefined ? newest : whole;
}

function isTestOf(run: RunRecord, workflowId: string, userId: string): boolean {
  return run.installationId === null && run.workflowId === workflowId && run.userId === userId;
}

function useResults(workflowId: string, runId: string | undefined): EarlierResults {
  const { data } = useRest('/workflows/{workflowId}/runs/{runId}', {
    path: { workflowId, runId: runId ?? '' },
    topics: ['runs'],
    enabled: runId !== undefined,
  });
  if (runId === undefined || data?.runId !== runId) return { runId: undefined, results: {} };
  const results = data.steps.flatMap(({ stepId, output }) => (isObject(output) ? [[stepId, output]] : []));
  return { runId, results: Object.fromEntries(results) };
}
