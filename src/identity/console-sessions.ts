import type { Base } from '../base.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import { HOUR, MINUTE } from '../lib/clock.ts';
import type { Environment } from '../store/environments.ts';
import { findApiKey, secretOf, type ApiKey } from './api-keys.ts';

/*
 * Sessions of the console. A session is a row that names the secret of the key that signed in. Its rights are read from
 * that key at each request, so it ends with the key.
 */

/** A session ends when no person used it for this time. */
const IDLE_MS = 2 * HOUR;
/** A session ends this long after its sign-in. */
export const SESSION_MS = 12 * HOUR;
/** `used_at` is written once in this time for each session. */
const USED_MS = MINUTE;

type SessionContext = Pick<Base, 'db' | 'clock' | 'hashKey'>;

/** A session that was just opened. Only the browser keeps the token. */
interface OpenedSession {
  token: string;
  expiresAt: number;
}

/** A valid session. */
export interface ConsoleSession {
  key: ApiKey;
  environment: Environment;
  /** The latest end, epoch ms. */
  expiresAt: number;
}

/** Opens a session for an API key. Returns undefined when the key is unknown, revoked or expired. */
export async function openConsoleSession(
  context: SessionContext,
  apiKey: string,
): Promise<OpenedSession | undefined> {
  const secret = secretOf(context, apiKey);
  const key = secret && (await findApiKey(context, secret));
  if (!secret || !key || key.ended) return undefined;
  const token = newRandomToken();
  const now = context.clock.now();
  const expiresAt = Math.min(now + SESSION_MS, key.endsAt ?? Infinity);
  await context.db
    .insertInto('console_sessions')
    .values({
      session_hash: hashToken(context.hashKey, token),
      environment: secret.environment,
      key_hash: secret.hash,
      created_at: now,
      used_at: now,
      expires_at: expiresAt,
    })
    .execute();
  return { token, expiresAt };
}

/** Returns the session of a token; undefined when it ended, was idle for too long, or its key ended. */
export async function findConsoleSession(
  { db, clock, hashKey }: SessionContext,
  token: string,
): Promise<ConsoleSession | undefined> {
  const now = clock.now();
  const row = await db
    .selectFrom('console_sessions')
    .select(['environment', 'key_hash', 'expires_at'])
    .where('session_hash', '=', hashToken(hashKey, token))
    .where('expires_at', '>', now)
    .where('used_at', '>', now - IDLE_MS)
    .executeTakeFirst();
  if (!row) return undefined;
  const { environment } = row;
  const key = await findApiKey({ db, clock }, { environment, hash: row.key_hash });
  if (!key || key.ended) return undefined;
  return { key, environment, expiresAt: Math.min(row.expires_at, key.endsAt ?? Infinity) };
}

/** Records that a person used a session, at most once a minute. */
export async function touchConsoleSession(
  { db, clock, hashKey }: SessionContext,
  token: string,
): Promise<void> {
  const now = clock.now();
  await db
    .updateTable('console_sessions')
    .set({ used_at: now })
    .where('session_hash', '=', hashToken(hashKey, token))
    .where('used_at', '<=', now - USED_MS)
    .execute();
}

/** Ends a session. Another process may accept it for half a second more. */
export async function endConsoleSession({ db, hashKey }: SessionContext, token: string): Promise<void> {
  await db.deleteFrom('console_sessions').where('session_hash', '=', hashToken(hashKey, token)).execute();
}
