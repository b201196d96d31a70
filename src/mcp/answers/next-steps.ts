import { appWords, ownWords, type GatehouseError } from '../../lib/errors.ts';
import { withoutHidden, writtenOut } from '../../lib/hidden-characters.ts';
import { hadNoEffect } from '../../upstream/outcome.ts';
import { isJsonObject, asJson, type Json, type JsonObject } from '../../lib/json.ts';

/* Texts of errors for models: a sentence of Gatehouse about the fault, and the next step with the tools of the model. */

const GIVE_UP = 'Do not try again. Tell the user.';
const NOT_SENT = 'Nothing was done. Try again in a moment.';
/** The step after a call that has no answer but may have had its effect. */
export const READ_FIRST = 'The call may have taken effect: read the current data before you repeat a write.';

/**
 * Next steps by error code. A model must be able to take them, so they name no REST address and no work of an
 * operator.
 */
const NEXT_STEPS: { [code: string]: string } = {
  invalid_request: 'Correct the named arguments and call again.',
  connector_not_found: 'list_connectors_svc lists the available apps.',
  action_not_found: 'search_actions_svc and get_connector_svc list the available actions.',
  credential_required: 'Ask the user to open the link and connect an account of this app, then call again.',
  credential_ambiguous:
    'Ask the user which account is meant, then call again with its id as credentialId. If the user wants the same one each ' +
    'time, call set_default_credential_svc.',
  credential_not_found:
    'Call again with the id or the exact name of an account. list_credentials_svc lists the accounts of this user.',
  credential_conflict: 'Leave credentialId out and call again.',
  credential_invalid: 'Ask the user to open the link and connect this account again, then call again.',
  oauth_app_missing:
    'Do not try again. Tell the user that the operator of this service has to set up the sign-in for this app first.',
  user_id_missing:
    'Do not try again. Tell the user that this server was opened without a user, so it has no accounts to use.',
  redirect_not_allowed: 'Do not try again. Tell the user that the address to return to is not allowed here.',
  confirmation_required:
    'Show the user the whole question that follows, and ask whether they agree. If they do, call execute_action_svc ' +
    'with the same connectorId, actionId and parameters and this token.',
  program_failed:
    'Correct the program. The calls that it made are not undone: details.calls lists them, so leave them out or read first.',
  program_not_found: 'Run the program again with run_code_svc, without the calls that it already made.',
  program_not_waiting: 'Do not resume it again.',
  confirmation_too_large: 'Call again with less: fewer or shorter parameters, in several calls.',
  undo_not_found: 'Do not try again. Reverse the call with another action of the app, if it has one.',
  already_undone: 'Do not try again.',
  possible_duplicate:
    'Do that only if the user wants it to happen twice. Otherwise continue with the earlier result.',
  confirmation_declined: 'Do not try again unless the user asks for it.',
  restricted: 'Do not try again. Tell the user that this server does not allow it.',
  forbidden: GIVE_UP,
  installation_disabled: 'Do not try again. Tell the user that this workflow is switched off for them.',
  upstream_rejected: 'Change the parameters as the message of the app says before calling again.',
  upstream_rate_limited: 'Wait as long as the message says before calling again.',
  rate_limited: 'Wait as long as the message says before calling again.',
  budget_exceeded:
    'Do not call again before the time in the message. Continue with other work, or tell the user when the call is possible.',
  circuit_open:
    'Do not call this action before the time in the message. Continue with other work, or tell the user that the app fails.',
  upstream_timeout: READ_FIRST,
  upstream_failed: 'Try again in a moment. Read the current data before you repeat a write.',
  upstream_too_large: 'Ask for less: fewer records or a narrower filter.',
  unavailable: 'Wait a few seconds and call again.',
  client_capability_missing:
    'Do not try again. Tell the user that their client does not support the question that this call asks.',
};

/** Next steps by `details.reason`, where the step for the code would not help. */
const BY_REASON: { [reason: string]: string } = {
  not_json: `${GIVE_UP} The app answers in a form that cannot be read, and a repetition will not help.`,
  too_deep: `${GIVE_UP} A repetition will not help.`,
  no_list: `${GIVE_UP} The app answers in a form that cannot be read, and a repetition will not help.`,
  permission: 'Do not repeat the call. Tell the user that this account has no right to do this at the app.',
  renewal_failed: 'Wait as long as the message says before calling again. If it fails again, tell the user.',
  own_expression: 'Correct the expression and call again.',
  result_gone: 'Run the action again, and read its result within an hour.',
};

