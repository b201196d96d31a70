import type { Transaction } from 'kysely';
import type { Connector } from '../connectors/catalog.ts';
import type { EventScope } from '../connectors/events-format.ts';
import type { Context } from '../context.ts';
import type { Credential } from '../credentials/credential.ts';
import { MINUTE } from '../lib/clock.ts';
import { invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Environment, Tables } from '../store/schema.ts';

/** Events of which model somebody wants to hear, of which connection. */
export interface SourceWish {
  environment: Environment;
  userId: string;
  credential: Credential;
  connector: Connector;
  scope: EventScope;
}

type Tx = Transaction<Tables>;

/**
 * The source of a connection and scope: one for all who subscribe to it. Native where the app sends webhooks of that
 * scope, else polled.
 * @throws GatehouseError `invalid_request` when the connector has no such model.
 */
export async function ensureSource(
  tx: Tx,
  { clock }: Pick<Context, 'clock'>,
  { environment, userId, credential, connector, scope }: SourceWish,
): Promise<{ sourceId: string; kind: 'native' | 'polling' }> {
  const { unified, webhooks } = connector.definition;
  if (!unified?.[scope]) {
    const known = Object.keys(unified ?? {}).join(', ') || 'none';
    throw invalidRequest([{ field: 'scope', rule: `is not one of ${connector.name}; it has: ${known}` }]);
  }
  const now = clock.now();
  const kind = webhooks?.topics[scope] ? 'native' : 'polling';
  const row = await tx
    .insertInto('sources')
    .values({
      source_id: newId('src'),
      environment,
      user_id: userId,
      credential_id: credential.credentialId,
      connector_id: connector.connectorId,
      scope,
      kind,
      status: 'active',
      next_poll_at: now,
      interval_ms: MINUTE,
      hook_state: kind === 'native' ? 'wanted' : 'none',
      created_at: now,
      updated_at: now,
    })
    // Somebody may subscribe again before the source has ended.
    .onConflict((c) =>
      c.columns(['credential_id', 'scope']).doUpdateSet({ status: 'active', updated_at: now }),
    )
    .returning(['source_id', 'kind'])
    .executeTakeFirstOrThrow();
  return { sourceId: row.source_id, kind: row.kind };
}

/** Nobody listens any more: a polled source goes; a native one is `ending` until it is unregistered at the app. */
export async function releaseSource(
  tx: Tx,
  { clock }: Pick<Context, 'clock'>,
  sourceId: string,
): Promise<void> {
  await tx.deleteFrom('sources').where('source_id', '=', sourceId).where('kind', '=', 'polling').execute();
  await tx
    .updateTable('sources')
    .set({ status: 'ending', updated_at: clock.now() })
    .where('source_id', '=', sourceId)
    .execute();
}
