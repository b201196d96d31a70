import type { Context } from '../context.ts';
import { forgetChoices } from './choices.ts';
import type { Credential, CredentialState } from './credential.ts';

const MAX_REASON_CHARS = 500;

/** Why a credential no longer works: for its owner in words, for the log as a cause. */
export interface Ending {
  state: Exclude<CredentialState, 'active'>;
  cause: 'refused' | 'invalid_grant' | 'no_refresh_token';
  reason: string;
}

/**
 * Records that a credential no longer works, in its row and in one line of the log. Only for the values that were
 * refused: those that were replaced meanwhile stay as they are.
 */
export async function endCredential(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  credential: Credential,
  { state, cause, reason }: Ending,
): Promise<void> {
  const { credentialId, connectorId, userId, environment, version } = credential;
  const { numUpdatedRows } = await db
    .updateTable('credentials')
    .set({ state, reason: reason.slice(0, MAX_REASON_CHARS), updated_at: clock.now() })
    .where('credential_id', '=', credentialId)
    .where('version', '=', version)
    .where('state', '!=', 'revoked')
    .executeTakeFirst();
  forgetChoices(db);
  if (numUpdatedRows === 0n) return;
  log.warn(
    { credentialId, connectorId, userId, environment, state, cause },
    'credential needs to be connected anew',
  );
}

/** Records that the third party refused this credential in a call. */
export function markRefused(
  context: Pick<Context, 'db' | 'clock' | 'log'>,
  credential: Credential,
  reason: string,
): Promise<void> {
  return endCredential(context, credential, { state: 'needs_reconnect', cause: 'refused', reason });
}
