import type { Tx } from './schema.ts';

/** Adds the time at which a state came back, so that a repeated return shows its outcome. */
export async function usedStates(tx: Tx): Promise<void> {
  await tx.schema.alterTable('oauth_states').addColumn('used_at', 'bigint').execute();
}
