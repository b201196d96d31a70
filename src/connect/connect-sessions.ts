import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import { MINUTE } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { orUserNotFound, requireEnabled } from '../identity/users.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { boundTo } from '../store/sealed-columns.ts';

const LIFETIME_MS = 15 * MINUTE;
/**
 * Sessions of one user and kind that no browser has opened; older ones are deleted. An agent may request a link at
 * every call.
 */
const MAX_UNOPENED = 20;

const outcome = z.discriminatedUnion('success', [
  z.object({
    success: z.literal(true),
    connectionId: z.string(),
    credentialId: z.string(),
    connectorId: z.string(),
    name: z.string(),
  }),
  z.object({ success: z.literal(false), error: z.string(), message: z.string() }),
]);
/** The outcome of a session: the connected account, or the reason of the failure in words for the person. */
export type ConnectOutcome = z.infer<typeof outcome>;

/** A person's session for connecting an account. Times are epoch milliseconds. */
export type ConnectSession = ReturnType<typeof toSession>;

/** The states of a session that has not ended. */
export const LIVE = ['open', 'authorizing', 'choosing'] as const;

export interface NewSession {
  environment: Environment;
  /** An existing user of that environment. */
  userId: string;
  connectors?: string[] | undefined;
  /** The only authentication type that is offered. */
  type?: string | undefined;
  /** A credential of that user to reconnect. */
  credentialId?: string | undefined;
  /** Scopes that a sign-in requests in addition to those of the connector or its OAuth app. */
  scopes?: string[] | undefined;
  /** Values of fields that the form leaves out. */
  prefill?: Record<string, string> | undefined;
  /** Already checked: see assertRedirectAllowed(). */
  redirectUri?: string | undefined;
  state?: string | undefined;
  via: 'link' | 'modal';
}

type SessionContext = Pick<Base, 'db' | 'clock' | 'hashKey' | 'keys' | 'publicUrl'>;

/** Creates a session and its link, which is returned only here. The link is single-use and valid for 15 minutes. */
export async function createSession(
  context: SessionContext,
  input: NewSession,
): Promise<{ session: ConnectSession; link: string }> {
  const token = newRandomToken();
  const sessionId = newId('con');
  const now = context.clock.now();
  await deleteSurplus(context.db, input);
  const insert = context.db
    .insertInto('connect_sessions')
    .values({
      session_id: sessionId,
      token_hash: hashToken(context.hashKey, token),
      environment: input.environment,
      user_id: input.userId,
      connectors: input.connectors ? JSON.stringify(input.connectors) : null,
      type: input.type ?? null,
      credential_id: input.credentialId ?? null,
      scopes: input.scopes ? JSON.stringify(input.scopes) : null,
      prefill: input.prefill
        ? context.keys.sealJson(input.prefill, boundTo('connect_sessions.prefill', { session_id: sessionId }))
        : null,
      redirect_uri: input.redirectUri ?? null,
      client_state: input.state ?? null,
      via: input.via,
      status: 'open',
      expires_at: now + LIFETIME_MS,
      created_at: now,
      updated_at: now,
    })
    .returningAll();
  const row = await orUserNotFound(input.userId, insert.executeTakeFirstOrThrow());
  return { session: toSession(row), link: `${context.publicUrl}/connect/s/${token}` };
}

/**
 * Returns the session of a link and binds it to the browser that opens it first.
 * @throws GatehouseError `connect_session_not_found`, `connect_session_expired`, `connect_session_taken`,
 * `forbidden`.
 */
export async function openLink(
  context: SessionContext,
  token: string,
  browserId: string,
): Promise<ConnectSession> {
  const found = await context.db
    .selectFrom('connect_sessions')
    .selectAll()
    .where('token_hash', '=', hashToken(context.hashKey, token))
    .executeTakeFirst();
  if (!found) {
    throw new GatehouseError(
      'connect_session_not_found',
      'This link is not known. It may have been copied only in part; ask for a new one.',
    );
  }
  const browserHash = hashToken(context.hashKey, browserId);
  if (found.browser_hash !== null && found.browser_hash !== browserHash) throw sessionTaken();
  const session = toSession(found);
  // The browser that finished the session may see the outcome again; any other gets an error.
  if (session.outcome && session.browserHash === browserHash) return session;
  await assertLive(context, session);
  const bound = await context.db
    .updateTable('connect_sessions')
    .set({ browser_hash: browserHash, updated_at: context.clock.now() })
    .where('session_id', '=', session.sessionId)
    .where((or) => or.or([or('browser_hash', 'is', null), or('browser_hash', '=', browserHash)]))
    .returningAll()
    .executeTakeFirst();
  if (!bound) throw sessionTaken();
  return toSession(bound);
}

