import type { Base } from '../base.ts';
import { resealCredentials } from '../credentials/reseal.ts';
import type { JobKind } from '../runtime/jobs.ts';

const ATTEMPTS = 10;

/** Returns the job that the migration "seals of credentials" plans. */
export function resealJob(context: Pick<Base, 'db' | 'keys' | 'log'>): JobKind {
  return {
    attempts: ATTEMPTS,
    async run(_payload, signal) {
      await resealCredentials(context, signal);
      return undefined;
    },
    // Giving up is safe, because an old seal still opens with the values of its row.
    gaveUp: async () => undefined,
  };
}
