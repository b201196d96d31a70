import { sql } from 'kysely';
import { STALE_MS } from '../identity/caller.ts';
import { systemClock } from '../lib/clock.ts';
import { createTtlCache, type TtlCache } from '../lib/ttl-cache.ts';
import type { DbOrTx, Environment } from '../store/schema.ts';
import { toCredential, type Credential } from './credential.ts';

/** More choices than anybody reads; beyond them one is chosen by id. */
const MAX_CHOICES = 50;
const MAX_KEPT = 10_000;
const keptByDb = new WeakMap<DbOrTx, TtlCache<Credential[]>>();

/** Forgets what was read: a credential that was changed here is seen as it is at the next call. */
export function forgetChoices(db: DbOrTx): void {
  keptByDb.get(db)?.clear();
}

/** What there is to choose from, kept for half a second: a busy user's call costs no read of the store. */
export function choices(
  db: DbOrTx,
  environment: Environment,
  userId: string,
  connectorId: string,
): Promise<Credential[]> {
  let kept = keptByDb.get(db);
  if (!kept)
    keptByDb.set(db, (kept = createTtlCache({ ttlMs: STALE_MS, max: MAX_KEPT, clock: systemClock })));
  return kept.get(`${userId} ${connectorId} ${environment}`, () =>
    readChoices(db, environment, userId, connectorId),
  );
}

/** Oldest first, without the sort and the bound parameters of a page, which cost as much as the read. */
async function readChoices(
  db: DbOrTx,
  environment: Environment,
  userId: string,
  connectorId: string,
): Promise<Credential[]> {
  const rows = await db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', userId)
    .where('connector_id', '=', connectorId)
    .where('environment', '=', environment)
    .limit(sql.lit(MAX_CHOICES))
    .execute();
  const inOrder = rows.length > 1 ? rows.sort((a, b) => a.created_at - b.created_at) : rows;
  return inOrder.map(toCredential);
}
