import type { Context } from '../../credentials/context.ts';
import type { Connector } from '../../connectors/catalog.ts';
import type { Webhooks } from '../../connectors/format/events-format.ts';
import { topicsOf } from '../../connectors/webhook-topics.ts';
import { findConnection } from '../../credentials/credential-records.ts';
import { hashToken } from '../../crypto/tokens.ts';
import { MINUTE } from '../../lib/clock.ts';
import { toSource } from '../source.ts';
import { keysOf } from './hook-keys.ts';
import { openManual } from './manual-hook.ts';
import type { FetchKeys } from './public-key.ts';
import { missingConnector, senderRows, unknownAddress, type HookSender } from './senders.ts';
import { createVerifier, type Verifier, type VerifierValues } from './verify.ts';

/** How late `last_at` may be, so that few webhooks write it. */
const LAST_AT_LATE_MS = MINUTE;

/** An address that a person entered at an app. Its webhooks serve all sources of a connection. */
export interface ManualAddress {
  credentialId: string;
  connector: Connector;
  webhooks: Webhooks;
  /** The app's id of the account; undefined when unknown. */
  account: string | undefined;
  /** The check of the scheme, by the secret and for a day by the previous one. */
  isGenuine: Verifier;
  /** Values that templates of the challenge name. */
  value: VerifierValues['value'];
  lastAt: number | null;
  senders: HookSender[];
}

type AddressContext = Pick<
  Context,
  'db' | 'clock' | 'keys' | 'hashKey' | 'catalog' | 'credentialMemory' | 'outbound'
>;

/** @throws GatehouseError `not_found` for an unknown address. */
export async function readManualAddress(
  context: AddressContext,
  { connectorId, token, fetchKeys }: { connectorId: string; token: string; fetchKeys: FetchKeys },
): Promise<ManualAddress> {
  const { db, catalog, hashKey } = context;
  const row = await db
    .selectFrom('manual_hooks')
    .selectAll()
    .where('hook_hash', '=', hashToken(hashKey, token))
    .executeTakeFirst();
  const credential = row && (await findConnection(db, row.environment, row.credential_id));
  if (!credential || credential.connectorId !== connectorId) throw unknownAddress();
  const connector = catalog.connector(row.environment, connectorId);
  if (!connector) throw missingConnector();
  const { webhooks } = connector.definition;
  if (!webhooks?.manual) throw unknownAddress();
  const { credentialId } = credential;
  const known = await keysOf(context, connector, credential);
  const { secret, previous } = openManual(context, row);
  const valueWith = (own: string) => (name: string) => (name === 'secret' ? own : known(name));
  const verifierWith = (own: string) => createVerifier(webhooks.verify, { value: valueWith(own), fetchKeys });
  const verifier = verifierWith(secret);
  const earlier = previous && { isGenuine: verifierWith(previous.secret), until: previous.until };
  const isGenuine: Verifier = async (request, now) =>
    (await verifier(request, now)) ||
    (earlier !== undefined && now < earlier.until && (await earlier.isGenuine(request, now)));
  const rows = await senderRows(db)
    .where('sources.credential_id', '=', credentialId)
    .where('sources.status', '!=', 'ending')
    .execute();
  const account = credential.account?.id;
  const value = valueWith(secret);
  const shared = { connector, webhooks, account, isGenuine, value, token };
  const senders = rows.map((one) => ({ ...shared, row: one, source: toSource(one) }));
  return { ...shared, credentialId, lastAt: row.last_at, senders };
}

/**
 * Stores that a genuine webhook arrived. Sources of its topics are polled hourly from now on. A poll closes the gap before
 * their first webhook.
 * @throws GatehouseError `not_found` when the address was deleted.
 */
export async function storeArrival(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { credentialId, webhooks, lastAt, senders }: ManualAddress,
  topics: readonly string[],
): Promise<void> {
  const now = clock.now();
  const begun = senders.filter(
    ({ source }) =>
      source.hookState !== 'manual' &&
      topicsOf(webhooks, source.scope).some(({ topic }) => topics.includes(topic)),
  );
  const age = now - (lastAt ?? 0);
  if (begun.length === 0 && lastAt !== null && age >= 0 && age < LAST_AT_LATE_MS) return;
  await db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('manual_hooks')
      .set({ last_at: now })
      .where('credential_id', '=', credentialId)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw unknownAddress();
    for (const { source } of begun)
      await tx
        .updateTable('sources')
        .set({ kind: 'native', hook_state: 'manual', next_poll_at: now, updated_at: now })
        .where('source_id', '=', source.sourceId)
        .where('created_at', '=', source.createdAt)
        .where('status', '!=', 'ending')
        .execute();
  });
}
