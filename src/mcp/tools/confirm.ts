import {
  issueConfirmation,
  takeConfirmation,
  type ConfirmedCall,
  type TokenFault,
} from '../../actions/confirmation.ts';
import type { Question } from '../../actions/agreement.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { canonicalJson, type JsonObject } from '../../lib/json.ts';
import { InputRequired, type Inputs } from '../scope/input.ts';
import { MAX_PARAMETER_CHARS, questionFor } from './question.ts';
import type { ToolScope } from '../scope/tool.ts';
import { sha256 } from '../../lib/sha256.ts';

const TOKEN = 'confirmationToken';

/** A question that a user agrees to, and the refusals without an agreement. */
export interface Agreement {
  /** The values that the agreement covers. */
  call: ConfirmedCall;
  /** Returns the question that the user reads. @throws GatehouseError `confirmation_too_large` */
  question(): string;
  /** Message of the refusal without an agreement. It holds no words of the app. */
  needs: string;
  /** Message of the refusal after the user declined. */
  declined: string;
  details: JsonObject;
}

/** Lets a call of an action run after its user has agreed. @throws as confirm() */
export function confirmCall(
  scope: Pick<ToolScope, 'context' | 'grant' | 'inputs'>,
  question: Question,
  token: string | undefined,
): Promise<void> {
  return confirm(scope, agreementOf(scope, question), token);
}

/**
 * Lets a call run after its user has agreed. The client asks the user if it can. Otherwise the caller repeats the call with
 * the token that the first refusal returned. An agreement covers only this call and is valid once.
 * @throws GatehouseError `confirmation_declined`; `confirmation_too_large` when the call cannot be shown;
 * `request_state_invalid` for a used agreement; `confirmation_required` with a token (`details.confirmationToken`) and
 * the question for the user (`details.question`). Its cause is an InputRequired when the client is asked between two
 * requests.
 */
export async function confirm(
  scope: Pick<ToolScope, 'context' | 'inputs'>,
  agreement: Agreement,
  token: string | undefined,
): Promise<void> {
  const { context, inputs } = scope;
  const { call } = agreement;
  // The step names the call, so that an answer about another account or other parameters does not count.
  const step = `confirm ${sha256(canonicalJson(call))}`;
  let fault: TokenFault | undefined;
  if (inputs?.isComplete(step)) return inputs.take();
  if (token !== undefined) {
    fault = await takeConfirmation(context, call, token);
    if (fault === undefined) return inputs?.complete(step);
  } else if (inputs?.abilities.form) {
    return ask(inputs, agreement, step);
  }
  const question = agreement.question();
  const { token: fresh, expiresAt } = await issueConfirmation(context, call);
  throw required(agreement, { fault, details: { question, [TOKEN]: fresh, expiresAt: isoTime(expiresAt) } });
}

function agreementOf({ grant }: Pick<ToolScope, 'grant'>, question: Question): Agreement {
  const { connector, effect, input, credential } = question;
  const { connectorId, actionId, hash, name } = question.action;
  const rule = grant.live.decision.confirms(effect);
  return {
    call: {
      ...partiesOf(grant),
      connectorId,
      actionId,
      definition: hash,
      credentialId: credential?.credentialId ?? null,
      input,
    },
    question: () => requireQuestion(question),
    needs: `${connector.name}: "${name}" (${effect}) runs only after the user has agreed to it with exactly these parameters.`,
    declined: `The user did not agree to "${name}" of ${connector.name}.`,
    details: { ...(rule === undefined ? {} : { rule }), connectorId, actionId, effect },
  };
}

/** Returns the parties that an agreement is bound to. */
export function partiesOf(
  grant: ToolScope['grant'],
): Pick<ConfirmedCall, 'environment' | 'serverId' | 'userId' | 'caller'> {
  return {
    environment: grant.environment,
    serverId: grant.live.server.serverId,
    userId: grant.userId ?? null,
    caller: grant.caller,
  };
}

/** Asks the client's user. */
async function ask(inputs: Inputs, agreement: Agreement, step: string): Promise<void> {
  // The form has no fields, because accepting it is the agreement.
  const params = { message: agreement.question(), requestedSchema: { type: 'object', properties: {} } };
  try {
    const { answers } = await inputs.ask({
      step,
      requests: { confirm: { method: 'elicitation/create', params } },
    });
    if (answers['confirm']?.['action'] !== 'accept') {
      const { rule } = agreement.details;
      throw new GatehouseError('confirmation_declined', agreement.declined, {
        details: rule === undefined ? {} : { rule },
      });
    }
    await inputs.take();
  } catch (error) {
    if (error instanceof InputRequired) throw required(agreement, { cause: error });
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
  { needs, details: facts }: Agreement,
  { fault, details, cause }: { fault?: TokenFault | undefined; details?: JsonObject; cause?: unknown },
): GatehouseError {
  return new GatehouseError('confirmation_required', `${fault ? `${FAULTS[fault]} ` : ''}${needs}`, {
    details: { ...facts, ...(fault ? { reason: fault } : {}), ...details },
    cause,
  });
}

const FAULTS = {
  altered: 'The confirmationToken was given for another call or other parameters, or was altered.',
  expired: 'The confirmationToken is older than ten minutes.',
  spent: 'This agreement was already used, and each agreement allows one call.',
};
