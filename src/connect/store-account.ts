import type { Context } from './context.ts';
import { assertSameAccount } from '../credentials/account-change.ts';
import { probeTokens, type Granted } from '../credentials/granted.ts';
import { keepTokens, placeFor } from '../credentials/granted-tokens.ts';
import { requireCredential } from '../credentials/credential-records.ts';
import { newId } from '../lib/ids.ts';
import type { Tx } from '../store/schema.ts';
import { endSession, type ConnectSession, type ConnectOutcome } from './connect-sessions.ts';

/**
 * Stores the account of a grant and ends the session in one transaction. Returns undefined and stores nothing if the
 * session ended before. `ending` runs in the same transaction.
 * @throws GatehouseError `credential_invalid` when the app rejects the tokens, `credential_conflict` when the session
 * reconnects another account.
 */
export async function storeAccount(
  context: Context,
  { sessionId, environment, userId, credentialId: old }: ConnectSession,
  { grant, ending }: { grant: Granted; ending?: (tx: Tx) => Promise<void> },
): Promise<ConnectOutcome | undefined> {
  const { connector, scheme } = grant;
  const granted = { ...grant, environment, userId };
  // An access token may expire during a choice. The credential is then renewed at its first use.
  const hasExpired = (grant.tokens.expiresAt ?? Infinity) <= context.clock.now();
  const account = hasExpired
    ? grant.tokens.account
    : // Until the record is chosen, this id appears only in the log.
      await probeTokens(context, { ...granted, credentialId: old ?? newId('cred') });
  if (old !== null) {
    const before = await requireCredential(context.db, { environment, userId, credentialId: old });
    assertSameAccount(connector, before, { type: scheme.type, account });
  }
  const stored = await context.db.transaction().execute(async (tx): Promise<ConnectOutcome | undefined> => {
    const looked = { ...granted, account };
    const place = await placeFor(tx, context, { granted: looked, reconnect: old ?? undefined });
    const { credentialId } = place;
    const { connectorId, name } = connector;
    const ended = { success: true, connectionId: credentialId, credentialId, connectorId, name } as const;
    if (!(await endSession(tx, context, { sessionId, ended }))) return undefined;
    await ending?.(tx);
    await keepTokens(tx, context, { granted: looked, place });
    return ended;
  });
  context.credentialMemory.forgetChoices();
  return stored;
}
