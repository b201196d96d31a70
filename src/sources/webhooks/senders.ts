import { sql, type Selectable } from 'kysely';
import type { Connector } from '../../connectors/catalog.ts';
import type { Webhooks } from '../../connectors/format/events-format.ts';
import type { Context } from '../../credentials/context.ts';
import { hashToken } from '../../crypto/tokens.ts';
import { findConnection } from '../../credentials/credential-records.ts';
import { MINUTE } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { createTtlCache } from '../../lib/ttl-cache.ts';
import { inTexts, isPostgres, perDatabase } from '../../store/prepared.ts';
import type { Db, Tables } from '../../store/schema.ts';
import { keysOf } from './hook-keys.ts';
import { openHook } from './hook.ts';
import { toSource, type Source } from '../source.ts';
import { createKeyReader } from './fetch-keys.ts';
import type { FetchKeys } from './public-key.ts';
import { createVerifier, type Verifier, type VerifierValues } from './verify.ts';

/** App that posts webhooks to an address of ours, with the values that its signature check requires. */
export interface HookSender {
  source: Source;
  connector: Connector;
  webhooks: Webhooks;
  /** The app's id of the account; undefined when unknown. */
  account: string | undefined;
  /** The check of the connector's signature scheme. */
  isGenuine: Verifier;
  /** Values that templates of the scheme and of the challenge name. */
  value: VerifierValues['value'];
  /** The token in the path of its address. */
  token: string;
  /** Rows that this sender was built from; see isCurrent(). */
  row: SenderRow;
}

/**
 * A source, and the times at which its credential and the OAuth app of its connector last changed (epoch ms).
 */
export type SenderRow = Selectable<Tables['sources']> & {
  credential_at: number | null;
  app_at: number | null;
};

/** Wait that an app is asked for while the connector of its webhooks is missing. */
const AGAIN_SECONDS = 60;
/** How long a sender stays in memory. The intake compares it with the store at each webhook, so this only bounds memory. */
const CACHED_MS = MINUTE;
const MAX_CACHED = 1000;

/** Finds senders by the token in the path of their address. */
export interface HookSenders {
  /** @throws GatehouseError `not_found` for an unknown address. */
  find(connectorId: string, token: string): Promise<HookSender>;
  /**
   * Reads a sender again, because its rows changed or a signature did not match.
   * @throws as find().
   */
  reload(sender: HookSender): Promise<HookSender>;
}

type SenderContext = Pick<
  Context,
  'db' | 'clock' | 'keys' | 'hashKey' | 'catalog' | 'credentialMemory' | 'outbound'
>;

export function createHookSenders(context: SenderContext): HookSenders {
  const fetchKeys = createKeyReader(context);
  const cache = createTtlCache<HookSender>({ ttlMs: CACHED_MS, max: MAX_CACHED, clock: context.clock });
  // The cache key is the token, because its hash costs as much as checking a signature.
  const get = (connectorId: string, token: string): Promise<HookSender> =>
    cache.get(`${connectorId} ${token}`, () => readSender(context, { connectorId, token, fetchKeys }));
  const reload = ({ source: { connectorId }, token }: HookSender): Promise<HookSender> => {
    cache.delete(`${connectorId} ${token}`);
    return get(connectorId, token);
  };
  return {
    async find(connectorId, token) {
      const sender = await get(connectorId, token);
      const connector = context.catalog.connector(sender.source.environment, connectorId);
      return connector === sender.connector ? sender : reload(sender);
    },
    reload,
  };
}

/** Returns whether `now`, the same rows read later, would build the same sender. */
export function isCurrent({ row }: HookSender, now: SenderRow | undefined): boolean {
  return (
    now !== undefined &&
    now.created_at === row.created_at &&
    now.status !== 'ending' &&
    now.hook_sealed === row.hook_sealed &&
    now.credential_at === row.credential_at &&
    now.app_at === row.app_at
  );
}

async function readSender(
  context: SenderContext,
  { connectorId, token, fetchKeys }: { connectorId: string; token: string; fetchKeys: FetchKeys },
): Promise<HookSender> {
  const hash = hashToken(context.hashKey, token);
  const row = await senderRows(context.db).where('hook_hash', '=', hash).executeTakeFirst();
  const source = row && toSource(row);
  const connector = source && context.catalog.connector(source.environment, connectorId);
  const webhooks = connector?.definition.webhooks;
  if (!source || source.connectorId !== connectorId || source.status === 'ending') throw unknownAddress();
  if (!connector) throw missingConnector();
  if (!webhooks) throw unknownAddress();
  const credential = await findConnection(context.db, source.environment, source.credentialId);
  const known = credential ? await keysOf(context, connector, credential) : () => undefined;
  const secret = openHook(context, source)?.secret;
  const value = (name: string) => (name === 'secret' ? secret : known(name));
  return {
    source,
    connector,
    webhooks,
    account: credential?.account?.id,
    isGenuine: createVerifier(webhooks.verify, { value, fetchKeys }),
    value,
    token,
    row,
  };
}

export function unknownAddress(): GatehouseError {
  return new GatehouseError('not_found', 'No webhook is expected at this address.');
}

/** Returns the answer for a custom connector that is gone. It may return, so the app is asked to try again. */
export function missingConnector(): GatehouseError {
  return new GatehouseError('unavailable', 'The connector of this address is missing now. Try again later.', {
    retryAfterSeconds: AGAIN_SECONDS,
  });
}

/** Selects the rows that senders are built from. */
export function senderRows(db: Db) {
  return db
    .selectFrom('sources')
    .leftJoin('credentials', 'credentials.credential_id', 'sources.credential_id')
    .selectAll('sources')
    .select('credentials.updated_at as credential_at')
    .select((e) =>
      e
        .selectFrom('oauth_apps')
        .select('oauth_apps.updated_at')
        .whereRef('oauth_apps.environment', '=', 'sources.environment')
        .whereRef('oauth_apps.connector_id', '=', 'sources.connector_id')
        .as('app_at'),
    );
}

/**
 * Selects the rows of sources by id, in the order of their ids, and whether webhooks of each wait. On
 * PostgreSQL it locks the rows and skips those that another transaction has locked. A poll may hold a lock
 * for long, and the app waits for its answer. Parameters: now, ids (textsFor).
 */
export const lockSenders = perDatabase((db) => {
  const found = senderRows(db)
    .select((e) =>
      e
        .exists(
          e
            .selectFrom('inbox')
            .select('inbox.inbox_id')
            .whereRef('inbox.source_id', '=', 'sources.source_id')
            .where('inbox.processed_at', 'is', null)
            .where('inbox.error', 'is', null)
            .where('inbox.next_at', '<=', 0),
        )
        .as('waiting'),
    )
    .where('sources.source_id', 'in', inTexts(db))
    .orderBy('sources.source_id');
  return (isPostgres(db) ? found.modifyEnd(sql`for update of sources skip locked`) : found).compile();
});

/** Selects the same rows without locking. Parameters: ids (textsFor). */
export const readSenders = perDatabase((db) =>
  senderRows(db).where('sources.source_id', 'in', inTexts(db)).compile(),
);
