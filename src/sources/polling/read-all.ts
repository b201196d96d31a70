import { openCredential } from '../../credentials/sealed-values.ts';
import type { Context } from '../context.ts';
import { withFreshTokens } from '../../credentials/refresh.ts';
import { MIB } from '../../lib/http/http-body.ts';
import { memoryOf, type Json } from '../../lib/json.ts';
import { sourceModelOf } from '../../connectors/source-model.ts';
import { continueListing, readSince } from './listing.ts';
import { isSettled } from './record-times.ts';
import { accountOf } from './remote-record.ts';
import type { Continuation, Source } from '../source.ts';

/** Limit of records, because all of them are held in memory. */
export const MAX_RECORDS = 50_000;
/** Limit of their memory. */
export const MAX_MIB = 256;

/**
 * Result of reading all records. `complete` is false when there are more, or when the list kept changing.
 * `unreadable` counts the records without an id.
 */
interface Read {
  records: Map<string, Json>;
  complete: boolean;
  unreadable: number;
}

/**
 * Returns the records of a source's model by their id at the app, up to MAX_RECORDS or MAX_MIB.
 * @throws GatehouseError `connector_not_found`, and those of readSince.
 */
export function readAll(context: Context, source: Source, signal?: AbortSignal): Promise<Read> {
  return read(context, source, { signal, keep: (record) => record });
}

/**
 * Returns only the ids, up to MAX_RECORDS, for records of any size.
 * @throws GatehouseError as readAll().
 */
export async function readIds(
  context: Context,
  source: Source,
  signal?: AbortSignal,
): Promise<{ ids: Set<string>; complete: boolean }> {
  const { records, complete } = await read(context, source, { signal, keep: () => null });
  return { ids: new Set(records.keys()), complete };
}

async function read(
  context: Context,
  source: Source,
  { signal, keep }: { signal: AbortSignal | undefined; keep: (record: Json) => Json },
): Promise<Read> {
  const { connector, credential } = await accountOf(context, source);
  const model = sourceModelOf(connector, source.scope);
  const records = new Map<string, Json>();
  let from: Continuation | undefined;
  let complete = true;
  let unreadable = 0;
  let memory = 0;
  do {
    const listing = await withFreshTokens(context, { connector, credential }, (fresh) =>
      readSince(context, {
        connector,
        credential: openCredential(context, connector, fresh),
        model,
        since: undefined,
        from,
        now: context.clock.now(),
        signal,
      }),
    );
    const fresh: Json[] = [];
    for (const [id, record] of listing.records) {
      const kept = keep(record);
      if (!records.has(id)) {
        fresh.push(record);
        memory += memoryOf(kept);
      }
      records.set(id, kept);
    }
    unreadable += listing.unreadable.length;
    const next = await continueListing(listing, from, async () =>
      fresh.some((record) => isSettled(model, record, listing.startedAt)),
    );
    if (next.unstable) complete = false;
    from = next.continuation;
  } while (
    from &&
    records.size < MAX_RECORDS &&
    memory < MAX_MIB * MIB &&
    (await hasConsumers(context, source))
  );
  return { records, complete: complete && !from, unreadable };
}

async function hasConsumers({ db }: Context, { sourceId }: Source): Promise<boolean> {
  const row = await db
    .selectFrom('sources')
    .select('status')
    .where('source_id', '=', sourceId)
    .executeTakeFirst();
  return row !== undefined && row.status !== 'ending';
}
