import {
  issueConfirmation,
  takeConfirmation,
  type ConfirmedCall,
  type TokenFault,
} from '../../actions/confirmation.ts';
import type { Question } from '../../actions/execute.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { canonicalJson, type JsonObject } from '../../lib/json.ts';
import { InputRequired, type Inputs } from './input.ts';
import { MAX_PARAMETER_CHARS, questionFor } from './question.ts';
import type { ToolScope } from './tool.ts';
import { sha256 } from '../../lib/sha256.ts';

const TOKEN = 'confirmationToken';

/**
 * Lets a call run once its user agrees. The client asks the user if it can. Otherwise the caller repeats the call with
 * the token that the first refusal returned. An agreement covers only this call and is valid once.
 * @throws GatehouseError `confirmation_declined`; `confirmation_too_large` when the call cannot be shown;
 * `request_state_invalid` for a used agreement; `confirmation_required` with a token (`details.confirmationToken`) and
 * the question for the user (`details.question`). Its cause is an InputRequired when the client is asked between two
 * requests.
 */
export async function confirmCall(
  scope: Pick<ToolScope, 'context' | 'grant' | 'inputs'>,
  question: Question,
  token: string | undefined,
): Promise<void> {
  const { context, inputs } = scope;
  const call = callOf(scope, question);
  // The step names the call, so that an answer about another account or other parameters does not count.
  const step = `confirm ${sha256(canonicalJson(call))}`;
  let fault: TokenFault | undefined;
  if (inputs?.isComplete(step)) return inputs.take();
  if (token !== undefined) {
    fault = await takeConfirmation(context, call, token);
    if (fault === undefined) return inputs?.complete(step);
  } else if (inputs?.abilities.form) {
    return ask(scope, inputs, { question, step });
  }
  const shown = requireQuestion(question);
  const { token: fresh, expiresAt } = await issueConfirmation(context, call);
  throw required(scope, question, {
    fault,
    details: { question: shown, [TOKEN]: fresh, expiresAt: isoTime(expiresAt) },
  });
}

function callOf(
  { grant }: Pick<ToolScope, 'grant'>,
  { action: { connectorId, actionId, hash }, input, credential }: Question,
): ConfirmedCall {
  return {
    environment: grant.environment,
    serverId: grant.live.server.serverId,
    userId: grant.userId ?? null,
    caller: grant.caller,
    connectorId,
    actionId,
    definition: hash,
    credentialId: credential?.credentialId ?? null,
    input,
  };
}

/** Asks the client's user. */
async function ask(
  scope: Pick<ToolScope, 'grant'>,
  inputs: Inputs,
  { question, step }: { question: Question; step: string },
): Promise<void> {
  // The form has no fields, because accepting it is the agreement.
  const params = { message: requireQuestion(question), requestedSchema: { type: 'object', properties: {} } };
  try {
    const { answers } = await inputs.ask({
      step,
      requests: { confirm: { method: 'elicitation/create', params } },
    });
    if (answers['confirm']?.['action'] !== 'accept') {
      throw new GatehouseError(
        'confirmation_declined',
        `The user did not agree to "${question.action.name}" of ${question.connector.name}.`,
        { details: { rule: scope.grant.live.decision.confirms(question.effect) } },
      );
    }
    await inputs.take();
  } catch (error) {
    if (error instanceof InputRequired) throw required(scope, question, { cause: error });
    throw error;
  }
}

/** @throws GatehouseError `confirmation_too_large` */
function requireQuestion(question: Question): string {
  const text = questionFor(question);
  if (text !== undefined) return text;
  const { connector, action } = question;
  throw new GatehouseError(
    'confirmation_too_large',
    `${connector.name}: "${action.name}" needs the user's agreement, and its parameters are too many to be shown in full ` +
      `(${MAX_PARAMETER_CHARS} characters with long values shortened).`,
    { details: { limit: MAX_PARAMETER_CHARS } },
  );
}

function required(
  { grant }: Pick<ToolScope, 'grant'>,
  { connector, effect, action: { connectorId, actionId, name } }: Question,
  { fault, details, cause }: { fault?: TokenFault | undefined; details?: JsonObject; cause?: unknown },
): GatehouseError {
  return new GatehouseError(
    'confirmation_required',
    `${fault ? `${FAULTS[fault]} ` : ''}${connector.name}: "${name}" (${effect}) runs only once the user has agreed ` +
      'to it with exactly these parameters.',
    {
      details: {
        rule: grant.live.decision.confirms(effect),
        ...(fault ? { reason: fault } : {}),
        connectorId,
        actionId,
        effect,
        ...details,
      },
      cause,
    },
  );
}

const FAULTS = {
  altered: 'The confirmationToken was given for another call or other parameters, or was altered.',
  expired: 'The confirmationToken is older than ten minutes.',
  spent: 'This agreement was used already; each is good for one call.',
};
