import type { Connector } from '../../connectors/catalog.ts';
import type { Context } from '../context.ts';
import { MINUTE } from '../../lib/clock.ts';
import type { Json } from '../../lib/json.ts';
import type { Tx } from '../../store/schema.ts';
import type { CustomFields } from '../../unified/field-mappings.ts';
import { unifiedId } from '../../unified/unified-ids.ts';
import { toDelivered } from '../../unified/map.ts';
import { interpretEvent, type EventInterpretation, type HookEvent } from './hook-events.ts';
import { recordChanges, recordDeletion, type Observation } from '../polling/record-changes.ts';
import { pollNow, type Source } from '../source.ts';

/** A webhook that only says that something changed causes another poll this much later. */
const POLLED_AGAIN_MS = 1.5 * MINUTE;

/** Source of a webhook, with its connector and the operator's own fields of its records. */
export interface Sender {
  source: Source;
  connector: Connector;
  fields: CustomFields;
}

/**
 * Interpretation of a webhook. `again`: when to look at it once more (epoch ms), because the app may not show
 * the record yet.
 */
export type Interpretation =
  | { kind: 'observed'; observation: Observation; again?: undefined }
  | { kind: 'deleted'; id: string; remoteId: string; again?: undefined }
  | { kind: 'changed'; again: number | undefined }
  | { kind: 'nothing'; again?: number | undefined };

/** A webhook that only names a record, which must be read at the app. */
type NamedRecord = Extract<EventInterpretation, { kind: 'fetch' }>;

/**
 * Interprets an event of a webhook for the scope of its source. It calls no app.
 * @throws GatehouseError `upstream_failed` when the event names no record, or its record does not fit the
 * model.
 */
export async function interpret(
  context: Context,
  sender: Sender,
  { topic, body, receivedAt }: Pick<HookEvent, 'topic' | 'body'> & { receivedAt: number },
): Promise<Interpretation | NamedRecord> {
  const { source, connector } = sender;
  const { webhooks } = connector.definition;
  if (!webhooks) return { kind: 'nothing' };
  const interpreted = await interpretEvent(connector, webhooks, { scope: source.scope, topic, body });
  switch (interpreted.kind) {
    case 'nothing':
    case 'fetch':
      return interpreted;
    case 'changed': {
      const again = receivedAt + POLLED_AGAIN_MS;
      return { kind: 'changed', again: again > context.clock.now() ? again : undefined };
    }
    case 'deleted': {
      const { remoteId } = interpreted;
      return { kind: 'deleted', id: unifiedId(source.scope, source.credentialId, remoteId), remoteId };
    }
    case 'record':
      return interpretRecord(sender, { event: interpreted.event, record: interpreted.record });
  }
}

/** Returns the interpretation of a record that a webhook delivered, or that was read at the app. */
export async function interpretRecord(
  { source, connector, fields }: Sender,
  { event, record }: { event: 'created' | 'updated'; record: Json },
): Promise<Interpretation> {
  const what = { connector, scope: source.scope, connectionId: source.credentialId };
  const unified = await toDelivered(what, record, fields);
  return { kind: 'observed', observation: { unified, topic: event } };
}

/**
 * Publishes the events of webhooks of a source, in order. The caller's transaction holds the lock of the
 * source's row.
 * @returns the number of deliveries created.
 */
export async function publishInterpretations(
  tx: Tx,
  context: Context,
  { source, interpretations }: { source: Source; interpretations: readonly Interpretation[] },
): Promise<number> {
  if (interpretations.some(({ kind }) => kind === 'changed')) await pollNow(tx, context, source.sourceId);
  let deliveries = 0;
  let observations: Observation[] = [];
  const flush = async () => {
    if (observations.length > 0) deliveries += await recordChanges(tx, context, { source, observations });
    observations = [];
  };
  for (const interpretation of interpretations) {
    if (interpretation.kind === 'observed') observations.push(interpretation.observation);
    if (interpretation.kind === 'deleted') {
      await flush();
      deliveries += await recordDeletion(tx, context, { source, record: interpretation });
    }
  }
  await flush();
  return deliveries;
}
