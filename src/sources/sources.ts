import { randomUUID } from 'node:crypto';
import { sql, type ExpressionBuilder, type Transaction } from 'kysely';
import type { Connector } from '../connectors/catalog.ts';
import type { EventScope } from '../connectors/event-scopes.ts';
import type { Context } from '../context.ts';
import type { Credential } from '../credentials/credential.ts';
import { SECOND } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { latestLeaseEnd, LEASE_MS } from '../lib/lease.ts';
import { dropJob, planJob } from '../jobs/jobs.ts';
import { deleteInBatches } from '../store/batches.ts';
import { risingTo } from '../store/rising.ts';
import type { Db, Environment, Tables } from '../store/schema.ts';
import { modelOf } from '../unified/map.ts';
import { isNative } from './webhooks/hook-keys.ts';
import { toSource, UNTIL_FORGOTTEN, type Source } from './source.ts';

/** Woken at once: SQLite takes so many names in a statement, and as many polls are enough to begin with. */
const MOST_RESUMED = 500;

/** Who wants to hear of which model of whose account. */
export interface SourceWish {
  environment: Environment;
  userId: string;
  credential: Credential;
  connector: Connector;
  scope: EventScope;
}

/**
 * The source of a connection and scope, made when nobody listened yet: native where the app's own webhooks can serve
 * the scope, else polled. However many subscribe, an app is asked once.
 * @throws GatehouseError `invalid_request` when the connector has no such model.
 */
export async function ensureSource(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock' | 'config' | 'keys' | 'catalog'>,
  { environment, userId, credential, connector, scope }: SourceWish,
): Promise<{ sourceId: string; kind: 'native' | 'polling' }> {
  modelOf(connector, scope);
  const now = context.clock.now();
  const native = await isNative({ ...context, db: tx }, connector, credential, scope);
  // Written, so that it is ours: who ends it for want of listeners waits, and sees the new one.
  const found = await tx
    .updateTable('sources')
    .set({ updated_at: now })
    .where('credential_id', '=', credential.credentialId)
    .where('scope', '=', scope)
    .returning(['source_id', 'kind', 'status'])
    .executeTakeFirst();
  if (found && found.status !== 'ending') {
    const sourceId = found.source_id;
    await pollSoon(tx, context, sourceId);
    if (found.kind === 'native' || !native) return { sourceId, kind: found.kind };
    // The account has got since what its webhooks take; until they are registered the polls go on.
    const set = { kind: 'native', hook_state: 'wanted', updated_at: now } as const;
    await tx.updateTable('sources').set(set).where('source_id', '=', sourceId).execute();
    await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
    return { sourceId, kind: 'native' };
  }
  const row = {
    kind: native ? ('native' as const) : ('polling' as const),
    status: 'active' as const,
    reason: null,
    baseline_at: null,
    cursor_until: null,
    continuation: null,
    next_poll_at: now,
    interval_ms: context.config.pollIntervalSeconds * SECOND,
    next_reconcile_at: null,
    failures: 0,
    hook_state: native ? ('wanted' as const) : ('none' as const),
    created_at: now,
    updated_at: now,
  };
  const sourceId = found?.source_id ?? newId('src');
  if (found) {
    const set = { ...row, created_at: risingTo('created_at', now) };
    await tx.updateTable('sources').set(set).where('source_id', '=', sourceId).execute();
    await dropWaiting(tx, sourceId);
  } else {
    const made = await tx
      .insertInto('sources')
      .values({
        source_id: sourceId,
        environment,
        user_id: userId,
        credential_id: credential.credentialId,
        connector_id: connector.connectorId,
        scope,
        ...row,
      })
      .onConflict((c) => c.columns(['credential_id', 'scope']).doNothing())
      .returning('source_id')
      .executeTakeFirst();
    // Somebody else made it meanwhile, and it is there now.
    if (!made) return ensureSource(tx, context, { environment, userId, credential, connector, scope });
  }
  if (native) await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
  return { sourceId, kind: row.kind };
}

/**
 * Who begins to listen waits no longer because nothing happened before: the interval is the shortest again, which a poll under
 * way sees as it ends. An app that fails is left alone as long as it was.
 */
async function pollSoon(
  tx: Transaction<Tables>,
  { clock, config }: Pick<Context, 'clock' | 'config'>,
  sourceId: string,
): Promise<void> {
  const shortest = config.pollIntervalSeconds * SECOND;
  const at = clock.now() + shortest;
  await tx
    .updateTable('sources')
    .set({
      interval_ms: shortest,
      next_poll_at: sql<number>`case when lease_token is null and next_poll_at > ${at} then ${at} else next_poll_at end`,
    })
    .where('source_id', '=', sourceId)
    .where('hook_state', '!=', 'registered')
    .where('failures', '=', 0)
    .where('interval_ms', '>', shortest)
    .execute();
}

/** Webhooks that came before somebody listened, and wait still, tell him nothing. */
export async function dropWaiting(tx: Transaction<Tables>, sourceId: string): Promise<void> {
  await tx.deleteFrom('inbox').where('source_id', '=', sourceId).where('processed_at', 'is', null).execute();
}

/**
 * Nobody listens any more: a job removes the webhooks at the app, then the source. A poll under way leaves nothing; what is
 * to be forgotten of another account still is, since somebody may listen again.
 * Answers whether nothing is registered there: `deleteSource` may follow the commit at once.
 */
