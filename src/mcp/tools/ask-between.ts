import type { ExecuteResult } from '../../actions/execute.ts';
import type { Action } from '../../connectors/catalog.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { asObject, type JsonObject } from '../../lib/json.ts';
import { restricted } from '../../servers/access.ts';
import type { Question } from '../../upstream/upstream-call.ts';
import { missingFor } from '../protocol/abilities.ts';
import { asAsked } from '../answers/content.ts';
import { CANCELLED } from '../scope/elicitation.ts';
import { InputRequired, type Inputs } from '../scope/input.ts';
import type { ToolScope } from '../scope/tool.ts';
import { WaitingCall, type Around, type WaitEnd } from '../scope/waiting-calls.ts';

const STEP = 'waiting';
const KEY = 'question';

/** A call of an app that may ask its user while it runs. */
interface Asking {
  action: Action;
  appName: string;
  run: (around: Around) => Promise<ExecuteResult>;
}

/**
 * Runs a call for a client that can be asked only between two requests. A question of the app ends the request. The call
 * waits for the client's next request, whose state has the id of the call.
 * @throws InputRequired for a question; GatehouseError `request_state_invalid` when the call that asked is over,
 * `restricted`, and those of `run`.
 */
export async function askBetween(scope: ToolScope, inputs: Inputs, asking: Asking): Promise<ExecuteResult> {
  const before = inputs.answersOf(STEP);
  const call = before
    ? await continued(scope, inputs, { callId: String(asObject(before.kept)['callId']), ...asking })
    : begun(scope, inputs, asking);
  const answer = before?.answers[KEY];
  const { question } = call;
  if (answer) call.answer(answer);
  let turn: WaitEnd = before && !answer && question ? { question } : await call.next(scope);
  // The request ends with the question, unless the call became a task.
  while ('question' in turn) {
    call.answer(await answerFrom(scope, inputs, { call, question: turn.question }));
    turn = await call.next(scope);
  }
  return turn.result;
}

/** Returns the answer to a question of a task. @throws InputRequired for a call that is no task */
async function answerFrom(
  { waitingCalls }: ToolScope,
  inputs: Inputs,
  { call, question }: { call: WaitingCall; question: Question },
): Promise<JsonObject> {
  waitingCalls.add(call);
  try {
    const asked = { step: STEP, requests: { [KEY]: question }, keep: { callId: call.callId } };
    const { answers } = await inputs.ask(asked);
    waitingCalls.take(call.owner, call.callId);
    return answers[KEY] ?? CANCELLED;
  } catch (error) {
    // The call waits for the next request of its client, unless the task was cancelled.
    if (!(error instanceof InputRequired)) waitingCalls.take(call.owner, call.callId)?.end();
    throw error;
  }
}

function begun(scope: ToolScope, inputs: Inputs, { appName, run }: Asking): WaitingCall {
  const owner = ownerOf(scope);
  const mayAsk = (question: Question): Question | undefined => {
    const shown = { ...question, params: asAsked(question, appName).params };
    const isKnown = missingFor(inputs.abilities, shown) === undefined;
    return isKnown && scope.waitingCalls.hasRoom(owner) ? shown : undefined;
  };
  return new WaitingCall(owner, mayAsk, run);
}

/** Returns the call that a state names. Consumes the state, so that each answer reaches the app once. */
async function continued(
  scope: ToolScope,
  inputs: Inputs,
  { action, callId }: Asking & { callId: string },
): Promise<WaitingCall> {
  await inputs.take();
  const call = scope.waitingCalls.take(ownerOf(scope), callId);
  if (!call)
    throw new GatehouseError(
      'request_state_invalid',
      'The call that asked is over, or waits in another process of Gatehouse. Make the call again without ' +
        'requestState and inputResponses.',
    );
  // The rules may have changed since the call began.
  const rule = scope.grant.live.decision.action(action);
  if (rule === undefined) return call;
  call.end();
  throw restricted(`${action.connectorId}.${action.actionId}`, rule);
}

function ownerOf({ grant: { environment, live, userId = '', caller } }: ToolScope): string {
  return [environment, live.server.serverId, userId, caller].join(' ');
}
