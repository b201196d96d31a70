import { z } from 'zod';
import { requireWorkflow } from '../../workflows/workflow-records.ts';
import { describeRun, listRuns, RUN_STATUSES } from '../../workflows/run-log.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, pageOf, toCursorPage } from '../server/shapes.ts';
import { filterOf, run, TAG, userQuery, workflowParams } from './workflow-shapes.ts';

const runsQuery = {
  ...cursorQuery,
  ...userQuery,
  status: z.enum(RUN_STATUSES).optional().meta({ description: 'Only runs with this status.' }),
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
  summary: 'List runs of all workflows',
  description: PAGES,
  auth: 'api_key_or_jwt',
  scope: 'workflows:run',
  cors: true,
  query: z.strictObject({
    ...runsQuery,
    userId: z.string().max(64).optional().meta({ description: 'Only runs of this end user.' }),
    workflowId: z.string().max(64).optional().meta({ description: 'Only runs of this workflow.' }),
  }),
  success: runsPage,
  async handler({ context, caller, query: asked }) {
    const { environment } = caller;
    const userId = filterOf(caller, asked);
    const { runs, ...end } = await listRuns(context.db, { ...asked, environment, userId });
    return { body: toCursorPage(runs.map(describeRun), end) };
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
    const { runs, ...end } = await listRuns(context.db, { ...asked, environment, workflowId, userId });
    return { body: toCursorPage(runs.map(describeRun), end) };
  },
});