/** The requester of a session: its user, by JWT, or the browser that opened its link. */
export type Requester = { userId: string; environment: Environment } | { browserId: string };

/** @throws GatehouseError `connect_session_not_found`, also for another user's session. */
export async function requireSession(
  context: Pick<Base, 'db' | 'hashKey'>,
  sessionId: string,
  requester: Requester,
): Promise<ConnectSession> {
  const row = /^con_[0-9A-Za-z]{22}$/.test(sessionId)
    ? await context.db
        .selectFrom('connect_sessions')
        .selectAll()
        .where('session_id', '=', sessionId)
        .executeTakeFirst()
    : undefined;
  const session = row && toSession(row);
  const isOwner =
    session &&
    ('browserId' in requester
      ? session.browserHash === hashToken(context.hashKey, requester.browserId)
      : session.userId === requester.userId && session.environment === requester.environment);
  if (isOwner) return session;
  throw new GatehouseError('connect_session_not_found', 'This user or browser has no such connect session.');
}

/** Returns the state of a session now; as it was if it is deleted. */
export async function rereadSession(db: DbOrTx, session: ConnectSession): Promise<ConnectSession> {
  const row = await db
    .selectFrom('connect_sessions')
    .selectAll()
    .where('session_id', '=', session.sessionId)
    .executeTakeFirst();
  return row ? toSession(row) : session;
}

/**
 * @throws GatehouseError `connect_session_expired` when it has ended or expired, `user_not_found`, `forbidden` when
 * its user was disabled after it was created.
 */
export async function assertLive(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { status, expiresAt, environment, userId }: ConnectSession,
): Promise<void> {
  if (status === 'succeeded' || status === 'failed' || expiresAt <= clock.now()) {
    throw new GatehouseError(
      'connect_session_expired',
      'This link was used already, or is older than 15 minutes. Ask for a new one.',
    );
  }
  await requireEnabled(db, environment, userId);
}

/**
 * Ends a session, once. Returns false when it was already ended or was deleted with its user; the caller must then
 * undo its work.
 */
export async function endSession(
  db: DbOrTx,
  { clock }: Pick<Base, 'clock'>,
  { sessionId, ended }: { sessionId: string; ended: ConnectOutcome },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('connect_sessions')
    .set({
      status: ended.success ? 'succeeded' : 'failed',
      outcome: JSON.stringify(ended),
      prefill: null,
      updated_at: clock.now(),
    })
    .where('session_id', '=', sessionId)
    .where('status', 'in', LIVE)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Returns the values that the operator gave when the link was made. */
export function prefillOf({ keys }: Pick<Base, 'keys'>, session: ConnectSession): Record<string, string> {
  if (session.prefill === null) return {};
  return keys.openJson(
    z.record(z.string(), z.string()),
    session.prefill,
    boundTo('connect_sessions.prefill', { session_id: session.sessionId }),
  );
}

export function sessionTaken(): GatehouseError {
  return new GatehouseError(
    'connect_session_taken',
    'This link was opened in another browser first. Continue there, or ask for a new link.',
  );
}

async function deleteSurplus(db: DbOrTx, { userId, via }: NewSession): Promise<void> {
  const surplus = await db
    .selectFrom('connect_sessions')
    .select('session_id')
    .where('user_id', '=', userId)
    .where('status', '=', 'open')
    .where('browser_hash', 'is', null)
    .where('via', '=', via)
    .orderBy('created_at', 'desc')
    .limit(100)
    .offset(MAX_UNOPENED - 1)
    .execute();
  if (surplus.length === 0) return;
  const ids = surplus.map((row) => row.session_id);
  await db.deleteFrom('connect_sessions').where('session_id', 'in', ids).execute();
}

const texts = z.array(z.string());

function toSession(row: Selectable<Tables['connect_sessions']>) {
  return {
    sessionId: row.session_id,
    environment: row.environment,
    userId: row.user_id,
    /** The connectors to choose from; null means all. */
    connectors: row.connectors === null ? null : texts.parse(JSON.parse(row.connectors)),
    /** The only authentication type that is offered; null means all. */
    type: row.type,
    /** The credential to reconnect; null for a new one. */
    credentialId: row.credential_id,
    /** Scopes that a sign-in requests in addition. */
    scopes: row.scopes === null ? [] : texts.parse(JSON.parse(row.scopes)),
    prefill: row.prefill,
    redirectUri: row.redirect_uri,
    clientState: row.client_state,
    via: row.via,
    browserHash: row.browser_hash,
    status: row.status,
    outcome: row.outcome === null ? null : outcome.parse(JSON.parse(row.outcome)),
    expiresAt: row.expires_at,
  };
}
