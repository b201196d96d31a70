import { z } from 'zod';
import type { Connector } from '../connectors/catalog.ts';
import { bindingOf, keepsOrigins } from '../connectors/origins.ts';
import { KeyError } from '../crypto/key-ring.ts';
import type { Context } from './context.ts';
import { dropJob, planJob, type JobKind } from '../runtime/jobs.ts';
import type { Environment } from '../store/environments.ts';
import type { Tx } from '../store/schema.ts';
import { accountChoice, type AccountChoice } from './account-choices.ts';
import { valuesOf } from './granted.ts';
import type { OAuth2 } from './oauth-client.ts';
import type { Tokens } from './oauth.ts';
import { endValues } from './revoke.ts';
import { boundTo } from '../store/sealed-columns.ts';

/*
 * Grants of consents that reach several accounts, sealed until the person has chosen one. A session has at most one.
 */

/** A grant whose account is not chosen. */
export interface UnchosenGrant {
  connector: Connector;
  scheme: OAuth2;
  /** The fields that the person entered before the consent. */
  values: Record<string, string>;
  tokens: Tokens & { choices: AccountChoice[] };
}

const JOB_KIND = 'unchosen';

const sealedGrant = z.object({
  tokens: z.object({
    accessToken: z.string(),
    refreshToken: z.string().optional(),
    expiresAt: z.number().optional(),
    refreshExpiresAt: z.number().optional(),
    scopes: z.array(z.string()).optional(),
    choices: z.array(accountChoice),
  }),
  values: z.record(z.string(), z.string()),
  origins: z.string(),
});
const jobPayload = z.object({ sessionId: z.string() });

type GrantContext = Pick<Context, 'db' | 'clock' | 'keys' | 'catalog' | 'outbound' | 'log'>;

/** Stores a grant for ten minutes or less, and plans its end. It replaces an older grant of the session. */
export async function keepUnchosen(
  tx: Tx,
  { clock, keys }: Pick<Context, 'clock' | 'keys'>,
  { sessionId, expiresAt, grant }: { sessionId: string; expiresAt: number; grant: UnchosenGrant },
): Promise<void> {
  const { connector, values, tokens } = grant;
  const { captured: _none, account: _unknown, ...kept } = tokens;
  const box = { tokens: kept, values, origins: bindingOf(connector) };
  const row = {
    connector_id: connector.connectorId,
    sealed: keys.sealJson(box, binding(sessionId)),
    expires_at: expiresAt,
    created_at: clock.now(),
  };
  await tx
    .insertInto('unchosen_grants')
    .values({ session_id: sessionId, ...row })
    .onConflict((oc) => oc.column('session_id').doUpdateSet(row))
    .execute();
  const delayMs = expiresAt - clock.now();
  await planJob(tx, { clock }, { kind: JOB_KIND, key: sessionId, payload: { sessionId }, delayMs });
}

/**
 * Returns the grant of a session; undefined when it has none, its row was altered, or its connector is gone or has
 * another address.
 */
export async function findUnchosen(
  context: Pick<Context, 'db' | 'keys' | 'catalog'>,
  { sessionId, environment }: { sessionId: string; environment: Environment },
): Promise<UnchosenGrant | undefined> {
  const row = await context.db
    .selectFrom('unchosen_grants')
    .selectAll()
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  const connector = row && context.catalog.connector(environment, row.connector_id);
  const scheme = connector?.definition.authentication.find(({ type }) => type === 'oauth2');
  if (!connector || scheme?.type !== 'oauth2') return undefined;
  const box = openBox(context.keys, row.sealed, binding(sessionId));
  if (!box || !keepsOrigins(connector, box.origins)) return undefined;
  return { connector, scheme, values: box.values, tokens: { ...box.tokens, captured: {} } };
}

function openBox(keys: Context['keys'], sealed: string, bound: string) {
  try {
    return keys.openJson(sealedGrant, sealed, bound);
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

/**
 * Deletes the grant of a session whose account is chosen now. Returns false when it has expired or its tokens are being
 * revoked.
 */
export async function takeUnchosen(
  tx: Tx,
  { clock }: Pick<Context, 'clock'>,
  sessionId: string,
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('unchosen_grants')
    .where('session_id', '=', sessionId)
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  await dropJob(tx, { clock }, { kind: JOB_KIND, key: sessionId });
  return numDeletedRows > 0n;
}

/**
 * Revokes the tokens of a session's grant within 5 s, then deletes it. It expires first, so that no choice stores
 * revoked tokens. After a crash in between, the planned job does it again.
 */
export async function endUnchosen(context: GrantContext, sessionId: string): Promise<void> {
  const { db, clock } = context;
  const expired = await db
    .updateTable('unchosen_grants')
    .set({ expires_at: clock.now() })
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  if (expired.numUpdatedRows === 0n) return;
  const owner = await db
    .selectFrom('connect_sessions')
    .select(['environment', 'user_id'])
    .where('session_id', '=', sessionId)
    .executeTakeFirst();
  const grant = owner && (await findUnchosen(context, { sessionId, environment: owner.environment }));
  if (grant) {
    const { environment, user_id: userId } = owner;
    await revokeUnchosen(context, { environment, userId, grant });
  }
  await db.deleteFrom('unchosen_grants').where('session_id', '=', sessionId).execute();
  await dropJob(db, { clock }, { kind: JOB_KIND, key: sessionId });
}

/** Returns the grants of a user, whose deletion deletes them. */
export async function unchosenOf(
  context: Pick<Context, 'db' | 'keys' | 'catalog'>,
  { environment, userId }: { environment: Environment; userId: string },
): Promise<UnchosenGrant[]> {
  const rows = await context.db
    .selectFrom('unchosen_grants')
    .innerJoin('connect_sessions', 'connect_sessions.session_id', 'unchosen_grants.session_id')
    .select('unchosen_grants.session_id')
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .execute();
  const found = rows.map((row) => findUnchosen(context, { sessionId: row.session_id, environment }));
  return (await Promise.all(found)).filter((grant) => grant !== undefined);
}

/** Revokes the tokens of a grant within 5 s. A failure is only logged. */
export async function revokeUnchosen(
  context: GrantContext,
  { grant, ...owner }: { environment: Environment; userId: string; grant: UnchosenGrant },
): Promise<void> {
  const { connector, scheme } = grant;
  await endValues(context, {
    ...owner,
    connector,
    scheme,
    values: () => valuesOf(grant),
    facts: { userId: owner.userId },
  });
}

/** Returns the job that revokes a grant whose account was not chosen in time. */
export function unchosenJob(context: GrantContext): JobKind {
  return {
    attempts: 5,
    async run(payload) {
      const { sessionId } = jobPayload.parse(payload);
      const row = await context.db
        .selectFrom('unchosen_grants')
        .select('expires_at')
        .where('session_id', '=', sessionId)
        .executeTakeFirst();
      const leftMs = row ? row.expires_at - context.clock.now() : 0;
      if (leftMs > 0) return leftMs;
      await endUnchosen(context, sessionId);
      return undefined;
    },
    // The sweep of connect sessions deletes the row.
    gaveUp: async () => undefined,
  };
}

function binding(sessionId: string): string {
  return boundTo('unchosen_grants.sealed', { session_id: sessionId });
}
