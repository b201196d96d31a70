import { z } from 'zod';
import { undoByToken } from '../../actions/undo.ts';
import { GatehouseError, withDetails } from '../../lib/errors.ts';
import { tool } from './define-tool.ts';
import { runAction } from './run-action.ts';

const NAME = 'undo_action_svc';

export const undoActionTool = tool({
  name: NAME,
  title: 'Undo a call',
  description: 'Undoes a call whose result had an undoToken, once, within 24 hours.',
  input: z.strictObject({
    undoToken: z.string().describe('undo.undoToken of the result.'),
    confirmationToken: z
      .string()
      .optional()
      .describe('From the error confirmation_required, after the user agreed.'),
  }),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  view: 'questions',
  thirdParty: true,
  async run(scope, { undoToken, confirmationToken }) {
    const { environment, userId, live } = scope.grant;
    const { serverId } = live.server;
    const undo = await undoByToken(scope.context, { environment, serverId, userId, undoToken });
    const { connectorId, actionId, input, credentialId, executionId } = undo;
    try {
      const call = { connectorId, actionId, input, credentialId, confirmationToken };
      return { ...(await runAction(scope, { ...call, undo })), undoOf: executionId };
    } catch (error) {
      if (!(error instanceof GatehouseError) || error.code !== 'confirmation_required') throw error;
      throw withDetails(error, { tool: NAME });
    }
  },
});
