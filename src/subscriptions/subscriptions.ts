import { connectorOf } from '../credentials/credential-records.ts';
import type { Updateable } from 'kysely';
import { isSourceScope, isUnifiedScope, type SourceScope } from '../connectors/event-scopes.ts';
import type { Context } from '../sources/context.ts';
import type { Credential } from '../credentials/credential.ts';
import { DAY } from '../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { planJob } from '../runtime/jobs.ts';
import { inBatches } from '../store/batches.ts';
import { againAfterDeadlock } from '../store/deadlock.ts';
import { orExists } from '../store/open-database.ts';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { assertAddress, columnsOfAddress, restartSchedules, sendAtNewAddress } from './address.ts';
import { cancelWaiting } from '../outbox/cancel-deliveries.ts';
import { BACKFILL_MARK } from '../outbox/publish.ts';
import { eventFaults, findSourceModel, sourceModelOf } from '../connectors/source-model.ts';
import { lockSource, planInventory, releaseIfUnconsumed } from '../sources/consumers.ts';
import { newSigningSecret } from '../outbox/signature.ts';
import { deleteSource, ensureSource } from '../sources/source-records.ts';
import {
  previousSecrets,
  sealBinding,
  type PreviousSecret,
  type SubscriptionRow,
} from '../outbox/delivery-target.ts';

/** How long an old secret signs after a rotation. */
const OLD_SECRET_MS = DAY;
/** Limit of old secrets, because each adds a signature to a header. Further rotations in a day drop the oldest one. */
const MAX_OLD_SECRETS = 8;

/** Other texts never reach the store, because it may refuse their characters. */
const SUBSCRIPTION_ID = /^sub_[0-9A-Za-z]{22}$/;

export interface SubscriptionInput {
  /** The connection, which also names the user. */
  credential: Credential;
  address: string;
  scope: SourceScope;
  events: ('created' | 'updated' | 'deleted')[];
  headers: Record<string, string>;
  ratePerSecond: number | null;
  ordered: boolean;
  backfill: boolean;
}

/** The id of a subscription, and the environment that it must belong to. */
export interface SubscriptionKey {
  environment: Environment;
  subscriptionId: string;
}

/** Changes to a subscription. Scope and connection cannot change, because they identify it. */
export type SubscriptionChanges = Partial<
  Pick<SubscriptionInput, 'address' | 'events' | 'headers' | 'ratePerSecond' | 'ordered'>
>;

/**
 * Subscribes to events of a connection. Creates the subscription, and its source if needed, in one transaction.
 * @returns the subscription with the signing secret, which is returned only here.
 * @throws GatehouseError `invalid_request` for an address that may not be called, a scope that the connector does not
 * have, events that it does not report, or a backfill without `created` events; `subscription_exists` for the same connection, scope and address.
 */