export async function releaseSource(
  tx: Transaction<Tables>,
  context: Pick<Context, 'clock'>,
  sourceId: string,
): Promise<boolean> {
  const ended = await tx
    .updateTable('sources')
    .set({
      status: 'ending',
      lease_token: sql<string | null>`case when lease_until = ${UNTIL_FORGOTTEN} then lease_token end`,
      lease_until: sql<number | null>`case when lease_until = ${UNTIL_FORGOTTEN} then lease_until end`,
      updated_at: context.clock.now(),
    })
    .where('source_id', '=', sourceId)
    .returning('hook_state')
    .executeTakeFirst();
  await planJob(tx, context, { kind: 'unregister', key: sourceId, payload: { sourceId } });
  await dropJob(tx, context, { kind: 'register', key: sourceId });
  return ended?.hook_state === 'none';
}

/**
 * Deletes a source that is ending, unless somebody listens to it again. What it remembered goes before it, few rows at a
 * time: a million that a foreign key takes along would keep everybody else waiting for seconds.
 */
export async function deleteSource({ db }: Pick<Context, 'db'>, sourceId: string): Promise<void> {
  await forgetSeen(db, sourceId, { status: 'ending' });
  await forgetInbox(db, sourceId, { status: 'ending' });
  await db.deleteFrom('sources').where('source_id', '=', sourceId).where('status', '=', 'ending').execute();
}

/** By what a source whose rows are forgotten is known to be the same still. */
type Still = { status: 'ending' } | { lease_token: string };

/** Forgets what was seen of a source, for as long as that is so. */
export async function forgetSeen(
  db: Db,
  sourceId: string,
  still: Still,
  signal?: AbortSignal,
): Promise<void> {
  await deleteInBatches(
    (limit) =>
      db
        .deleteFrom('seen')
        .where('source_id', '=', sourceId)
        .where('key', 'in', (some) =>
          some.selectFrom('seen').select('key').where('source_id', '=', sourceId).limit(limit),
        )
        .where((e) => isStill(e, sourceId, still))
        .executeTakeFirst(),
    signal,
  );
}

/** The same for webhooks that arrived, understood or not. */
export async function forgetInbox(
  db: Db,
  sourceId: string,
  still: Still,
  signal?: AbortSignal,
): Promise<void> {
  await deleteInBatches(
    (limit) =>
      db
        .deleteFrom('inbox')
        .where('inbox_id', 'in', (some) =>
          some.selectFrom('inbox').select('inbox_id').where('source_id', '=', sourceId).limit(limit),
        )
        .where((e) => isStill(e, sourceId, still))
        .executeTakeFirst(),
    signal,
  );
}

function isStill(e: ExpressionBuilder<Tables, 'seen' | 'inbox'>, sourceId: string, still: Still) {
  return e.exists(
    e
      .selectFrom('sources')
      .select('source_id')
      .where((source) => source.and({ source_id: sourceId, ...still })),
  );
}

/** Takes sources whose time has come, each for one process, under a lease of LEASE_MS. */
export async function claimSources(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  most: number,
): Promise<Source[]> {
  if (most <= 0) return [];
  const now = clock.now();
  // Looked for first: an update takes the one writer of SQLite even when it finds nothing.
  const due = await db
    .selectFrom('sources')
    .select('source_id')
    .where('status', '=', 'active')
    .where('next_poll_at', '<=', now)
    .where((e) => isFree(e, now))
    .orderBy('next_poll_at')
    .limit(most)
    .execute();
  if (due.length === 0) return [];
  const rows = await db
    .updateTable('sources')
    .set({
      lease_token: randomUUID(),
      lease_until: now + LEASE_MS,
      // Whoever asks for a round meanwhile sets another time: see poll.ts.
      next_poll_at: now + LEASE_MS,
      fence: sql`fence + 1`,
    })
    .where(
      'source_id',
      'in',
      due.map((row) => row.source_id),
    )
    .where('status', '=', 'active')
    .where('next_poll_at', '<=', now)
    .where((e) => isFree(e, now))
    .returningAll()
    .execute();
  return rows.map(toSource);
}

/**
 * Nobody polls it. A lease further ahead than that of a poll is of a time when somebody's clock was, or has no end: what was
 * known of another account is being forgotten (account-switch.ts).
 */
function isFree(e: ExpressionBuilder<Tables, 'sources'>, now: number) {
  return e.or([
    e('lease_until', 'is', null),
    e('lease_until', '<', now),
    e.and([e('lease_until', '>', latestLeaseEnd(now)), e('lease_until', '!=', UNTIL_FORGOTTEN)]),
  ]);
}

/** Keeps a source for who polls it, unless another has it by now. */
export async function renewLease(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { sourceId, leaseToken }: Source,
): Promise<void> {
  await db
    .updateTable('sources')
    .set({ lease_until: clock.now() + LEASE_MS })
    .where('source_id', '=', sourceId)
    .where('lease_token', '=', leaseToken)
    .execute();
}

/** Sources whose credential was put right go on where they stopped: none is suspended while its credential works. */
export async function resumeSources({ db, clock }: Pick<Context, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  const able = await db
    .selectFrom('sources')
    .innerJoin('credentials', 'credentials.credential_id', 'sources.credential_id')
    .select('sources.source_id')
    .where('sources.status', '=', 'suspended')
    .where('credentials.state', '=', 'active')
    .limit(MOST_RESUMED)
    .execute();
  if (able.length === 0) return;
  await db
    .updateTable('sources')
    .set({ status: 'active', reason: null, failures: 0, next_poll_at: now, updated_at: now })
    .where('status', '=', 'suspended')
    .where(
      'source_id',
      'in',
      able.map((row) => row.source_id),
    )
    .execute();
}
