import { sql } from 'kysely';
import type { DbOrTx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import type { Context } from './context.ts';
import { toCredential, type Credential } from './credential.ts';
import type { ConnectedMeans } from './memory.ts';

/** The limit for a list that a person reads; a caller with more credentials names one by id. */
const MAX_CHOICES = 50;

type ChoiceContext = Pick<Context, 'db' | 'credentialMemory'>;

/**
 * Returns the user's credentials for a connector, cached for 0.5 s, so that a busy user's calls cost no read. A
 * transaction leaves out the memory, because it must see its own state.
 */
export function choices(
  { db, credentialMemory }: Pick<ChoiceContext, 'db'> & Partial<ChoiceContext>,
  { environment, userId, connectorId }: { environment: Environment; userId: string; connectorId: string },
): Promise<Credential[]> {
  const read = () => readChoices(db, { environment, userId, connectorId });
  return credentialMemory?.choices.get(`${userId} ${connectorId} ${environment}`, read) ?? read();
}

/** Returns the types of the user's active credentials, cached for 0.5 s. */
export function connectedMeans(
  { db, credentialMemory }: ChoiceContext,
  { environment, userId }: { environment: Environment; userId: string },
): Promise<ConnectedMeans> {
  return credentialMemory.connected.get(`${userId} ${environment}`, async () => {
    const rows = await db
      .selectFrom('credentials')
      .select(['connector_id', 'type'])
      .where('user_id', '=', userId)
      .where('environment', '=', environment)
      .where('state', '=', 'active')
      .execute();
    const means = new Map<string, string[]>();
    for (const { connector_id: id, type } of rows) means.set(id, [...(means.get(id) ?? []), type]);
    return means;
  });
}

const NONE: ReadonlySet<string> = new Set();

/** Returns the connectors for which the user has several active credentials; a call may have to choose one. */
export async function severalAccounts(
  context: ChoiceContext,
  { environment, userId }: { environment: Environment; userId: string | undefined },
): Promise<ReadonlySet<string>> {
  if (userId === undefined) return NONE;
  const means = await connectedMeans(context, { environment, userId });
  const several = [...means].filter(([, ways]) => ways.length > 1).map(([connectorId]) => connectorId);
  return several.length === 0 ? NONE : new Set(several);
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
