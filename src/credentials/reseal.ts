import type { Base } from '../base.ts';
import { KeyError } from '../crypto/key-ring.ts';
import type { JobKind } from '../runtime/jobs.ts';
import { toCredential, type Credential } from './credential.ts';
import { resealed } from './sealed-values.ts';

const ATTEMPTS = 10;
const BATCH = 100;

type ResealContext = Pick<Base, 'db' | 'keys' | 'log'>;

/**
 * Returns the job that the migration "seals of credentials" plans. It reseals credentials that earlier releases sealed
 * to the row alone. After a crash it starts from the beginning.
 */
export function resealJob(context: ResealContext): JobKind {
  return {
    attempts: ATTEMPTS,
    async run(_payload, signal) {
      for (let after: string | undefined = ''; after !== undefined;) {
        signal.throwIfAborted();
        const batch = await credentialsAfter(context, after);
        for (const credential of batch) await reseal(context, credential);
        after = batch.at(-1)?.credentialId;
      }
      return undefined;
    },
    // Giving up is safe, because an old seal still opens with the values of its row.
    gaveUp: async () => undefined,
  };
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
