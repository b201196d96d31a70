import type { Base } from '../base.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { parseJson, type Json } from '../lib/json.ts';
import { label } from '../lib/label.ts';
import { containsText } from '../store/contains-text.ts';
import { noteChange } from '../store/change-notes.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import { isOrphan, orExists } from '../store/open-database.ts';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';

type UserContext = Pick<Base, 'db' | 'clock'>;

/** An end user of the operator's product. Times are epoch milliseconds. */
export type User = ReturnType<typeof toUser>;

/** The rule of a username: one line of at most 200 characters, without blanks around it. */
export const usernameRule = label(200);

/**
 * Creates a user. The caller checks the username by usernameRule.
 * @throws GatehouseError `user_exists` when the username is taken in this environment.
 */
export async function createUser(
  { db, clock }: UserContext,
  { environment, username, metadata }: { environment: Environment; username: string; metadata?: Json },
): Promise<User> {
  const now = clock.now();
  const row: Tables['users'] = {
    user_id: newId('usr'),
    environment,
    username,
    metadata: JSON.stringify(metadata ?? {}),
    enabled: 1,
    tokens_revoked_at: null,
    created_at: now,
    updated_at: now,
  };
  await rejectTakenName(db.insertInto('users').values(row).execute(), username);
  return toUser(row);
}

/** Prepared, because most requests name a user. */
const userById = perDatabase((db) =>
  db
    .selectFrom('users')
    .selectAll()
    .where('user_id', '=', '')
    .where('environment', '=', 'development')
    .compile(),
);

export async function findUser(
  db: DbOrTx,
  environment: Environment,
  userId: string,
): Promise<User | undefined> {
  const { rows } = await runPrepared(db, userById(db), [userId, environment]);
  return rows[0] && toUser(rows[0]);
}

/** Returns the user. @throws GatehouseError `user_not_found`, also for a user of the other environment. */
export async function requireUser(db: DbOrTx, environment: Environment, userId: string): Promise<User> {
  const user = await findUser(db, environment, userId);
  if (!user) throw userNotFound(userId);
  return user;
}

export function userNotFound(userId: string): GatehouseError {
  return new GatehouseError('user_not_found', `There is no user "${userId}" in this environment.`);
}

export async function findUserByName(
  db: DbOrTx,
  environment: Environment,
  username: string,
): Promise<User | undefined> {
  const row = await db
    .selectFrom('users')
    .selectAll()
    .where('environment', '=', environment)
    .where('username', '=', username)
    .executeTakeFirst();
  return row && toUser(row);
}

const ORDER: ListOrder = { columns: { created_at: 'whole', user_id: 'id' }, direction: 'asc' };

/** Returns a page of users, oldest first, and the position where it ends. */
export async function listUsers(
  db: DbOrTx,
  environment: Environment,
  {
    username,
    search,
    userIds,
    ...page
  }: PageRequest & {
    username?: string | undefined;
    search?: string | undefined;
    userIds?: readonly string[] | undefined;
  },
): Promise<PageEnd & { users: User[] }> {
  let query = db.selectFrom('users').selectAll().where('environment', '=', environment);
  if (username !== undefined) query = query.where('username', '=', username);
  if (search !== undefined) query = query.where(containsText('username', search));
  if (userIds !== undefined) query = query.where('user_id', 'in', userIds);
  const { rows: users, ...end } = await readPage(query, ORDER, page);
  return { users: users.map(toUser), ...end };
}

/** Changes the given fields. @throws GatehouseError `user_not_found`, `user_exists`. */
export async function updateUser(
  { db, clock }: UserContext,
  { environment, userId }: { environment: Environment; userId: string },
  changes: { username?: string | undefined; metadata?: Json | undefined; enabled?: boolean | undefined },
): Promise<User> {
  const row = await rejectTakenName(
    db
      .updateTable('users')
      .set({
        ...(changes.username !== undefined ? { username: changes.username } : {}),
        ...(changes.metadata !== undefined ? { metadata: JSON.stringify(changes.metadata) } : {}),
        ...(changes.enabled !== undefined ? { enabled: changes.enabled ? 1 : 0 } : {}),
        updated_at: clock.now(),
      })
      .where('user_id', '=', userId)
      .where('environment', '=', environment)
      .returningAll()
      .executeTakeFirst(),
    changes.username ?? '',
  );
  if (!row) throw userNotFound(userId);
  await noteChange(db, clock.now(), { environment, kind: 'user', subject: userId });
  return toUser(row);
}

/** Deletes a user with credentials, owned servers and results (foreign keys). @throws `user_not_found` */
export async function deleteUser(
  { db, clock }: UserContext,
  environment: Environment,
  userId: string,
): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('users')
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw userNotFound(userId);
  // Executions outlive their user, and their payloads do not.
  await db.deleteFrom('execution_payloads').where('user_id', '=', userId).execute();
  await noteChange(db, clock.now(), { environment, kind: 'user', subject: userId });
}

/** Revokes every JWT issued to this user until now. @throws GatehouseError `user_not_found` */
export async function revokeTokens(
  { db, clock }: UserContext,
  environment: Environment,
  userId: string,
): Promise<number> {
  const now = clock.now();
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ tokens_revoked_at: now, updated_at: now })
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw userNotFound(userId);
  await noteChange(db, now, { environment, kind: 'user', subject: userId });
  return now;
}

/** Translates the error of a write for a user who is deleted at the same time. @throws `user_not_found` */
export async function orUserNotFound<T>(userId: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    throw isOrphan(error) ? userNotFound(userId) : error;
  }
}

/**
 * Returns an enabled user.
 * @throws GatehouseError `user_not_found`, `forbidden` when an operator disabled the user.
 */
export async function requireEnabled(db: DbOrTx, environment: Environment, userId: string): Promise<User> {
  const user = await requireUser(db, environment, userId);
  if (user.enabled) return user;
  throw new GatehouseError('forbidden', `The user "${user.username}" is disabled.`);
}

function rejectTakenName<T>(write: Promise<T>, username: string): Promise<T> {
  return orExists(write, 'user_exists', `The username "${username}" is taken in this environment.`);
}

function toUser(row: Tables['users']) {
  return {
    userId: row.user_id,
    environment: row.environment,
    username: row.username,
    metadata: parseJson(row.metadata),
    enabled: row.enabled === 1,
    /** JWTs issued before this time are rejected, epoch ms; null when none were revoked. */
    tokensRevokedAt: row.tokens_revoked_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
