import type { ExecuteResult } from '../../actions/execute.ts';
import type { Action } from '../../connectors/catalog.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { asObject } from '../../lib/json.ts';
import { restricted } from '../../servers/access.ts';
import type { Question } from '../../upstream/upstream-call.ts';
import { missingFor } from '../protocol/abilities.ts';
import { asAsked } from './content.ts';
import type { Inputs } from './input.ts';
import type { ToolScope } from './tool.ts';
import { WaitingCall, type Around } from './waiting-calls.ts';

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
  const { waitingCalls } = scope;
  const before = inputs.answersOf(STEP);
  const call = before
    ? await continued(scope, inputs, { callId: String(asObject(before.kept)['callId']), ...asking })
    : begun(scope, inputs, asking);
  const answer = before?.answers[KEY];
  const { question } = call;
  const turn = before && !answer && question ? { question } : await answered();
  if ('result' in turn) return turn.result;
  waitingCalls.add(call);
  await inputs.ask({ step: STEP, requests: { [KEY]: turn.question }, keep: { callId: call.callId } });
  throw new Error('The question did not end its request.');

  function answered() {
    if (answer) call.answer(answer);
    return call.next(scope);
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
