import { z } from 'zod';
import { findExecution } from '../../actions/executions.ts';
import { invalidRequest } from '../../lib/errors.ts';
import { withoutHidden } from '../../lib/hidden-characters.ts';
import { reportProblem } from '../../runtime/problem-reports.ts';
import { tool } from './define-tool.ts';

const MAX_CHARS = 4000;

export const reportProblemTool = tool({
  name: 'report_problem_svc',
  title: 'Report a problem',
  description:
    'Reports a description, refusal or answer that was wrong or misled you to the operator of these tools. Leave out ' +
    'secrets and personal data.',
  input: z.strictObject({
    message: z
      .string()
      .min(1)
      .max(MAX_CHARS)
      .describe('What you wanted, what happened, what you expected instead.'),
    tool: z.string().max(100).optional().describe('Name of the tool or connector.action.'),
    executionId: z.string().max(100).optional().describe('The call, where you know its id: exe_….'),
  }),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  async run({ context, grant }, { message, tool: name, executionId }) {
    const { environment, userId } = grant;
    if (executionId !== undefined) {
      const execution = await findExecution(context.db, environment, executionId);
      if (!execution || execution.user_id !== (userId ?? null))
        throw invalidRequest(
          [{ field: 'executionId', rule: 'must be a call of this user; leave it out if you do not know it' }],
          'The report',
        );
    }
    const { serverId } = grant.live.server;
    const { caller } = grant;
    await reportProblem(context, {
      environment,
      serverId,
      userId,
      caller,
      tool: name === undefined ? undefined : withoutHidden(name),
      executionId,
      message: withoutHidden(message),
    });
    return { reported: true };
  },
});
