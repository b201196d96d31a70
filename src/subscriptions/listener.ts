import { connectorOf } from '../credentials/credential-records.ts';
import type { SourceScope } from '../connectors/event-scopes.ts';
import type { Base } from '../base.ts';
import type { Context } from '../sources/context.ts';
import type { Credential } from '../credentials/credential.ts';
import { newId } from '../lib/ids.ts';
import type { Environment } from '../store/environments.ts';
import { requestOf } from '../outbox/delivery-attempt.ts';
import { ensureSource } from '../sources/source-records.ts';
import { newSigningSecret } from '../outbox/signature.ts';
import { sealBinding, toTarget, type DeliveryTarget } from '../outbox/delivery-target.ts';
import { reportsOf, sourceModelOf } from '../connectors/source-model.ts';
import { lockSource, planInventory, releaseIfUnconsumed } from '../sources/consumers.ts';
import { deleteDeliveries } from './subscriptions.ts';

/*
 * `gatehouse listen` is a subscription whose deliveries are fetched from the store instead of being sent. It exists while
 * the command runs. The serving processes publish to it as to any other subscription.
 */

const EVENTS = ['created', 'updated', 'deleted'];

type ListenerContext = Pick<Context, 'db' | 'clock' | 'keys' | 'catalog' | 'config' | 'credentialMemory'>;

export interface Listener {
  subscriptionId: string;
  /** Signing secret of the forwarded events. */
  secret: string;
  target: DeliveryTarget;
}

export interface ListenerInput {
  environment: Environment;
  /** Connection and scope to listen to, with or without another subscription; default: all events of the environment. */
  source?: { credential: Credential; scope: SourceScope } | undefined;
  /** Signing secret; default: a new one. */
  secret?: string | undefined;
}

/** An event for a listener, ready to be forwarded. */
export interface ListenerEvent {
  deliveryId: string;
  scope: string;
  event: string;
  recordId: string;
  body: string;
  /** Headers as a subscriber receives them, signed now. */
  headers: Record<string, string>;
}

/**
 * Creates a listener, with its source if needed.
 * @throws GatehouseError `invalid_request` when the connector has no such scope, `connector_not_found`.
 */
export async function openListener(
  context: ListenerContext,
  { environment, source, secret = newSigningSecret() }: ListenerInput,
): Promise<Listener> {
  const subscriptionId = newId('sub');
  const now = context.clock.now();
  const input = source && sourceInput(context, source);
  const events = input ? reportsOf(sourceModelOf(input.connector, input.scope)) : EVENTS;
  const row = await context.db.transaction().execute(async (tx) => {
    const sourceId = input && (await ensureSource(tx, context, input)).sourceId;
    if (sourceId !== undefined) await planInventory(tx, context, sourceId);
    return tx
      .insertInto('subscriptions')
      .values({
        subscription_id: subscriptionId,
        environment,
        kind: 'listener',
        user_id: source?.credential.userId ?? null,
        credential_id: source?.credential.credentialId ?? null,
        source_id: sourceId ?? null,
        scope: source?.scope ?? '*',
        // Unique, because several listeners may share a source. Nothing is sent to it.
        address: `listener:${subscriptionId}`,
        events: JSON.stringify(events),
        secret_sealed: context.keys.seal(secret, sealBinding(subscriptionId, 'secret')),
        status: 'active',
        ordered: 0,
        backfill: 'none',
        created_at: now,
        updated_at: now,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  });
  return { subscriptionId, secret, target: toTarget(context, row) };
}

function sourceInput(
  { catalog }: Pick<Base, 'catalog'>,
  source: { credential: Credential; scope: SourceScope },
) {
  const { credential } = source;
  const { environment, userId } = credential;
  const connector = connectorOf({ catalog }, credential);
  return { ...source, environment, userId, connector };
}

/** Returns the next events in order and deletes their deliveries, so that each is returned once. */
export async function takeEvents(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { subscriptionId, target }: Listener,
  limit: number,
): Promise<ListenerEvent[]> {
  const rows = await db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .leftJoin('sources', 'sources.source_id', 'events.source_id')
    .select(['deliveries.delivery_id', 'deliveries.sequence', 'deliveries.marks', 'sources.credential_id'])
    .select(['events.scope', 'events.event', 'events.record_id', 'events.body'])
    .where('deliveries.subscription_id', '=', subscriptionId)
    .orderBy('deliveries.sequence')
    .limit(limit)
    .execute();
  if (rows.length === 0) return [];
  const now = clock.now();
  const ids = rows.map((row) => row.delivery_id);
  await db.deleteFrom('deliveries').where('delivery_id', 'in', ids).execute();
  return rows.map((row) => {
    const { delivery_id: deliveryId, record_id: recordId, sequence, marks, scope, event, body } = row;
    const to = { ...target, connectionId: row.credential_id };
    const headers = requestOf(to, { deliveryId, sequence, marks, scope, event, body }, now);
    return { deliveryId, scope, event, recordId, body, headers };
  });
}

/** Renews a listener. Returns false when it was removed, because it was not renewed for too long. */
export async function renewListener(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { subscriptionId }: Listener,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('subscriptions')
    .set({ updated_at: clock.now() })
    .where('subscription_id', '=', subscriptionId)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Deletes a listener, with its source if that has no other consumers. */
export async function closeListener(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  subscriptionId: string,
): Promise<void> {
  await deleteDeliveries({ db }, subscriptionId);
  await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom('subscriptions')
      .select('source_id')
      .where('subscription_id', '=', subscriptionId)
      .executeTakeFirst();
    const sourceId = row?.source_id ?? null;
    if (sourceId !== null) await lockSource(tx, sourceId);
    await tx.deleteFrom('subscriptions').where('subscription_id', '=', subscriptionId).execute();
    if (sourceId !== null) await releaseIfUnconsumed(tx, { clock }, sourceId);
  });
}
