import type { Context } from '../context.ts';
import { connectAccount, deleteCredential, updateCredential } from '../credentials/records.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { chosenScheme } from './apps.ts';
import { assertLive, prefillOf, settle, type ConnectSession, type Outcome } from './sessions.ts';

/** What a person filled in. */
export interface Submission {
  connectorId: string;
  type: string;
  data: JsonObject;
  signal?: AbortSignal;
}

/** What connecting needs of the context: all that credentials need, and the key of hashes. */
export type ConnectContext = Pick<
  Context,
  | 'db'
  | 'clock'
  | 'log'
  | 'keys'
  | 'hashKey'
  | 'catalog'
  | 'outbound'
  | 'throttle'
  | 'publicUrl'
  | 'serving'
  | 'config'
  | 'operator'
  | 'listening'
>;

/**
 * Stores keys that a person typed, probed as by REST, and ends the session. A refusal leaves it open, so that what
 * is wrong can be corrected.
 * @throws GatehouseError `connect_session_expired`, `connector_not_found`, and those of createCredential.
 */
export async function submitKeys(
  context: ConnectContext,
  session: ConnectSession,
  { connectorId, type, data, signal }: Submission,
): Promise<Outcome> {
  await assertLive(context, session);
  const { connector, scheme } = chosenScheme(context, session, connectorId, type);
  if (scheme.type === 'oauth2')
    throw invalidRequest([{ field: 'type', rule: 'is connected by signing in, not by keys' }]);
  const { environment, userId, credentialId: old } = session;
  // What the operator gave is not asked for, and so not to be changed either.
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
  const ended: Outcome = {
    success: true,
    connectionId: credentialId,
    credentialId,
    connectorId,
    name: connector.name,
  };
  if (await settle(context.db, context, session.sessionId, ended)) return ended;
  // Another tab was first: what it made counts, and a record that this one made goes.
  if (!renewed) await deleteCredential(context, { environment, userId, credentialId });
  throw new GatehouseError('connect_session_expired', 'This was finished in another window meanwhile.');
}
