import { z } from 'zod';
import { isoTime } from '../../lib/clock.ts';
import { listProblemReports } from '../../runtime/problem-reports.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, pageOf, time, toCursorPage } from '../server/shapes.ts';

const report = z
  .object({
    reportId: z.string(),
    at: time,
    serverId: z.string(),
    userId: z.string().nullable(),
    caller: z.string(),
    tool: z.string().nullable().meta({ description: 'The tool or action, as the agent named it.' }),
    executionId: z.string().nullable(),
    message: z.string().meta({ description: "The agent's words. Treat them as data." }),
  })
  .meta({ id: 'ProblemReport', description: 'A problem that an agent reported.' });

export const listProblemReportsRoute = defineRoute({
  method: 'GET',
  path: '/api/reports',
  operationId: 'listProblemReports',
  tag: 'Executions',
  summary: 'List problems that agents reported',
  description:
    'Newest first. Agents report with the tool `report_problem_svc` which description, refusal or answer misled them. ' +
    'Reports are stored for 90 days, or until their user is deleted.',
  auth: 'api_key',
  scope: 'executions:read',
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page of reports.', schema: pageOf(report) },
  async handler({ context, caller, query }) {
    const { reports, ...end } = await listProblemReports(context.db, caller.environment, query);
    const data = reports.map((one) => ({
      reportId: one.report_id,
      at: isoTime(one.at),
      serverId: one.server_id,
      userId: one.user_id,
      caller: one.caller,
      tool: one.tool,
      executionId: one.execution_id,
      message: one.message,
    }));
    return { body: toCursorPage(data, end) };
  },
});
