import { publish, type EventContext } from '../../outbox/publish.ts';
import type { NewEvent } from '../../outbox/event.ts';
import type { Tx } from '../../store/schema.ts';
import type { Source } from '../source.ts';
import { factsOf, type StoredFacts, type StoredKeys } from './record-keys.ts';

/*
 * Events of webhooks about records that a poll has stored without an event. The poll takes such a record for older
 * than the source, while the app reports that it was created or changed.
 */

/** An event of such a webhook, and the stored facts of the key. */
export interface OwedEvent {
  event: NewEvent;
  owing: Pick<StoredFacts, 'silent' | 'seenAt'>;
}

/** A change that a webhook reports, with the keys of its record. */
interface Reported {
  topic: 'created' | 'updated';
  created?: string;
  version?: string;
}

/** Returns the keys that webhooks report and that are stored without an event. `fresh` keys were unknown. */
export async function owedKeys(
  stored: StoredKeys,
  reported: readonly Reported[],
  fresh: ReadonlySet<string>,
): Promise<Map<string, StoredFacts>> {
  const keys = reported.flatMap(({ topic, created, version }) => {
    const key = topic === 'created' ? created : version;
    return key === undefined || fresh.has(key) ? [] : [key];
  });
  const facts = await factsOf(stored, keys);
  return new Map([...facts].filter(([, { silent }]) => silent !== 0));
}

/**
 * Publishes owed events. A subscription whose backfill sends the record does not receive it twice: the first listing
 * precedes all backfills, and a later poll those of younger subscriptions.
 * @returns the number of deliveries created.
 */
export async function publishOwed(
  tx: Tx,
  context: EventContext,
  { source, owedEvents }: { source: Source; owedEvents: readonly OwedEvent[] },
): Promise<number> {
  let deliveries = 0;
  for (const { event, owing } of owedEvents)
    deliveries += await publish(tx, context, {
      source,
      events: [event],
      options: {
        except: ({ backfill, created_at: subscribedAt }) =>
          backfill !== 'none' && (owing.silent === 1 || owing.seenAt <= subscribedAt),
      },
    });
  return deliveries;
}
