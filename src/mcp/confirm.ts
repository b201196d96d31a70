import { issueConfirmation, takeConfirmation, type ConfirmedCall } from '../actions/confirmation.ts';
import type { Question } from '../actions/execute.ts';
import type { Action } from '../connectors/catalog.ts';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { ToolScope } from './tool.ts';

const TOKEN = 'confirmationToken';

/**
 * Lets a call run that its user has agreed to: by the token that the same call was given before.
 * @throws GatehouseError `confirmation_required` with a token (`details.confirmationToken`) for the call to come again with.
 */
export async function confirmCall(
  { context, grant }: Pick<ToolScope, 'context' | 'grant'>,
  { connector, action, input, credential }: Question,
  token: string | undefined,
): Promise<void> {
  const { connectorId, actionId, effect } = action;
  const call: ConfirmedCall = {
    environment: grant.environment,
    serverId: grant.live.server.serverId,
    userId: grant.userId ?? null,
    caller: grant.caller,
    connectorId,
    actionId,
    credentialId: credential?.credentialId ?? null,
    input,
  };
  const fault = token === undefined ? undefined : await takeConfirmation(context, call, token);
  if (token !== undefined && fault === undefined) return;
  const fresh = await issueConfirmation(context, call);
  throw new GatehouseError(
    'confirmation_required',
    `${fault ? `${FAULTS[fault]} ` : ''}${connector.name}: "${action.name}" (${effect}) runs only once the user has agreed ` +
      'to it with exactly these parameters.',
    {
      details: {
        rule: grant.live.decision.confirms(effect),
        ...(fault ? { reason: fault } : {}),
        connectorId,
        actionId,
        effect,
        [TOKEN]: fresh.token,
        expiresAt: isoTime(fresh.expiresAt),
      },
    },
  );
}

const FAULTS = {
  altered: 'The confirmationToken was given for another call or other parameters, or was altered.',
  expired: 'The confirmationToken is older than ten minutes.',
  spent: 'The confirmationToken was used already; each is good for one call.',
};

/** The arguments of a tool that stands for one action: its input, and a token beside it unless that is a parameter. */
export function directArguments(
  { inputSchema }: Action,
  args: JsonObject,
): { input: JsonObject; confirmationToken?: string } {
  const token = args[TOKEN];
  if (typeof token !== 'string' || Object.hasOwn(Object(inputSchema['properties']), TOKEN))
    return { input: args };
  const { [TOKEN]: _, ...input } = args;
  return { input, confirmationToken: token };
}
