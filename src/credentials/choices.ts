import { sql } from 'kysely';
import type { Means } from '../connectors/needs.ts';
import { STALE_MS } from '../identity/caller.ts';
import { systemClock } from '../lib/clock.ts';
import { createTtlCache, type TtlCache } from '../lib/ttl-cache.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { scopesIn, toCredential, type Credential } from './credential.ts';

/** The limit for a list that a person reads; a caller with more credentials names one by id. */
const MAX_CHOICES = 50;
const MAX_KEPT = 10_000;

/** Types and scopes of a user's active credentials, by connector id. */
export type ConnectedMeans = ReadonlyMap<string, readonly Means[]>;

interface Kept {
  choices: TtlCache<Credential[]>;
  connected: TtlCache<ConnectedMeans>;
}
const keptByDb = new WeakMap<DbOrTx, Kept>();

/** Empties the caches, so that the next call sees a credential that this process changed. */
export function forgetChoices(db: DbOrTx): void {
  const kept = keptByDb.get(db);
  kept?.choices.clear();
  kept?.connected.clear();
}

/** Returns the user's credentials for a connector, cached for 0.5 s, so that a busy user's calls cost no read. */
export function choices(
  db: DbOrTx,
  { environment, userId, connectorId }: { environment: Environment; userId: string; connectorId: string },
): Promise<Credential[]> {
  return keptOf(db).choices.get(`${userId} ${connectorId} ${environment}`, () =>
    readChoices(db, { environment, userId, connectorId }),
  );
}

/** Returns the types and scopes of the user's active credentials, cached for 0.5 s. */
export function connectedMeans(
  db: DbOrTx,
  { environment, userId }: { environment: Environment; userId: string },
): Promise<ConnectedMeans> {
  return keptOf(db).connected.get(`${userId} ${environment}`, async () => {
    const rows = await db
      .selectFrom('credentials')
      .select(['connector_id', 'type', 'scopes'])
      .where('user_id', '=', userId)
      .where('environment', '=', environment)
      .where('state', '=', 'active')
      .execute();
    const means = new Map<string, Means[]>();
    for (const { connector_id: id, type, scopes } of rows)
      means.set(id, [...(means.get(id) ?? []), { type, scopes: scopesIn(scopes) }]);
    return means;
  });
}

/** Returns the connectors for which the user has an active credential. */
export async function connectedConnectors(
  db: DbOrTx,
  user: { environment: Environment; userId: string },
): Promise<ReadonlySet<string>> {
  return new Set((await connectedMeans(db, user)).keys());
}

const NONE: ReadonlySet<string> = new Set();

/** Returns the connectors for which the user has several active credentials; a call may have to choose one. */
export async function severalAccounts(
  db: DbOrTx,
  { environment, userId }: { environment: Environment; userId: string | undefined },
): Promise<ReadonlySet<string>> {
  if (userId === undefined) return NONE;
  const means = await connectedMeans(db, { environment, userId });
  const several = [...means].filter(([, ways]) => ways.length > 1).map(([connectorId]) => connectorId);
  return several.length === 0 ? NONE : new Set(several);
}

function keptOf(db: DbOrTx): Kept {
  let kept = keptByDb.get(db);
  if (!kept) {
    const options = { ttlMs: STALE_MS, max: MAX_KEPT, clock: systemClock };
    kept = { choices: createTtlCache(options), connected: createTtlCache(options) };
    keptByDb.set(db, kept);
  }
  return kept;
}

/** Reads the oldest first. It avoids the sort and the bound parameters of a page, which cost as much as the read. */
async function readChoices(
  db: DbOrTx,
  { environment, userId, connectorId }: { environment: Environment; userId: string; connectorId: string },
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
  const found = inOrder.map(toCredential);
  if (found.length < MAX_CHOICES || found.some(({ isDefault }) => isDefault)) return found;
  const marked = await readDefault(db, userId, connectorId);
  return marked ? [marked, ...found] : found;
}

/** Reads the default credential of a user with more accounts of an app than MAX_CHOICES. */
async function readDefault(db: DbOrTx, userId: string, connectorId: string): Promise<Credential | undefined> {
  const row = await db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', userId)
    .where('connector_id', '=', connectorId)
    .where('is_default', '=', 1)
    .executeTakeFirst();
  return row && toCredential(row);
}
