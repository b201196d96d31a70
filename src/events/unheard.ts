import type { Transaction } from 'kysely';
import type { Context } from '../context.ts';
import type { Tables } from '../store/schema.ts';
import { releaseSource } from './sources.ts';

/** Lets a source go when nobody listens to it any more. */
export async function releaseIfUnheard(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  sourceId: string,
): Promise<void> {
  const other = await tx
    .selectFrom('subscriptions')
    .select('subscription_id')
    .where('source_id', '=', sourceId)
    .limit(1)
    .executeTakeFirst();
  if (!other) await releaseSource(tx, context, sourceId);
}
