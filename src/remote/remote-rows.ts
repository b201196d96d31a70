import { z } from 'zod';
import type { Base } from '../base.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import type { ConnectorKey } from '../custom/custom-rows.ts';
import type { DbOrTx, Tables, Tx } from '../store/schema.ts';
import { remoteSettings, type RemoteSettings } from './remote-settings.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** How often the tools of a server are read again. */
const READ_AGAIN_MS = 5 * MINUTE;
/** How often a server without known tools is tried, because a user may have connected an account. */
const PENDING_MS = 2 * SECOND;
/** How soon a failed read is repeated. */
const FAILED_MS = MINUTE;

const sealedValues = z.record(z.string(), z.string());

/** A stored remote server. Times are epoch milliseconds. */
export interface Remote {
  key: ConnectorKey;
  settings: RemoteSettings;
  /** The operator's values to read the tools with. Undefined: a credential of a user is used (read-tools.ts). */
  values: Record<string, string> | undefined;
  /** Time of the last read of its tools; undefined while no read succeeded. */
  readAt: number | undefined;
  /** Why the last read failed. */
  error: string | undefined;
}

type Row = Tables['remote_servers'];

function toRemote({ keys }: Pick<Base, 'keys'>, row: Row): Remote {
  const key = { environment: row.environment, connectorId: row.connector_id };
  return {
    key,
    settings: remoteSettings.parse(JSON.parse(row.settings)),
    values: row.sealed === null ? undefined : keys.openJson(sealedValues, row.sealed, binding(key)),
    readAt: row.read_at ?? undefined,
    error: row.error ?? undefined,
  };
}

/** Stores a remote server in the transaction that stores its connector. `readAt` is set if its tools were just read. */
export async function saveRemote(
  { keys, clock }: Pick<Base, 'keys' | 'clock'>,
  tx: Tx,
  { key, settings, values, readAt }: Omit<Remote, 'error'>,
): Promise<void> {
  const row = {
    settings: JSON.stringify(settings),
    sealed: values === undefined ? null : keys.sealJson(values, binding(key)),
    read_at: readAt ?? null,
    next_at: clock.now() + (readAt === undefined ? PENDING_MS : READ_AGAIN_MS),
    error: null,
  };
  await tx
    .insertInto('remote_servers')
    .values({ environment: key.environment, connector_id: key.connectorId, ...row })
    .onConflict((c) => c.columns(['environment', 'connector_id']).doUpdateSet(row))
    .execute();
}

export async function findRemote(
  context: Pick<Base, 'db' | 'keys'>,
  key: ConnectorKey,
): Promise<Remote | undefined> {
  const row = await ofKey(context.db, key);
  return row && toRemote(context, row);
}

function ofKey(db: DbOrTx, { environment, connectorId }: ConnectorKey) {
  return db
    .selectFrom('remote_servers')
    .selectAll()
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .executeTakeFirst();
}

/** Claims a server whose tools are due to be read. The claim also sets the next time, so it needs no lease. */
export async function claimDue(context: Pick<Base, 'db' | 'keys' | 'clock'>): Promise<Remote | undefined> {
  const { db, clock } = context;
  const now = clock.now();
  const due = await db
    .selectFrom('remote_servers')
    .select(['environment', 'connector_id', 'next_at'])
    .where('next_at', '<=', now)
    .orderBy('next_at')
    .executeTakeFirst();
  if (!due) return undefined;
  const claimed = await db
    .updateTable('remote_servers')
    .set({ next_at: now + READ_AGAIN_MS })
    .where('environment', '=', due.environment)
    .where('connector_id', '=', due.connector_id)
    .where('next_at', '=', due.next_at)
    .returningAll()
    .executeTakeFirst();
  return claimed && toRemote(context, claimed);
}

/** Sets the time of the next read, unless an earlier read is due. */
export async function readSooner(
  { db }: Pick<Base, 'db'>,
  { environment, connectorId }: ConnectorKey,
  at: number,
): Promise<void> {
  await db
    .updateTable('remote_servers')
    .set({ next_at: at })
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('next_at', '>', at)
    .execute();
}

/** Records a read of the tools that stored nothing: why it failed, or that no user has connected an account yet. */
export async function recordRead(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  { environment, connectorId }: ConnectorKey,
  outcome: { error: string } | 'pending',
): Promise<void> {
  const now = clock.now();
  await db
    .updateTable('remote_servers')
    .set(
      outcome === 'pending'
        ? { next_at: now + PENDING_MS }
        : { next_at: now + FAILED_MS, error: outcome.error },
    )
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .execute();
}

function binding({ environment, connectorId }: ConnectorKey): string {
  return boundTo('remote_servers.sealed', { environment, connector_id: connectorId });
}
