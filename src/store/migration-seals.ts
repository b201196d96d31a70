import type { Tx } from './schema.ts';

/** Plans the job that seals credentials again, bound to their connector and type (credentials/reseal.ts). */
export async function sealsOfCredentials(tx: Tx): Promise<void> {
  await tx
    .insertInto('jobs')
    .values({
      job_id: 'job_reseal_credentials',
      kind: 'reseal',
      key: 'credentials',
      payload: '{}',
      next_at: 0,
      lease_token: null,
      lease_until: null,
      error: null,
      created_at: 0,
      updated_at: 0,
    })
    .execute();
}
