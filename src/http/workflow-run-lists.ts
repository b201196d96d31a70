import { z } from 'zod';
import { requireWorkflow } from '../workflows/records.ts';
import { describeRun, listRuns, MAX_OFFSET, RUN_STATUSES } from '../workflows/run-log.ts';
import { defineRoute } from './route.ts';
import { pageOf, pageQuery } from './shapes.ts';
import { filterOf, run, TAG, userQuery, workflowParams } from './workflow-shapes.ts';

const runsQuery = {
  ...pageQuery,
  ...userQuery,
  status: z.enum(RUN_STATUSES).optional().meta({ description: 'Runs that stand so alone.' }),
  cursor: z.string().max(64).optional().meta({ description: '`nextCursor` of the page before.' }),
};
const runsPage = {
  status: 200,
  description: 'A page of runs.',
  schema: pageOf(run),
};
const PAGES =
  'Newest first; kept for 30 days. Offsets end at 10,000: follow `pagination.nextCursor` with `cursor`. A JWT sees the runs ' +
  'of its user.';

export const listAllRunsRoute = defineRoute({
  method: 'GET',
  path: '/runs',
  operationId: 'listRuns',
  tag: TAG,
  summary: 'List runs over all workflows',
  description: PAGES,
  auth: 'api_key_or_jwt',
  scope: 'workflows:run',
  cors: true,
  query: z.strictObject({
    ...runsQuery,
    userId: z.string().max(64).optional().meta({ description: 'Runs of this end user alone.' }),
    workflowId: z.string().max(64).optional().meta({ description: 'Runs of this workflow alone.' }),
  }),
  success: runsPage,
  async handler({ context, caller, query: asked }) {
    const { environment } = caller;
    const userId = filterOf(caller, asked);
    return { body: pageOfRuns(asked, await listRuns(context.db, { ...asked, environment, userId })) };
  },
});

export const listRunsRoute = defineRoute({
  method: 'GET',
  path: '/workflows/{workflowId}/runs',
  operationId: 'listWorkflowRuns',
  tag: TAG,
  summary: 'List runs of a workflow',
  description: PAGES,
  auth: 'api_key_or_jwt',
  scope: 'workflows:run',
  apiVersion: true,
  cors: true,
  params: workflowParams,
  query: z.strictObject(runsQuery),
  success: runsPage,
  errors: ['workflow_not_found'],
  async handler({ context, caller, params: { workflowId }, query: asked }) {
    const { environment } = caller;
    const userId = filterOf(caller, asked);
    await requireWorkflow(context.db, environment, workflowId);
    const page = await listRuns(context.db, { ...asked, environment, workflowId, userId });
    return { body: pageOfRuns(asked, page) };
  },
});

function pageOfRuns(
  { offset, cursor }: { offset: number; cursor?: string | undefined },
  { runs, hasMore, nextCursor }: Awaited<ReturnType<typeof listRuns>>,
) {
  const next = offset + runs.length;
  const byOffset = cursor === undefined && next <= MAX_OFFSET;
  const pagination = hasMore
    ? { hasMore, ...(byOffset ? { nextOffset: next } : {}), nextCursor }
    : { hasMore };
  return { data: runs.map(describeRun), pagination };
}
