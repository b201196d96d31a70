import type { Context } from './context.ts';
import { connectAccount, deleteCredential, updateCredential } from '../credentials/credential-records.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { chosenScheme } from './apps.ts';
import {
  assertLive,
  prefillOf,
  endSession,
  type ConnectSession,
  type ConnectOutcome,
} from './connect-sessions.ts';

/** The values that a person entered. */
export interface Submission {
  connectorId: string;
  type: string;
  data: JsonObject;
  signal?: AbortSignal;
}

/**
 * Stores keys that a person entered, probed as by REST, and ends the session.
 * A rejection leaves the session open, so that the person can correct the values.
 * @throws GatehouseError `connect_session_expired`, `connector_not_found`, and those of createCredential.
 */
export async function submitKeys(
  context: Context,
  session: ConnectSession,
  { connectorId, type, data, signal }: Submission,
): Promise<ConnectOutcome> {
  await assertLive(context, session);
  const { connector, scheme } = chosenScheme(context, session, { connectorId, type });
  if (scheme.type === 'oauth2')
    throw invalidRequest([{ field: 'type', rule: 'is connected by signing in, not by keys' }]);
  const { environment, userId, credentialId: old } = session;
  // The operator's values come last, so the form cannot change them.
  const whole = { ...data, ...prefillOf(context, session) };
  const more = signal ? { signal } : {};
  const { credential, renewed } =
    old === null
      ? await connectAccount(context, {
          environment,
          userId,
          connectorId,
          type: scheme.type,
          data: whole,
          ...more,
        })
      : {
          credential: await updateCredential(
            context,
            { environment, userId, credentialId: old },
            { type: scheme.type, data: whole, sameAccount: true, ...more },
          ),
          renewed: true,
        };
  const { credentialId } = credential;
  const ended: ConnectOutcome = {
    success: true,
    connectionId: credentialId,
    credentialId,
    connectorId,
    name: connector.name,
  };
  if (await endSession(context.db, context, { sessionId: session.sessionId, ended })) return ended;
  // Another tab ended the session first: its record stays, and a record that this one made is deleted.
  if (!renewed) await deleteCredential(context, { environment, userId, credentialId });
  throw new GatehouseError('connect_session_expired', 'This was finished in another window.');
}
