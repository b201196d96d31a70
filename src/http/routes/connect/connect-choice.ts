import { z } from 'zod';
import { chooseAccount } from '../../../connect/account-choice.ts';
import { requireSession, type ConnectSession } from '../../../connect/connect-sessions.ts';
import type { Context } from '../../context.ts';
import type { ErrorCode } from '../../../lib/errors.ts';
import { defineRoute } from '../../server/route.ts';
import { askerOf, connectResult, connectSession, describeSession, endOf, ofSession } from './connect-view.ts';
import { PROBE_ERRORS } from '../credentials.ts';

/*
 * Routes for the choice of an account, where one consent reaches several: for the connect page, and for operators who
 * connect accounts for their users.
 */

const CHOICE_ERRORS: ErrorCode[] = [
  'connect_session_not_found',
  'connect_session_expired',
  'credential_invalid',
  'credential_conflict',
  ...PROBE_ERRORS,
];
const chosen = {
  body: z.strictObject({
    accountId: z.string().max(200),
  }),
  success: {
    status: 200,
    description: 'The account is connected.',
    schema: z.object({ result: connectResult, redirectTo: z.string().optional() }),
  },
} as const;
/** Properties of the operator's routes of one session. */
const ofUser = {
  tag: 'Connecting accounts',
  auth: 'api_key',
  scope: 'connect:write',
  apiVersion: true,
  params: z.strictObject({ userId: z.string(), sessionId: z.string() }),
} as const;

export const chooseConnectAccountRoute = defineRoute({
  ...ofSession,
  ...chosen,
  errors: CHOICE_ERRORS,
  method: 'POST',
  path: '/connect/sessions/{sessionId}/choice',
  operationId: 'chooseConnectAccount',
  summary: 'Choose one of the accounts that a consent reaches',
  description:
    'Works once, within ten minutes after the consent. After a refusal of the app the choice stays open.',
  cors: true,
  async handler({ context, caller, params, body, header, requestId }) {
    const found = await requireSession(context, params.sessionId, askerOf(context, caller, header));
    const label = caller.kind === 'jwt' ? caller.label : `connect:${found.userId}`;
    return { body: await choose(context, found, { ...body, requestId, label }) };
  },
});

export const getUserConnectSessionRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  path: '/users/{userId}/connect-sessions/{sessionId}',
  operationId: 'getUserConnectSession',
  summary: 'Read a connect session of a user',
  description: 'Shows the result, or the accounts to choose from while the session is `choosing`.',
  success: { status: 200, description: 'The session.', schema: connectSession },
  errors: ['connect_session_not_found', 'connect_session_expired'],
  async handler({ context, caller: { environment }, params: { userId, sessionId } }) {
    const found = await requireSession(context, sessionId, { userId, environment });
    return { body: await describeSession(context, found) };
  },
});

export const chooseUserAccountRoute = defineRoute({
  ...ofUser,
  ...chosen,
  errors: CHOICE_ERRORS,
  method: 'POST',
  path: '/users/{userId}/connect-sessions/{sessionId}/choice',
  operationId: 'chooseUserAccount',
  summary: 'Choose the account of a user’s consent, as the operator',
  description: 'The operator connects an account for a user. The page of the user needs no choice then.',
  async handler({ context, caller, params: { userId, sessionId }, body, requestId }) {
    const { environment, label } = caller;
    const found = await requireSession(context, sessionId, { userId, environment });
    return { body: await choose(context, found, { ...body, requestId, label }) };
  },
});

async function choose(
  context: Context,
  found: ConnectSession,
  { accountId, requestId, label }: { accountId: string; requestId: string; label: string },
) {
  const ended = await chooseAccount(context, found, accountId);
  await context.audit.record({
    environment: found.environment,
    requestId,
    caller: label,
    operation: 'chooseConnectAccount',
    target: ended.success ? ended.credentialId : undefined,
    status: 200,
  });
  return endOf({ ...found, outcome: ended });
}
