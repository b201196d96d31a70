import { z } from 'zod';
import { MAX_CALLS, runBatch } from '../../actions/batch.ts';
import { fieldsSchema } from '../../actions/projection.ts';
import { idsFor } from '../../actions/call-corrections.ts';
import { isJsonObject } from '../../lib/json.ts';
import { repairedCall } from './action-call.ts';
import { tool } from './define-tool.ts';
import { errorView } from '../answers/next-steps.ts';
import { proposeIds, withParameters } from './proposals.ts';
import { fitted, INLINE_BYTES, LEAST_BYTES, sizingOf } from '../answers/results.ts';
import { runAction } from './run-action.ts';
import { namingOf } from './visible-names.ts';

/* The tools that run actions. */

const action = z.strictObject({
  connectorId: z.string(),
  actionId: z.string(),
  parameters: z
    .record(z.string(), z.json())
    .optional()
    .describe('The input of the action; see get_action_svc.'),
  credentialId: z
    .string()
    .optional()
    .describe('Account to use when the user has several: its id or exact name.'),
  fields: fieldsSchema
    .optional()
    .describe(
      'Only these members of each record, to keep answers short: ["id", "customer.email", "lines.sku"].',
    ),
  maxBytes: z
    .int()
    .min(LEAST_BYTES)
    .max(INLINE_BYTES)
    .optional()
    .describe('Maximum size of the answer. The answer says what it leaves out.'),
  confirmationToken: z
    .string()
    .optional()
    .describe('From the error confirmation_required, after the user agreed to the call.'),
  again: z.boolean().optional().describe('From the error possible_duplicate: runs an equal write again.'),
});
const RUNS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

export const executeActionTool = tool({
  name: 'execute_action_svc',
  title: 'Run an action',
  description:
    'Runs an action of an app for the user. Lists answer with data and pagination: repeat with parameters.offset = ' +
    'pagination.nextOffset while pagination.hasMore. An error about parameters names each fault and returns the schema.',
  input: action,
  hints: RUNS,
  view: 'results',
  thirdParty: true,
  repair(scope, args) {
    const call = repairedCall(scope, args);
    return isJsonObject(call) ? call : args;
  },
  async run(scope, { parameters = {}, ...call }) {
    return runAction(scope, {
      ...call,
      ...idsFor(namingOf(scope), call),
      input: parameters,
      path: 'parameters',
    });
  },
  propose: proposeIds,
  schemaFor: withParameters,
  sizing: sizingOf,
});

export const executeBatch = tool({
  name: 'execute_batch_svc',
  title: 'Run several actions',
  description:
    `Runs up to ${MAX_CALLS} actions at the same time, each as execute_action_svc would; every one has its own result or ` +
    'error. For calls that do not need the result of one another.',
  input: z.strictObject({ calls: z.array(action).min(1).max(MAX_CALLS) }),
  hints: RUNS,
  thirdParty: true,
  repair(scope, { calls, ...rest }) {
    // The schema refuses a longer list.
    const read =
      Array.isArray(calls) && calls.length <= MAX_CALLS
        ? calls.map((one, at) => repairedCall(scope, one, `calls.${at}.`))
        : calls;
    return { ...rest, ...(read === undefined ? {} : { calls: read }) };
  },
  propose: proposeIds,
  async run(scope, { calls: given }) {
    const calls = given.map((call, at) => ({
      ...call,
      ...idsFor(namingOf(scope), call, `calls.${at}.`),
      path: `calls.${at}.parameters`,
    }));
    // The calls run at the same time, so their questions and progress could not be distinguished.
    const alone = { ...scope, inputs: undefined, onProgress: undefined };
    const limit = Math.floor(INLINE_BYTES / calls.length);
    const outcomes = await runBatch(
      calls,
      async ({ parameters = {}, maxBytes, ...call }) => {
        const value = await runAction(alone, { ...call, input: parameters });
        const sizing = sizingOf({ ...call, parameters, maxBytes: Math.min(maxBytes ?? limit, limit) });
        return fitted(scope, value, sizing);
      },
      {
        onDone: (done) => scope.onProgress?.({ progress: done, total: calls.length }),
        onFault: (err) => scope.context.log.error({ requestId: scope.requestId, err }, 'MCP request failed'),
      },
    );
    return {
      results: outcomes.map((outcome, at) => {
        const { connectorId = '', actionId = '' } = calls[at] ?? {};
        const reply =
          'error' in outcome ? { error: errorView(outcome.error, scope.requestId) } : outcome.value;
        return { connectorId, actionId, ...reply };
      }),
    };
  },
});
