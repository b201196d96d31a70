import type { ExecutionRecord } from './api-types.ts';

interface Words {
  title: string;
  /** The next step. */
  todo: string;
}

/** The meaning of each error code, and the next step of the operator. */
const WORDS: Record<string, Words> = {
  restricted: {
    title: 'The server does not allow this call',
    todo: 'If the agent should be able to do it, change the restrictions of the server. Otherwise there is nothing to do.',
  },
  credential_required: {
    title: 'The user has no account of this app',
    todo: 'Send the user a connect link, or let the agent show the link that it got.',
  },
  credential_ambiguous: {
    title: 'The user has several accounts of this app',
    todo: 'The call must name one with credentialId, or one account must be the default.',
  },
  credential_invalid: {
    title: 'The account does not work any more',
    todo: 'The user must reconnect it. The credential keeps its id.',
  },
  oauth_app_missing: {
    title: 'The connector has no OAuth app in this environment',
    todo: 'Register an OAuth app at the vendor and store its client id and secret.',
  },
  upstream_rejected: {
    title: 'The app refused the call',
    todo: 'The app’s message says what to change: the input, or the account at the app. The caller got the same message.',
  },
  upstream_rate_limited: {
    title: 'The app’s limit is reached',
    todo: 'Gatehouse has already waited and repeated the call. Call less often, or ask the vendor for a higher limit.',
  },
  upstream_failed: {
    title: 'The app failed',
    todo: 'Repeat the call later. Look at the status page of the vendor.',
  },
  upstream_timeout: {
    title: 'The app did not answer in time',
    todo: 'Look in the app whether the call took effect before you repeat it.',
  },
  upstream_too_large: {
    title: 'The answer is too large',
    todo: 'Ask for fewer records, or for fewer fields.',
  },
  invalid_request: {
    title: 'The input does not fit the schema of the action',
    todo: 'The caller got the field and the rule. Agents usually correct it on their own.',
  },
  confirmation_required: {
    title: 'The call waits for an agreement',
    todo: 'It ran only if the client sent it again with the confirmation.',
  },
  action_not_found: {
    title: 'The connector has no such action',
    todo: 'The caller got the names that are similar. An update of a connector can remove actions.',
  },
  connector_not_found: {
    title: 'There is no such connector',
    todo: 'The caller got the names that are similar.',
  },
  credential_not_found: {
    title: 'The account of the call does not exist',
    todo: 'It was disconnected, or it belongs to another user.',
  },
  confirmation_declined: {
    title: 'The user did not agree to the call',
    todo: 'Nothing was sent to the app, and there is nothing to do.',
  },
  already_undone: {
    title: 'The call was undone before',
    todo: 'Nothing was sent to the app, and there is nothing to do.',
  },
  undo_not_found: {
    title: 'The call cannot be undone',
    todo: 'It has no inverse, or it was made more than 24 hours ago.',
  },
  possible_duplicate: {
    title: 'The same call was made shortly before',
    todo: 'Nothing was sent to the app. The caller can repeat the call with again: true.',
  },
  confirmation_too_large: {
    title: 'The parameters are too long to ask the user',
    todo: 'The caller must send fewer. The server asks because of its restriction “Agreement”.',
  },
  expression_failed: {
    title: 'An expression of the connector failed',
    todo: 'Correct the connector file: its input or answer does not have the form that the expression expects.',
  },
  unavailable: {
    title: 'Gatehouse was busy or without its store',
    todo: 'Repeat the call. If it happens again, run gatehouse doctor.',
  },
  internal: {
    title: 'Gatehouse has a fault',
    todo: 'The log has the error under the id of the request. Please report it.',
  },
  budget_exceeded: {
    title: 'A budget is used up',
    todo: 'The caller got the time at which calls run again. The budgets are on the page of the server.',
  },
  circuit_open: {
    title: 'Calls of this action are stopped, because its app keeps failing',
    todo: 'Nothing was sent to the app. Gatehouse tries one call after the time of the server’s setting.',
  },
  program_failed: {
    title: 'The program of the agent failed',
    todo: 'The agent got the message of its fault, and usually corrects the program on its own.',
  },
  user_id_missing: {
    title: 'The call named no user',
    todo: 'The server has no owner, so the client must send x-svc-userid with each request.',
  },
  credential_conflict: {
    title: 'The call names two accounts, or one that changed at the same time',
    todo: 'The caller must leave one of them out, or repeat the call.',
  },
  idempotency_conflict: {
    title: 'The Idempotency-Key was used for another request',
    todo: 'The caller must send a new key with a new request.',
  },
  idempotency_in_progress: {
    title: 'The first request with this Idempotency-Key still runs',
    todo: 'The caller can repeat it later, and gets the answer of the first one.',
  },
  limit_reached: {
    title: 'A limit of Gatehouse is reached',
    todo: 'The caller got the number and the name of the limit.',
  },
  file_not_found: {
    title: 'The file of the call does not exist',
    todo: 'Files are stored for 24 hours, and belong to one user. The caller must upload it again.',
  },
  payload_too_large: {
    title: 'The input is too large',
    todo: 'The caller got the limit, and must send less at once.',
  },
  rate_limited: {
    title: 'A limit of Gatehouse is reached',
    todo: 'The caller got the time of the next try.',
  },
};

/** Returns what the end of a call means, and what to do. */
export function errorInWords({ errorCode, outcome }: Pick<ExecutionRecord, 'errorCode' | 'outcome'>): Words {
  const known = errorCode === null ? undefined : WORDS[errorCode];
  if (known) return known;
  return {
    title: outcome === 'denied' ? 'The call was denied' : 'The call failed',
    todo: 'The log of Gatehouse has more under the id of the request.',
  };
}
