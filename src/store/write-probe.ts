import { randomUUID } from 'node:crypto';
import { HOUR } from '../lib/clock.ts';
import type { Db } from './schema.ts';

/** Larger than a page of either database, so that the row needs new space, as new rows of the service do. */
const FILLER = 'x'.repeat(16 * 1024);

/**
 * Writes a row and removes it again, to check whether the database takes writes.
 * @throws StoreUnavailable when it does not.
 */
export async function probeWrite(db: Db, now: number): Promise<void> {
  const probeId = randomUUID();
  await db.insertInto('write_probes').values({ probe_id: probeId, at: now, filler: FILLER }).execute();
  await db
    .deleteFrom('write_probes')
    .where((e) => e.or([e('probe_id', '=', probeId), e('at', '<', now - HOUR)]))
    .execute();
}
