import { sql, type ExpressionBuilder } from 'kysely';
import type { Connector } from '../connectors/catalog.ts';
import type { SourceScope } from '../connectors/event-scopes.ts';
import type { Base } from '../base.ts';
import type { Context } from './context.ts';
import type { Credential } from '../credentials/credential.ts';
import { SECOND } from '../lib/clock.ts';
import { invalidRequest, type GatehouseError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { dropJob, planJob } from '../runtime/jobs.ts';
import { inBatches } from '../store/batches.ts';
import { risingTo } from '../store/rising.ts';
import type { Db, Tables, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { sourceModelOf } from '../connectors/source-model.ts';
import { isNative } from './webhooks/hook-keys.ts';
import { UNTIL_PRUNED } from './source.ts';

/** Scope of an account that a consumer subscribes to. */
export interface SourceOptions {
  environment: Environment;
  userId: string;
  credential: Credential;
  connector: Connector;
  scope: SourceScope;
}

/**
 * Returns the source of a connection and scope, and creates it for the first consumer. It is native when the
 * app's webhooks can serve the scope; otherwise it is polled. All consumers share it, so each change is read
 * once at the app.
 * @throws GatehouseError `invalid_request` when the connector has no such scope, or the source needs webhooks that the
 * account cannot register.
 */
export async function ensureSource(
  tx: Tx,
  context: Pick<Context, 'clock' | 'config' | 'keys' | 'catalog' | 'credentialMemory'>,
  { environment, userId, credential, connector, scope }: SourceOptions,
): Promise<{ sourceId: string; kind: 'native' | 'polling' }> {
  const model = sourceModelOf(connector, scope);
  const now = context.clock.now();
  const native = await isNative({ ...context, db: tx }, connector, { credential, scope });
  if (model.list === undefined && !native) throw needsWebhooks(connector, scope);
  // This write locks the row. A transaction that ends the source for lack of consumers waits, and then sees
  // the new one.
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
    // The account has gained what its webhooks require. Polls continue until the webhooks are registered.
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
    await dropUnprocessed(tx, sourceId);
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
    // Another transaction created the source at the same time, so the next call finds it.
    if (!made) return ensureSource(tx, context, { environment, userId, credential, connector, scope });
  }
  if (native) await planJob(tx, context, { kind: 'register', key: sourceId, payload: { sourceId } });
  return { sourceId, kind: row.kind };
}

function needsWebhooks({ name }: Connector, scope: SourceScope): GatehouseError {
  const rule = `needs webhooks of ${name}, which this connection cannot register`;
  return invalidRequest([{ field: 'scope', rule: `${scope} ${rule}` }]);
}

/**
 * Shortens the wait of an idle source for a new consumer. A running poll sees the shortest interval when it
 * ends. A source whose app fails keeps its wait.
 */
async function pollSoon(
  tx: Tx,
  { clock, config }: Pick<Base, 'clock' | 'config'>,
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

/** Deletes unprocessed webhooks, which are from the time before the new consumer. */
export async function dropUnprocessed(tx: Tx, sourceId: string): Promise<void> {
  await tx.deleteFrom('inbox').where('source_id', '=', sourceId).where('processed_at', 'is', null).execute();
}

/**
 * Ends a source without consumers. A job removes the webhooks at the app, then the source. A running poll
 * loses its lease and commits nothing. The lease of an account switch stays, because a new consumer may come
 * before pruning is done.
 * Returns true when no webhook is registered, so that `deleteSource` may follow the commit at once.
 */
export async function releaseSource(
  tx: Tx,
  context: Pick<Base, 'clock'>,
  sourceId: string,
): Promise<boolean> {
  const ended = await tx
    .updateTable('sources')
    .set({
      status: 'ending',
      lease_token: sql<string | null>`case when lease_until = ${UNTIL_PRUNED} then lease_token end`,
      lease_until: sql<number | null>`case when lease_until = ${UNTIL_PRUNED} then lease_until end`,
      updated_at: context.clock.now(),
    })
    .where('source_id', '=', sourceId)
    .returning('hook_state')
    .executeTakeFirst();
  await planJob(tx, context, { kind: 'unregister', key: sourceId, payload: { sourceId } });
  await dropJob(tx, context, { kind: 'register', key: sourceId });
  return ended?.hook_state === 'none' || ended?.hook_state === 'manual';
}

/**
 * Deletes a source that is ending, unless it has a consumer again. It deletes the dependent rows first, in
 * batches. A million rows that a foreign key deletes would block other writers for seconds.
 */
export async function deleteSource({ db }: Pick<Base, 'db'>, sourceId: string): Promise<void> {
  await pruneSeen(db, sourceId, { onlyIf: { status: 'ending' } });
  await pruneInbox(db, sourceId, { onlyIf: { status: 'ending' } });
  await db.deleteFrom('sources').where('source_id', '=', sourceId).where('status', '=', 'ending').execute();
}

/** Condition under which the rows of a source are still to be pruned. */
type Condition = { status: 'ending' } | { lease_token: string };

/** Prunes the keys of records of a source while the condition holds. */
export async function pruneSeen(
  db: Db,
  sourceId: string,
  { onlyIf, signal }: { onlyIf: Condition; signal?: AbortSignal | undefined },
): Promise<void> {
  await inBatches(
    (limit) =>
      db
        .deleteFrom('seen')
        .where('source_id', '=', sourceId)
        .where('key', 'in', (some) =>
          some.selectFrom('seen').select('key').where('source_id', '=', sourceId).limit(limit),
        )
        .where((e) => holds(e, sourceId, onlyIf))
        .executeTakeFirst(),
    signal,
  );
}

/** Prunes the stored webhooks of a source, processed or not, while the condition holds. */
export async function pruneInbox(
  db: Db,
  sourceId: string,
  { onlyIf, signal }: { onlyIf: Condition; signal?: AbortSignal | undefined },
): Promise<void> {
  await inBatches(
    (limit) =>
      db
        .deleteFrom('inbox')
        .where('inbox_id', 'in', (some) =>
          some.selectFrom('inbox').select('inbox_id').where('source_id', '=', sourceId).limit(limit),
        )
        .where((e) => holds(e, sourceId, onlyIf))
        .executeTakeFirst(),
    signal,
  );
}

function holds(e: ExpressionBuilder<Tables, 'seen' | 'inbox'>, sourceId: string, onlyIf: Condition) {
  return e.exists(
    e
      .selectFrom('sources')
      .select('source_id')
      .where((source) => source.and({ source_id: sourceId, ...onlyIf })),
  );
}
