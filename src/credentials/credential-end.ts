import type { Context } from './context.ts';
import { appWords, ownWords, type GatehouseError } from '../lib/errors.ts';
import { withoutHidden } from '../lib/hidden-characters.ts';
import { notifyAccountsChanged } from '../store/change-notes.ts';
import { credentialFacts, type Credential, type CredentialState } from './credential.ts';

const MAX_REASON_CHARS = 500;

type EndContext = Pick<Context, 'db' | 'clock' | 'log' | 'operator' | 'credentialMemory'>;

/** The reason why a credential no longer works: words for its owner, a cause for the log. */
export interface Ending {
  state: Exclude<CredentialState, 'active'>;
  cause: 'refused' | 'invalid_grant' | 'no_refresh_token';
  reason: string;
  /** The app's own words, if any; never part of the reason. */
  appMessage?: string | undefined;
}

/**
 * Records that a credential no longer works, in its row and in one line of the log.
 * Does nothing if the values were replaced after they were rejected.
 */
export async function endCredential(
  { db, clock, log, operator, credentialMemory }: EndContext,
  credential: Credential,
  { state, cause, reason, appMessage = '' }: Ending,
): Promise<void> {
  const { credentialId, connectorId, userId, environment, version } = credential;
  const report = {
    reason: reason.slice(0, MAX_REASON_CHARS),
    app_message: appMessage === '' ? null : appMessage.slice(0, MAX_REASON_CHARS).toWellFormed(),
  };
  const ended = await db.transaction().execute(async (tx) => {
    const endFrom = async (before: CredentialState): Promise<boolean> => {
      const { numUpdatedRows } = await tx
        .updateTable('credentials')
        .set({ state, ...report, updated_at: clock.now() })
        .where('credential_id', '=', credentialId)
        .where('version', '=', version)
        .where('state', '=', before)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    };
    // The operator is notified once, however often the app rejects the credential later.
    if (!(await endFrom('active'))) return endFrom('needs_reconnect');
    await operator.notify(tx, environment, {
      type: 'credential.needs_reconnect',
      data: {
        ...credentialFacts(credential),
        state,
        reason: report.reason,
        ...(report.app_message === null ? {} : { appMessage: withoutHidden(report.app_message) }),
      },
    });
    return true;
  });
  credentialMemory.forgetChoices();
  if (!ended) return;
  await notifyAccountsChanged(db, { clock }, { environment, userId });
  log.warn(
    { credentialId, connectorId, userId, environment, state, cause },
    'credential needs to be reconnected',
  );
}

/** Records that the third party rejected this credential in a call. */
export function markRefused(
  context: EndContext,
  credential: Credential,
  error: GatehouseError,
): Promise<void> {
  return endCredential(context, credential, {
    state: 'needs_reconnect',
    cause: 'refused',
    reason: ownWords(error),
    appMessage: appWords(error),
  });
}