export async function createSubscription(
  context: Context,
  input: SubscriptionInput,
): Promise<{ subscription: SubscriptionRow; source: 'native' | 'polling'; secret: string }> {
  const { credential, scope } = input;
  const { environment, userId } = credential;
  if (input.backfill && !input.events.includes('created')) {
    const rule = 'requires created in events, because existing records are delivered as created';
    throw invalidRequest([{ field: 'backfill', rule }]);
  }
  await assertAddress(context, input.address, 'address');
  const connector = connectorOf(context, credential);
  const model = sourceModelOf(connector, scope);
  const faults = eventFaults(model, scope, input.events);
  if (input.backfill && model.list === undefined) {
    const rule = `must be false, because ${connector.name} has no list of ${scope}`;
    faults.push({ field: 'backfill', rule });
  }
  if (faults.length > 0) throw invalidRequest(faults);
  const subscriptionId = newId('sub');
  const secret = newSigningSecret();
  const now = context.clock.now();
  const made = await rejectDuplicate(
    context.db.transaction().execute(async (tx) => {
      const source = await ensureSource(tx, context, { environment, userId, credential, connector, scope });
      const subscription = await tx
        .insertInto('subscriptions')
        .values({
          subscription_id: subscriptionId,
          environment,
          kind: 'connection',
          user_id: userId,
          credential_id: credential.credentialId,
          source_id: source.sourceId,
          scope,
          address: input.address,
          events: JSON.stringify(input.events),
          headers_sealed: sealHeaders(context, subscriptionId, input.headers),
          secret_sealed: context.keys.seal(secret, sealBinding(subscriptionId, 'secret')),
          status: 'active',
          rate_per_second: input.ratePerSecond,
          ordered: input.ordered ? 1 : 0,
          backfill: input.backfill ? 'wanted' : 'none',
          created_at: now,
          updated_at: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      if (input.backfill) {
        const payload = { subscriptionId, sourceId: source.sourceId };
        await planJob(tx, context, { kind: 'backfill', key: subscriptionId, payload });
      }
      if (input.events.includes('deleted')) await planInventory(tx, context, source.sourceId);
      return { subscription, source: source.kind };
    }),
  );
  context.sources.wake();
  return { ...made, secret };
}

/**
 * Returns the subscription of an environment, of any kind. With `userId`, it must belong to that user; the operator's
 * subscription belongs to none. `forUpdate` locks the row; use it only with PostgreSQL.
 * @throws GatehouseError `subscription_not_found`
 */
export async function requireSubscription(
  db: DbOrTx,
  { environment, subscriptionId }: SubscriptionKey,
  { forUpdate = false, userId }: { forUpdate?: boolean; userId?: string } = {},
): Promise<SubscriptionRow> {
  const row = SUBSCRIPTION_ID.test(subscriptionId)
    ? await db
        .selectFrom('subscriptions')
        .selectAll()
        .where('subscription_id', '=', subscriptionId)
        .where('environment', '=', environment)
        .$if(forUpdate, (query) => query.forUpdate())
        .executeTakeFirst()
    : undefined;
  if (!row || (userId !== undefined && userId !== row.user_id)) throw notFound(subscriptionId);
  return row;
}

const ORDER: ListOrder = { columns: { created_at: 'whole', subscription_id: 'id' }, direction: 'asc' };

/** Returns a page of the subscriptions to connections, oldest first, and where it ends. */
export async function listSubscriptions(
  db: DbOrTx,
  filter: PageRequest & {
    environment: Environment;
    connectionId?: string | undefined;
    userId?: string | undefined;
    /** `failing`: active, and every attempt fails. */
    state?: 'active' | 'disabled' | 'failing' | undefined;
  },
): Promise<PageEnd & { subscriptions: SubscriptionRow[] }> {
  let query = db
    .selectFrom('subscriptions')
    .selectAll()
    .where('environment', '=', filter.environment)
    .where('kind', '=', 'connection');
  if (filter.connectionId !== undefined) query = query.where('credential_id', '=', filter.connectionId);
  if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
  const { state } = filter;
  if (state !== undefined) query = query.where('status', '=', state === 'disabled' ? 'disabled' : 'active');
  if (state === 'failing') query = query.where('failing_since', 'is not', null);
  const { rows: subscriptions, ...end } = await readPage(query, ORDER, filter);
  return { subscriptions, ...end };
}

/**
 * Changes the given fields of a subscription.
 * @throws GatehouseError as createSubscription(), and `subscription_not_found`.
 */
export async function updateSubscription(
  context: Context,
  key: SubscriptionKey,
  changes: SubscriptionChanges,
): Promise<SubscriptionRow> {
  const { subscriptionId } = key;
  const before = await requireSubscription(context.db, key);
  if (before.kind !== 'connection' && changes.events !== undefined) {
    throw invalidRequest([
      { field: 'events', rule: 'cannot be chosen for events of the environment itself' },
    ]);
  }
  if (changes.events) assertReported(context, before, changes.events);
  if (changes.address !== undefined) await assertAddress(context, changes.address, 'address');
  const { address = before.address } = changes;
  const isMoved = address !== before.address;
  const set: Updateable<Tables['subscriptions']> = isMoved ? columnsOfAddress(address) : {};
  if (changes.events !== undefined) set.events = JSON.stringify(changes.events);
  if (changes.headers !== undefined) {
    set.headers_sealed = sealHeaders(context, subscriptionId, changes.headers);
  }
  if (changes.ratePerSecond !== undefined) set.rate_per_second = changes.ratePerSecond;
  if (changes.ordered !== undefined) set.ordered = changes.ordered ? 1 : 0;
  if (isMoved) await restartSchedules(context, subscriptionId);
  const changed = await change(context, key, set);
  if (isMoved) await sendAtNewAddress(context, subscriptionId);
  if (changes.events?.includes('deleted') && changed.source_id !== null)
    await planInventory(context.db, context, changed.source_id);
  return changed;
}

/** @throws GatehouseError `invalid_request` for events that the source does not report. A missing connector may return. */
function assertReported(
  { catalog }: Pick<Context, 'catalog'>,
  row: SubscriptionRow,
  events: SubscriptionInput['events'],
): void {
  const { environment, scope } = row;
  if (isUnifiedScope(scope) || !isSourceScope(scope)) return;
  const connector = catalog.connector(environment, scope.slice(0, scope.indexOf('/')));
  const model = connector && findSourceModel(connector, scope);
  const faults = model ? eventFaults(model, scope, events) : [];
  if (faults.length > 0) throw invalidRequest(faults);
}

/**
 * Deletes a subscription with its deliveries, and its source if that has no other consumers.
 * @throws GatehouseError `subscription_not_found`
 */
export async function deleteSubscription(context: Context, key: SubscriptionKey): Promise<void> {
  const { subscriptionId } = key;
  await change(context, key, {
    status: 'disabled',
    reason: 'It is being deleted. If it still exists, delete it again.',
  });
  await deleteDeliveries(context, subscriptionId);
  const ended = await againAfterDeadlock(() =>
    context.db.transaction().execute(async (tx) => {
      const { source_id: sourceId } = await requireSubscription(tx, key);
      if (sourceId !== null) await lockSource(tx, sourceId);
      await tx.deleteFrom('subscriptions').where('subscription_id', '=', subscriptionId).execute();
      return sourceId !== null && (await releaseIfUnconsumed(tx, context, sourceId)) ? sourceId : undefined;
    }),
  );
  context.dispatcher.changed(subscriptionId);
  if (ended !== undefined) await deleteSource(context, ended);
}

/** Deletes a subscription as deleteSubscription() does. Ignores one that is deleted already. */
export async function deleteIfExists(context: Context, key: SubscriptionKey): Promise<void> {
  try {
    await deleteSubscription(context, key);
  } catch (error) {
    if (!(error instanceof GatehouseError && error.code === 'subscription_not_found')) throw error;
  }
}

/**
 * Deletes the deliveries of a subscription in batches. A cascade over a million rows would block all other writers for
 * twenty seconds. Events of its backfill are deleted too: only these deliveries mark them as backfill, and no other
 * subscription may receive them.
 */
export async function deleteDeliveries({ db }: Pick<Context, 'db'>, subscriptionId: string): Promise<void> {
  const deleteSome = (limit: number) =>
    db.transaction().execute(async (tx) => {
      const gone = await tx
        .deleteFrom('deliveries')
        .where('delivery_id', 'in', (some) =>
          some
            .selectFrom('deliveries')
            .select('delivery_id')
            .where('subscription_id', '=', subscriptionId)
            .limit(limit),
        )
        .returning(['event_id', 'marks'])
        .execute();
      const old = gone.filter(({ marks }) => marks?.includes(`"${BACKFILL_MARK}"`));
      const ids = old.map(({ event_id: eventId }) => eventId);
      if (ids.length > 0) await tx.deleteFrom('events').where('event_id', 'in', ids).execute();
      return { numDeletedRows: BigInt(gone.length) };
    });
  await inBatches((limit) => againAfterDeadlock(() => deleteSome(limit)));
}

/**
 * Replaces the signing secret. The old one also signs for 24 hours.
 * @throws GatehouseError `subscription_not_found`
 */
export async function rotateSecret(
  context: Context,
  key: SubscriptionKey,
): Promise<{ subscription: SubscriptionRow; secret: string }> {
  const { subscriptionId } = key;
  const secret = newSigningSecret();
  const subscription = await context.db.transaction().execute(async (tx) => {
    // The first write locks the row, so that the second of two concurrent rotations reads the first one's secret.
    const before = await change({ ...context, db: tx }, key, {});
    const now = context.clock.now();
    const replaced = context.keys.open(before.secret_sealed, sealBinding(subscriptionId, 'secret'));
    const previous: PreviousSecret[] = [
      { secret: replaced, until: now + OLD_SECRET_MS },
      ...previousSecrets(context, before).filter(({ until }) => until > now),
    ];
    return change({ ...context, db: tx }, key, {
      secret_sealed: context.keys.seal(secret, sealBinding(subscriptionId, 'secret')),
      previous_secrets_sealed: context.keys.sealJson(
        previous.slice(0, MAX_OLD_SECRETS),
        sealBinding(subscriptionId, 'previous'),
      ),
    });
  });
  context.dispatcher.changed(subscriptionId);
  return { subscription, secret };
}

/**
 * Enables a subscription. It collects and delivers events from now on; recover() sends missed ones.
 * @throws GatehouseError `subscription_not_found`
 */
export async function enableSubscription(context: Context, key: SubscriptionKey): Promise<SubscriptionRow> {
  await requireSubscription(context.db, key);
  // Cancels the deliveries that the disabling left waiting; otherwise they would be sent from now on.
  await cancelWaiting(context, key.subscriptionId);
  return change(context, key, { status: 'active', reason: null, failing_since: null });
}

async function change(
  context: Pick<Context, 'clock' | 'dispatcher'> & { db: DbOrTx },
  { environment, subscriptionId }: SubscriptionKey,
  set: Updateable<Tables['subscriptions']>,
): Promise<SubscriptionRow> {
  if (!SUBSCRIPTION_ID.test(subscriptionId)) throw notFound(subscriptionId);
  const row = await rejectDuplicate(
    context.db
      .updateTable('subscriptions')
      .set({ ...set, updated_at: context.clock.now() })
      .where('subscription_id', '=', subscriptionId)
      .where('environment', '=', environment)
      .returningAll()
      .executeTakeFirst(),
  );
  if (!row) throw notFound(subscriptionId);
  context.dispatcher.changed(subscriptionId);
  return row;
}

function sealHeaders(
  { keys }: Pick<Context, 'keys'>,
  subscriptionId: string,
  headers: Record<string, string>,
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return keys.sealJson(headers, sealBinding(subscriptionId, 'headers'));
}

function rejectDuplicate<T>(write: Promise<T>): Promise<T> {
  return orExists(
    write,
    'subscription_exists',
    'This connection has a subscription of this scope to this address already. Change that one, or delete it.',
  );
}

function notFound(subscriptionId: string): GatehouseError {
  return new GatehouseError(
    'subscription_not_found',
    `There is no subscription "${subscriptionId.slice(0, 64)}" in this environment.`,
  );
}
