import type { Base } from '../base.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import { HOUR, MINUTE } from '../lib/clock.ts';
import type { Environment } from '../store/environments.ts';
import type { Tables } from '../store/schema.ts';
import { boundTo } from '../store/sealed-columns.ts';
import { findApiKey, secretOf, type ApiKey } from './api-keys.ts';
import { findPerson, type Person } from './people.ts';

/*
 * Sessions of the console. A session is a row that names the secret of the key that signed in, or a person that the
 * OpenID Connect provider identified. Its rights are read at each request, so it ends with the key, or with the setting
 * of that provider.
 */

/** A session ends when no person used it for this time. */
const IDLE_MS = 2 * HOUR;
/** A session ends this long after its sign-in. */
export const SESSION_MS = 12 * HOUR;
/** `used_at` is written once in this time for each session. */
const USED_MS = MINUTE;

type SessionContext = Pick<Base, 'db' | 'clock' | 'hashKey'>;
type PersonContext = SessionContext & Pick<Base, 'keys'>;

/** A session that was just opened. Only the browser keeps the token. */
interface OpenedSession {
  token: string;
  expiresAt: number;
}

/** A valid session, of a key or of a person. */
export type ConsoleSession = ({ key: ApiKey; environment: Environment } | { person: Person }) & {
  /** The latest end, epoch ms. */
  expiresAt: number;
};

/** Opens a session for an API key. Returns undefined when the key is unknown, revoked or expired. */
export async function openConsoleSession(
  context: SessionContext,
  apiKey: string,
): Promise<OpenedSession | undefined> {
  const secret = secretOf(context, apiKey);
  const key = secret && (await findApiKey(context, secret));
  if (!secret || !key || key.ended) return undefined;
  const { environment, hash } = secret;
  return open(context, {
    token: newRandomToken(),
    endsAt: key.endsAt ?? Infinity,
    row: { environment, key_hash: hash, person_id: null, id_token: null },
  });
}

/** Opens a session for a person. `idToken` names the session at the provider when it is to end there too. */
export async function openPersonSession(
  context: PersonContext,
  { personId, idToken }: { personId: string; idToken: string },
): Promise<OpenedSession> {
  const token = newRandomToken();
  const bound = boundTo('console_sessions.id_token', { session_hash: hashToken(context.hashKey, token) });
  const row = { person_id: personId, id_token: context.keys.seal(idToken, bound), key_hash: null };
  return open(context, { token, endsAt: Infinity, row: { ...row, environment: null } });
}

async function open(
  { db, clock, hashKey }: SessionContext,
  {
    token,
    endsAt,
    row,
  }: {
    token: string;
    endsAt: number;
    row: Pick<Tables['console_sessions'], 'environment' | 'key_hash' | 'person_id' | 'id_token'>;
  },
): Promise<OpenedSession> {
  const now = clock.now();
  const expiresAt = Math.min(now + SESSION_MS, endsAt);
  const times = { created_at: now, used_at: now, expires_at: expiresAt };
  await db
    .insertInto('console_sessions')
    .values({ session_hash: hashToken(hashKey, token), ...row, ...times })
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
    .select(['environment', 'key_hash', 'person_id', 'expires_at'])
    .where('session_hash', '=', hashToken(hashKey, token))
    .where('expires_at', '>', now)
    .where('used_at', '>', now - IDLE_MS)
    .executeTakeFirst();
  if (!row) return undefined;
  const { environment, person_id: personId, key_hash: hash } = row;
  if (personId !== null) {
    const person = await findPerson(db, personId);
    return person && { person, expiresAt: row.expires_at };
  }
  if (environment === null || hash === null) return undefined;
  const key = await findApiKey({ db, clock }, { environment, hash });
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

/**
 * Ends a session. Another process may accept it for half a second more. Returns the ID token of a person's session;
 * undefined for other sessions.
 */
export async function endConsoleSession(
  { db, hashKey, keys }: Omit<PersonContext, 'clock'>,
  token: string,
): Promise<string | undefined> {
  const hash = hashToken(hashKey, token);
  const row = await db
    .deleteFrom('console_sessions')
    .where('session_hash', '=', hash)
    .returning('id_token')
    .executeTakeFirst();
  if (!row?.id_token) return undefined;
  return keys.open(row.id_token, boundTo('console_sessions.id_token', { session_hash: hash }));
}

/** Ends all sessions of a person. Returns their number. */
export async function endSessionsOfPerson({ db }: Pick<Base, 'db'>, personId: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('console_sessions')
    .where('person_id', '=', personId)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
