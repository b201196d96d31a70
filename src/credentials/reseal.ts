import type { Base } from '../base.ts';
import { KeyError } from '../crypto/key-ring.ts';
import { toCredential, type Credential } from './credential.ts';
import { resealed } from './sealed-values.ts';

const BATCH = 100;

type ResealContext = Pick<Base, 'db' | 'keys' | 'log'>;

/** Reseals credentials that earlier releases sealed to the row alone. After a crash it starts from the beginning. */
export async function resealCredentials(context: ResealContext, signal: AbortSignal): Promise<void> {
  let after = '';
  for (;;) {
    signal.throwIfAborted();
    const batch = await credentialsAfter(context, after);
    for (const credential of batch) await reseal(context, credential);
    const last = batch.at(-1);
    if (!last) return;
    after = last.credentialId;
  }
}

async function credentialsAfter({ db }: ResealContext, after: string): Promise<Credential[]> {
  const rows = await db
    .selectFrom('credentials')
    .selectAll()
    .where('credential_id', '>', after)
    .orderBy('credential_id')
    .limit(BATCH)
    .execute();
  return rows.map(toCredential);
}

/** Updates only the box that was read, because a process may renew the tokens at the same time. */
async function reseal({ db, keys, log }: ResealContext, credential: Credential): Promise<void> {
  const { credentialId, sealed } = credential;
  try {
    const box = resealed({ keys }, credential);
    if (box === undefined) return;
    await db
      .updateTable('credentials')
      .set({ sealed: box })
      .where('credential_id', '=', credentialId)
      .where('sealed', '=', sealed)
      .execute();
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    log.warn({ credentialId, err: error }, 'credential does not open, not sealed again');
  }
}