const SIGN_IN_AGAIN =
  'Ask the user to open the link and to agree to what is missing, then call again once. If the app refuses again, tell ' +
  'the user that this account has no right to do this at the app.';

/** Next steps after a repeated write whose earlier call has not succeeded, by `details.outcome`. */
const BY_OUTCOME: { [outcome: string]: string } = {
  running: 'Wait, and read the current data. Do that only if the user wants it to happen twice.',
  unknown: 'If it did take effect, continue with what the app shows.',
};

type ErrorView = JsonObject & { message: string; next: string };

/** Returns an error for `structuredContent`. Only `details.message` holds words of the app. */
export function errorView(error: GatehouseError, requestId: string): ErrorView {
  const { code, details } = error;
  const view: ErrorView = { code, message: messageOf(error, requestId), requestId, next: nextStep(error) };
  if (details) view['details'] = writtenOut(asJson(details));
  return view;
}

/** Returns the message without words of the app. An internal error names the request id, which the log also has. */
export function messageOf(error: GatehouseError, requestId: string): string {
  if (error.code === 'internal') return `Something went wrong on our side (requestId ${requestId}).`;
  return withoutHidden(ownWords(error));
}

export function nextStep({ code, details }: GatehouseError): string {
  if (code === 'confirmation_required' && typeof details?.['tool'] === 'string')
    return `Show the user the question that follows, and ask whether they agree. If they do, call ${details['tool']} with the same arguments and this token.`;
  const outcome = String(details?.['outcome']);
  if (code === 'possible_duplicate' && BY_OUTCOME[outcome]) return BY_OUTCOME[outcome];
  const reason = details?.['reason'];
  if (reason === 'permission' && typeof details?.['reconnectUrl'] === 'string') return SIGN_IN_AGAIN;
  const byReason = typeof reason === 'string' ? BY_REASON[reason] : undefined;
  if (byReason) return byReason;
  const isHeld = outcome === 'unknown';
  if (code === 'internal')
    return `${isHeld ? heldStep(details) : 'Try once more.'} If it fails again, tell the user the requestId.`;
  if (isHeld) return heldStep(details);
  if (hadNoEffect({ code, details }) && code === 'upstream_failed') return NOT_SENT;
  return NEXT_STEPS[code] ?? GIVE_UP;
}

/** Returns the step after a write whose outcome is unknown. The guard of repeated writes holds an equal one. */
function heldStep(details: GatehouseError['details']): string {
  const tool = details?.['tool'];
  const how = typeof tool === 'string' ? `call ${tool}` : 'call again';
  return `The write may have taken effect, so read the current data first. If it did not, ${how} with \`again: true\`: an equal call without it is held.`;
}

/** Returns texts with words of the app, for separate blocks: its message, the account used, account names, the question. */
export function quoted(error: GatehouseError): string[] {
  const said = appWords(error);
  // The question holds the account's name in the app's words.
  const question = error.details?.['question'];
  const accounts = accountsIn(error).map(({ credentialId, name, account }) => ({
    credentialId: credentialId ?? null,
    account: nameIn(account) ?? name ?? null,
    ...(nameIn(account) === undefined || nameIn(account) === name ? {} : { name: name ?? null }),
  }));
  const used = error.details?.['account'];
  return [
    ...(said === undefined ? [] : [withoutHidden(JSON.stringify({ said }))]),
    ...(used === undefined ? [] : [withoutHidden(JSON.stringify({ account: used }))]),
    ...(accounts.length === 0 ? [] : [withoutHidden(JSON.stringify({ accounts }))]),
    ...(typeof question === 'string' ? [question] : []),
  ];
}

/** Returns the accounts to choose from, with only the facts that Gatehouse itself recorded. */
export function choicesOf(error: GatehouseError): string {
  const choices = accountsIn(error).map(
    ({ credentialId, createdAt }) => `${String(credentialId)} (connected ${String(createdAt)})`,
  );
  return choices.length === 0 ? '' : ` The accounts: ${choices.join(', ')}.`;
}

function accountsIn({ code, details }: GatehouseError): JsonObject[] {
  if (code !== 'credential_ambiguous' && code !== 'credential_not_found') return [];
  const credentials: unknown = details?.['credentials'];
  return Array.isArray(credentials) ? credentials.filter((one) => isJsonObject(one)) : [];
}

function nameIn(account: Json | undefined): Json | undefined {
  return isJsonObject(account ?? null) ? Object(account)['name'] : undefined;
}
