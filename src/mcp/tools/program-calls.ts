import { z } from 'zod';
import { outcomeOf } from '../../actions/call-outcome.ts';
import { answerError, GatehouseError, hidesCause, invalidRequest } from '../../lib/errors.ts';
import { asJson, asObject, isJsonObject, parseJson, type Json, type JsonObject } from '../../lib/json.ts';
import { jsonText } from '../../lib/json-text-steps.ts';
import { LIMITS } from '../../programs/program-limits.ts';
import type { Reply, Request } from '../../programs/program-messages.ts';
import type { ProgramCallRecord, ProgramQuestion } from '../../programs/program-rows.ts';
import { programFailed } from '../../programs/program-worker.ts';
import { getActionTool } from './get-action.ts';
import { messageOf } from '../answers/next-steps.ts';
import { logInternal } from '../answers/rpc-error.ts';
import { runAction } from './run-action.ts';
import { searchActionsTool } from './search-actions.ts';
import type { ToolScope } from '../scope/tool.ts';

/* The requests of a program: calls of actions, searches, and descriptions of actions. */

const callArgument = z.object({
  connectorId: z.string(),
  actionId: z.string(),
  parameters: z.record(z.string(), z.json()).optional(),
  options: z.strictObject({ credentialId: z.string().optional(), again: z.boolean().optional() }).optional(),
});
const STUCK = 'it waits for something that never comes. Put await only before calls';
const searchArgument = z.object({ query: z.string() });
const describeArgument = z.object({
  action: z.string().regex(/^[^.]+\.[^.]+$/, 'must be "connector.action"'),
});

/** The calls of a program so far, and the answer of its user. */
export interface ProgramState {
  programId: string;
  calls: ProgramCallRecord[];
  /** Questions of calls that wait for the user. */
  questions: ProgramQuestion[];
  /** The questions of this run that were asked, by the argument of their call. */
  asked: Map<string, Omit<ProgramQuestion, 'id'>[]>;
  /** The user's answer to one of the questions. */
  answer: { id: string; agreed: boolean } | undefined;
  /** The last refusal of a call. */
  refusal: GatehouseError | undefined;
}

/**
 * Answers a request of a program. A refusal is an answer, which the program gets as an exception. A call that needs the
 * agreement of its user makes the program wait.
 */
export async function answerRequest(scope: ToolScope, state: ProgramState, request: Request): Promise<Reply> {
  try {
    const answer = await answerOf(scope, state, request);
    const text = await jsonText({ ...answer }, scope.context.throttle.pause);
    if (Buffer.byteLength(text) > LIMITS.answer) throw tooLarge();
    return { text };
  } catch (thrown) {
    const error = answerError(thrown);
    const question = questionIn(error);
    if (question) {
      state.asked.set(request.argument, [...(state.asked.get(request.argument) ?? []), question]);
      return { waits: true };
    }
    if (hidesCause(error)) logInternal(scope.context, thrown, scope.requestId);
    state.refusal = error;
    return { text: JSON.stringify({ error: refusalView(error, scope.requestId) }) };
  }
}

/** Returns a refusal as the program gets it. */
export function refusalView(error: GatehouseError, requestId: string): JsonObject {
  const { code, details } = error;
  const message = code === 'internal' ? messageOf(error, requestId) : error.message;
  return { code, message, details: details ? asObject(asJson(details)) : {} };
}

/** The answer to a request of a program, and a line for its log. */
interface ProgramAnswer {
  value: Json;
  log?: string;
}

async function answerOf(scope: ToolScope, state: ProgramState, request: Request): Promise<ProgramAnswer> {
  const argument = parseJson(request.argument);
  if (request.name === 'search') {
    const { query } = parsed(searchArgument, argument, 'gatehouse.search');
    const { value } = await searchActionsTool.run(scope, { query });
    const { actions = [], missingApps, next } = value;
    return { value: actions, ...(missingApps === undefined ? {} : { log: String(next) }) };
  }
  if (request.name === 'describe') {
    const { action } = parsed(describeArgument, argument, 'gatehouse.describe');
    const [connectorId, actionId] = action.split('.');
    const { value } = await getActionTool.run(scope, { actions: [{ connectorId, actionId }] });
    const { actions } = value;
    return { value: Array.isArray(actions) ? (actions[0] ?? null) : null };
  }
  return { value: await call(scope, state, { argument, answered: request.answered }) };
}

async function call(
  scope: ToolScope,
  state: ProgramState,
  { argument, answered }: { argument: Json; answered: string | undefined },
): Promise<JsonObject> {
  const {
    connectorId,
    actionId,
    parameters = {},
    options = {},
  } = parsed(callArgument, argument, 'The call of an action');
  const answer = answered === undefined || answered !== state.answer?.id ? undefined : state.answer;
  const question = state.questions.find((one) => one.id === answered);
  if (answer && !answer.agreed) throw declined({ connectorId, actionId });
  let executionId = '';
  const note = (error?: GatehouseError): void => {
    state.calls.push({ connectorId, actionId, outcome: outcomeOf(error), executionId });
    const progress = state.calls.length;
    scope.onProgress?.({ progress, message: `${connectorId}.${actionId}` });
  };
  // Calls of a program may run at the same time, so none asks the client. The questions are asked when the program waits.
  const alone = { ...scope, inputs: undefined, onProgress: undefined };
  try {
    const value = await runAction(alone, {
      connectorId,
      actionId,
      ...options,
      input: parameters,
      confirmationToken: answer ? question?.token : undefined,
      program: { programId: state.programId, onExecution: (id) => (executionId = id) },
    });
    note();
    return value;
  } catch (thrown) {
    const error = answerError(thrown);
    if (!questionIn(error) && executionId !== '') note(error);
    throw thrown;
  }
}

function declined({ connectorId, actionId }: { connectorId: string; actionId: string }): GatehouseError {
  return new GatehouseError('confirmation_declined', `The user did not agree to ${connectorId}.${actionId}.`);
}

/** Returns the question that a refused call asks its user. */
function questionIn({ code, details = {} }: GatehouseError): Omit<ProgramQuestion, 'id'> | undefined {
  const { question: text, confirmationToken: token, expiresAt, reason: _reason, ...facts } = details;
  if (code !== 'confirmation_required' || typeof text !== 'string' || typeof token !== 'string')
    return undefined;
  return { text, token, expiresAt: String(expiresAt), facts: asObject(asJson(facts)) };
}

/** @throws GatehouseError `invalid_request` */
function parsed<T>(shape: z.ZodType<T>, argument: Json, where: string): T {
  const read = shape.safeParse(argument);
  if (read.success) return read.data;
  const faults = read.error.issues.map(({ path, message }) => ({
    field: path.join('.') || '(whole)',
    rule: message,
  }));
  throw invalidRequest(faults, where);
}

function tooLarge(): GatehouseError {
  return new GatehouseError(
    'upstream_too_large',
    `The answer has more than ${LIMITS.answer / 1024 / 1024} MiB. Ask for less.`,
  );
}

/**
 * Returns the value and the log of a program that ended, or its error.
 * @throws GatehouseError `program_failed` for a program that waits for something that never comes.
 */
export function readEnd(text: string): { value?: Json; error?: JsonObject; logs: Json } {
  const { value, error, isStuck, logs = [] } = asObject(parseJson(text));
  if (isStuck === true) throw programFailed(STUCK, { logs });
  if (isJsonObject(error)) return { error, logs };
  return { value: parseJson(String(value)), logs };
}
