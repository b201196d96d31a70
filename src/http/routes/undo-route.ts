import { z } from 'zod';
import { executeAction } from '../../actions/execute.ts';
import { undoNotFound, undoOfExecution } from '../../actions/undo.ts';
import { withLink } from '../../connect/offer.ts';
import { defineRoute } from '../server/route.ts';
import { EXECUTION_ERRORS } from './executed.ts';

export const undoExecutionRoute = defineRoute({
  method: 'POST',
  path: '/executions/{executionId}/undo',
  operationId: 'undoExecution',
  tag: 'Executions',
  summary: 'Undo a call',
  description:
    'Runs the inverse of a call once, with the account of the call, within 24 hours. `x-svc-userid` limits it to calls of ' +
    'that user.',
  auth: 'api_key',
  scope: 'actions:execute',
  apiVersion: true,
  user: 'existing',
  params: z.strictObject({ executionId: z.string() }),
  success: {
    status: 200,
    description: 'The call is undone.',
    schema: z
      .object({ data: z.unknown(), undoOf: z.string() })
      .meta({ id: 'UndoResult', description: 'Result of an undo.' }),
  },
  errors: ['undo_not_found', 'already_undone', ...EXECUTION_ERRORS],
  async handler({ context, caller, requestId, params: { executionId }, userId, signal }) {
    const { environment } = caller;
    const undo = await undoOfExecution(context, environment, executionId);
    if (userId !== undefined && userId !== undo.userId) throw undoNotFound();
    const { connectorId, actionId, input, credentialId } = undo;
    const { data } = await executeAction(context, {
      environment,
      caller: caller.label,
      requestId,
      userId: undo.userId,
      connectorId,
      actionId,
      input,
      credentialId,
      undo,
      signal,
    }).catch(async (error: unknown) => {
      throw await withLink(context, error, { environment, userId: undo.userId, connectorId });
    });
    return { body: { data, undoOf: undo.executionId } };
  },
});
