import { z } from 'zod';
import { MAX_CALLS, runBatch } from '../../actions/batch.ts';
import { executeAction } from '../../actions/execute.ts';
import { assertIdempotencyKey } from '../../actions/idempotency.ts';
import { withLink } from '../../connect/offer.ts';
import { invalidRequest } from '../../lib/errors.ts';
import { batchCorrection, corrections } from './corrected-calls.ts';
import { executed, fields } from './executed.ts';
import { defineRoute } from '../server/route.ts';
import { errorBody, jsonObject } from '../server/shapes.ts';

const call = z.strictObject({
  connectorId: z.string(),
  actionId: z.string(),
  credentialId: z.string().min(1).optional(),
  input: jsonObject.default({}),
  fields: fields.optional(),
  idempotencyKey: z.string().optional().meta({
    description: 'Same as the header of a single call: the same key and call return the first answer again.',
  }),
});

const batch = z.strictObject({
  calls: z.array(call).min(1).max(MAX_CALLS, `must be at most ${MAX_CALLS}`),
});

const outcome = z.object({
  connectorId: z.string(),
  actionId: z.string(),
  status: z.int().meta({ description: 'The HTTP status that the single call would have had.' }),
  ...executed.omit({ corrections: true }).partial().shape,
  replayed: z.boolean().optional().meta({ description: 'Whether this repeats the first answer.' }),
  ...errorBody.partial().shape,
});

export const executeBatchRoute = defineRoute({
  method: 'POST',
  path: '/actions/execute',
  operationId: 'executeBatch',
  tag: 'Actions',
  summary: 'Run up to ten actions at the same time on behalf of a user',
  description:
    'Each call is checked, recorded and answered like a single call. It has its own result or error, in the ' +
    'order of `calls`. No call should need the result of another. `corrections` lists what was corrected.',
  auth: 'api_key',
  scope: 'actions:execute',
  apiVersion: true,
  user: 'required',
  headers: { 'x-credential-id': 'The credential to use for calls of its own connector.' },
  body: batch,
  correct: batchCorrection(batch, call),
  success: {
    status: 200,
    description: 'An outcome for each call, whether it succeeded or not.',
    schema: z.object({ results: z.array(outcome), corrections: corrections.optional() }),
  },
  async handler({ context, caller, requestId, body, corrections: corrected, userId, header, signal }) {
    if (header('idempotency-key') !== undefined) {
      throw invalidRequest([
        { field: 'Idempotency-Key', rule: 'belongs to single calls; give each call its own idempotencyKey' },
      ]);
    }
    const { environment } = caller;
    const outcomes = await runBatch(
      body.calls,
      async (call) => {
        if (call.idempotencyKey !== undefined) assertIdempotencyKey(call.idempotencyKey);
        return executeAction(context, {
          ...call,
          environment,
          caller: caller.label,
          requestId,
          userId,
          credentialHeader: header('x-credential-id'),
          signal,
        }).catch(async (error: unknown) => {
          throw await withLink(context, error, { environment, userId, connectorId: call.connectorId });
        });
      },
      { onFault: (err) => context.log.error({ requestId, err }, 'a call of a batch failed') },
    );
    const results = outcomes.map((one, at) => {
      const { connectorId = '', actionId = '' } = body.calls[at] ?? {};
      if ('value' in one) return { connectorId, actionId, status: 200, ...one.value };
      const { status, message, code, details } = one.error;
      return {
        connectorId,
        actionId,
        status,
        error: message,
        code,
        requestId,
        ...(details ? { details } : {}),
      };
    });
    return { body: { results, ...(corrected.length === 0 ? {} : { corrections: corrected }) } };
  },
});
