import { cutPage, readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { toCredential, type Credential } from './credential.ts';

/* The pages of credentials. */

const ORDER: ListOrder = { columns: { created_at: 'whole', credential_id: 'id' }, direction: 'asc' };

interface CredentialFilter extends PageRequest {
  environment: Environment;
  userId: string;
  connectorId?: string | undefined;
  /** Only these, of those that the user has. */
  credentialIds?: readonly string[];
}

/** Prepared, because to build the statement takes longer than to run it. */
const firstCredentials = perDatabase((db) =>
  db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', '')
    .where('environment', '=', 'development')
    .orderBy('created_at')
    .orderBy('credential_id')
    .limit(1)
    .compile(),
);

/** Returns a page of a user's credentials, oldest first, and the position where it ends. */
export async function listCredentials(
  db: DbOrTx,
  filter: CredentialFilter,
): Promise<PageEnd & { credentials: Credential[] }> {
  const { connectorId, credentialIds, offset, cursor } = filter;
  if (connectorId === undefined && !credentialIds && offset === 0 && cursor === undefined) {
    const values = [filter.userId, filter.environment, filter.limit + 1];
    const found = await runPrepared(db, firstCredentials(db), values);
    const { rows, ...end } = cutPage(ORDER, filter, found.rows);
    return { credentials: rows.map(toCredential), ...end };
  }
  let query = db
    .selectFrom('credentials')
    .selectAll()
    .where('user_id', '=', filter.userId)
    .where('environment', '=', filter.environment);
  if (connectorId !== undefined) query = query.where('connector_id', '=', connectorId);
  // PostgreSQL accepts no empty list.
  if (credentialIds)
    query = query.where('credential_id', 'in', credentialIds.length > 0 ? credentialIds : ['']);
  const { rows: credentials, ...end } = await readPage(query, ORDER, filter);
  return { credentials: credentials.map(toCredential), ...end };
}

/** Returns a page of the credentials of all users that have a state, oldest first. */
export async function listCredentialsIn(
  db: DbOrTx,
  { environment, state, ...page }: PageRequest & Pick<Credential, 'environment' | 'state'>,
): Promise<PageEnd & { credentials: Credential[] }> {
  const query = db
    .selectFrom('credentials')
    .selectAll()
    .where('environment', '=', environment)
    .where('state', '=', state);
  const { rows: credentials, ...end } = await readPage(query, ORDER, page);
  return { credentials: credentials.map(toCredential), ...end };
}
