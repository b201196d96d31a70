import type { Updateable } from 'kysely';
import type { Context } from './context.ts';
import type { Credential } from '../credentials/credential.ts';
import { planInventory } from '../sources/consumers.ts';
import { ensureSource } from '../sources/source-records.ts';
import { GatehouseError } from '../lib/errors.ts';
import { canonicalJson } from '../lib/json.ts';
import type { Tables, Tx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import type { Definition } from './workflow-definition.ts';
import { firingAfter } from './schedule.ts';

export type TriggerContext = Pick<Context, 'catalog' | 'clock' | 'config' | 'keys' | 'credentialMemory'>;

/** The input of armTrigger(). */
export interface TriggerInput {
  environment: Environment;
  userId: string;
  definition: Definition;
  /** The credentials by connectorId. */
  credentials: ReadonlyMap<string, Credential>;
  enabled: boolean;
  before?: { schedule: string | null; fireAt: number | null; hookHash: string | null };
}

type Columns = Pick<
  Updateable<Tables['workflow_installations']>,
  'trigger_type' | 'concurrency' | 'source_id' | 'events' | 'schedule' | 'fire_at' | 'hook_hash'
>;

/**
 * Returns the columns that make an installation's trigger work. The source of an event trigger is created here, in
 * the caller's transaction. The caller must release the previous source after the row no longer uses it.
 * @throws GatehouseError `credential_required` when the app of an event trigger is not connected.
 */
export async function armTrigger(
  tx: Tx,
  context: TriggerContext,
  { environment, userId, definition, credentials, enabled, before }: TriggerInput,
): Promise<Required<Columns>> {
  const { trigger, concurrency } = definition;
  const columns = {
    trigger_type: trigger.type,
    concurrency,
    source_id: null,
    events: null,
    schedule: null,
    fire_at: null,
    hook_hash: null,
  };
  switch (trigger.type) {
    case 'event': {
      const events = JSON.stringify(trigger.events ?? ['created']);
      if (!enabled) return { ...columns, events };
      const connector = context.catalog.connector(environment, trigger.connectorId);
      const credential = credentials.get(trigger.connectorId);
      if (!connector || !credential) {
        throw new GatehouseError(
          'credential_required',
          `This workflow begins with events of ${connector?.name ?? trigger.connectorId}, and the user has no account there.`,
          { details: { connectorId: trigger.connectorId } },
        );
      }
      const request = { environment, userId, credential, connector, scope: trigger.scope };
      const { sourceId } = await ensureSource(tx, context, request);
      if (trigger.events?.includes('deleted')) await planInventory(tx, context, sourceId);
      return { ...columns, events, source_id: sourceId };
    }
    case 'schedule': {
      const { cron, timeZone } = trigger;
      const schedule = canonicalJson({ cron, timeZone: timeZone ?? 'UTC' });
      // An existing time is kept, because it may be due right now.
      const kept = before?.schedule === schedule ? before.fireAt : null;
      const fireAt = enabled ? (kept ?? firingAfter(schedule, context.clock.now())) : null;
      return { ...columns, schedule, fire_at: fireAt };
    }
    case 'call':
      return { ...columns, hook_hash: before?.hookHash ?? null };
    default:
      return columns;
  }
}
